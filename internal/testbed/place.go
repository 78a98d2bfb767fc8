package testbed

import (
	"strconv"
	"strings"

	"tare/internal/experiment"
)

// Place names the part of a site where a command runs.
type Place string

// The places of a site. Host is outside any node and always exists. The others need a network.
const (
	Host       Place = "host"
	ClientNode Place = "client-node"
	ServerNode Place = "server-node"
	ClientPod  Place = "client-pod"
	ServerPod  Place = "server-pod"
)

// Values lists the places that an experiment file can name. It omits further members of a service and
// their nodes, since only Tare itself starts programs there.
func (Place) Values() []string {
	return []string{string(Host), string(ClientPod), string(ServerPod), string(ClientNode), string(ServerNode)}
}

// Member is the pod of a member of a service, counted from 1: ServerPod, server-pod-2 and so on.
func Member(i int) Place { return numbered(ServerPod, i) }

// MemberNode is a node of members, counted from 1: ServerNode, server-node-2 and so on. If there are
// fewer nodes than members, Spread determines the node of each member.
func MemberNode(i int) Place { return numbered(ServerNode, i) }

// Client is the pod of a client, counted from 1: ClientPod, client-pod-2 and so on.
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

// Spread assigns members to nodes in turn, and returns the node of each member, counted from 1. If nodes
// is 0, each member has its own node.
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
