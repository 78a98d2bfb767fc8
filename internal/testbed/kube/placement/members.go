package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
)

// chooseMembers chooses the nodes of a service's members after the first. It assigns them in turn to the
// server's node and to other nodes without a client. With placement same-node, all members are on one node.
func (c *Choice) chooseMembers(r Request, nodes []*corev1.Node) error {
	c.Members = nil
	if len(r.Members) == 0 {
		return nil
	}
	on := []*corev1.Node{c.Server}
	if r.Placement != experiment.SameNode {
		others, err := c.chooseMemberNodes(r, nodes)
		if err != nil {
			return err
		}
		on = append(on, others...)
	}
	for i := range r.Members {
		c.Members = append(c.Members, on[(i+1)%len(on)])
	}
	return nil
}

// chooseClients chooses the nodes of clients after the first. It assigns them in turn to the client's node
// and to all other nodes without a server. Nodes of an earlier choice come first. With placement same-node,
// all clients are on one node.
func (c *Choice) chooseClients(r Request, nodes []*corev1.Node) {
	c.Clients = nil
	if len(r.Clients) == 0 {
		return
	}
	on := []*corev1.Node{c.Client}
	if r.Placement != experiment.SameNode {
		add := func(n *corev1.Node) {
			same := func(other *corev1.Node) bool { return other.Name == n.Name }
			taken := slices.ContainsFunc(on, same) || n.Name == c.Server.Name || slices.ContainsFunc(c.Members, same)
			if len(on) <= len(r.Clients) && !taken && r.Clients[0].Misfit(n) == "" && r.differ(n, c.Server) {
				on = append(on, n)
			}
		}
		for _, before := range c.clientNodes {
			if n := current(nodes, before); n != nil {
				add(n)
			}
		}
		for _, n := range nodes {
			add(n)
		}
		c.clientNodes = on[1:]
	}
	for i := range r.Clients {
		c.Clients = append(c.Clients, on[(i+1)%len(on)])
	}
}

// chooseMemberNodes chooses the nodes for members; the server's node is not among them. It chooses as many
// nodes as r wants, or fewer if the cluster has fewer. It prefers the nodes of an earlier choice. If there
// are too few nodes, this is an error only if r.Nodes is set.
func (c *Choice) chooseMemberNodes(r Request, nodes []*corev1.Node) ([]*corev1.Node, error) {
	want := len(r.Members)
	if r.Nodes > 0 {
		want = min(want, r.Nodes-1)
	}
	var found []*corev1.Node
	add := func(n *corev1.Node) {
		same := func(other *corev1.Node) bool { return other.Name == n.Name }
		taken := n.Name == c.Client.Name || n.Name == c.Server.Name || slices.ContainsFunc(found, same)
		if len(found) < want && !taken && r.Members[0].Misfit(n) == "" && r.differ(c.Client, n) {
			found = append(found, n)
		}
	}
	for _, before := range c.memberNodes {
		if n := current(nodes, before); n != nil {
			add(n)
		}
	}
	// An earlier arm may have wanted as many nodes and got fewer. This arm then gets the same nodes, even if
	// new nodes have joined the cluster, since the arms must be alike.
	if want > c.wanted || len(found) < min(want, len(c.memberNodes)) {
		for _, n := range nodes {
			add(n)
		}
	}
	if r.Nodes > 0 && len(found) < want {
		return nil, fmt.Errorf("%d of %d nodes are suitable for the members of the service, "+
			"and testbed.kubernetes.nodes asks for %d beside that of the client", len(found)+1, len(nodes), r.Nodes)
	}
	if c.wanted = max(c.wanted, want); len(found) >= len(c.memberNodes) {
		c.memberNodes = found
	}
	return found, nil
}

// checkRoom returns an error if a node is too small for all pods on it. If there are only one client and one
// server, it checks nothing, since choosePair has checked their nodes.
func (c *Choice) checkRoom(r Request) error {
	if len(c.Members)+len(c.Clients) == 0 {
		return nil
	}
	pods := map[*corev1.Node][]*corev1.Pod{}
	put := func(n *corev1.Node, p *corev1.Pod) { pods[n] = append(pods[n], p) }
	put(c.Client, r.Client.Pod)
	put(c.Server, r.Server.Pod)
	for i, n := range c.Members {
		put(n, r.Members[i].Pod)
	}
	for i, n := range c.Clients {
		put(n, r.Clients[i].Pod)
	}
	for _, n := range slices.Concat([]*corev1.Node{c.Client, c.Server}, c.Members, c.Clients) {
		if why := tooSmall(n, pods[n]...); why != "" {
			return fmt.Errorf("node %s %s: the %d pods of the arm that are on it need more; "+
				"add nodes, or lower testbed.kubernetes.resources", n.Name, why, len(pods[n]))
		}
	}
	return nil
}
