package testbed

import (
	"strconv"
	"strings"

	"tare/internal/experiment"
)

// Place names the part of a site where a command runs.
type Place string

// These are the places of a site. Host is outside of any node. The other places need a network.
const (
	Host       Place = "host"
	ClientNode Place = "client-node"
	ServerNode Place = "server-node"
	ClientPod  Place = "client-pod"
	ServerPod  Place = "server-pod"
)

// Values lists the places that an experiment file can name. Only Tare starts programs at further members.
func (Place) Values() []string {
	return []string{string(Host), string(ClientPod), string(ServerPod), string(ClientNode), string(ServerNode)}
}

// Member returns the pod of member i of a service, counted from 1: ServerPod, server-pod-2 and so on.
func Member(i int) Place { return numbered(ServerPod, i) }

// MemberNode returns the node of members with number i, from 1: ServerNode, server-node-2 and so on (Spread).
func MemberNode(i int) Place { return numbered(ServerNode, i) }

// Client returns the pod of client i, counted from 1: ClientPod, client-pod-2 and so on.
func Client(i int) Place { return numbered(ClientPod, i) }

func numbered(first Place, i int) Place {
	if i <= 1 {
		return first
	}
	return first + "-" + Place(strconv.Itoa(i))
}

// Server reports whether a place is a member's pod or a node of members.
func (p Place) Server() bool {
	return strings.HasPrefix(string(p), string(ServerPod)) || strings.HasPrefix(string(p), string(ServerNode))
}

// Spread returns for each member the number of its node, from 1, in turn. If nodes is 0, each has its own.
func Spread(members, nodes int) []int {
	if nodes <= 0 {
		nodes = members
	}
	on := make([]int, members)
	for i := range on {
		on[i] = i%nodes + 1
	}
	return on
}

// Places lists the places where a workload with these needs starts its programs.
func Places(needs experiment.Needs) []Place {
	if !needs.PodsOnClusters() {
		return []Place{Host}
	}
	places := []Place{ClientPod}
	if needs.Network {
		for i := 2; i <= needs.Clients; i++ {
			places = append(places, Client(i))
		}
		for i := range max(needs.Members, 1) {
			places = append(places, Member(i+1))
		}
	}
	if needs.HostNetwork {
		places = append(places, ClientNode, ServerNode)
	}
	return places
}
