package testbed

import (
	"strconv"
	"strings"

	"tare/experiment"
)

// Place names where in a site a command runs.
type Place string

// The places of a site. Host is outside any node and always there; the others
// need a network.
const (
	Host       Place = "host"
	ClientNode Place = "client-node"
	ServerNode Place = "server-node"
	ClientPod  Place = "client-pod"
	ServerPod  Place = "server-pod"
)

// Values lists the places that a file can name. Further members of a service and their
// nodes are not among them: Tare starts programs there, and no command does.
func (Place) Values() []string {
	return []string{string(Host), string(ClientPod), string(ServerPod), string(ClientNode), string(ServerNode)}
}

// Member is the pod of a member of a service, from 1: ServerPod, then server-pod-2 and so on.
func Member(i int) Place { return numbered(ServerPod, i) }

// MemberNode is one of the nodes that members are spread over, from 1: ServerNode, then
// server-node-2 and so on. Where there are fewer nodes than members, member 2 may be
// on any of them: see Spread.
func MemberNode(i int) Place { return numbered(ServerNode, i) }

// Client is the pod of one of several clients, from 1: ClientPod, then client-pod-2 and so on.
func Client(i int) Place { return numbered(ClientPod, i) }

func numbered(first Place, i int) Place {
	if i <= 1 {
		return first
	}
	return first + "-" + Place(strconv.Itoa(i))
}

// Server says whether a place is a member's pod, or a node of members.
func (p Place) Server() bool {
	return strings.HasPrefix(string(p), string(ServerPod)) || strings.HasPrefix(string(p), string(ServerNode))
}

// Spread gives the node of each member, both counted from 1, where members go round so many
// nodes; 0: each has a node of its own.
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

// Places lists where a workload with these needs starts its programs.
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
