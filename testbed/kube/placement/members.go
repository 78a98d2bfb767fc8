package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"tare/experiment"
)

// spread chooses the nodes of the further members of a service. They go round the server's
// node and others, on each of which there is no client: those of an earlier choice where they
// will do, else the first ones. With placement same-node all are on the one node.
func (c *Choice) spread(r Request, nodes []corev1.Node) error {
	c.Members = nil
	if len(r.Members) == 0 {
		return nil
	}
	on := []*corev1.Node{c.Server}
	if r.Placement != experiment.SameNode {
		others, err := c.more(r, nodes)
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

// spreadClients chooses the nodes of the further clients. They go round the client's node and
// all others on which there is no server, those of an earlier choice first. With placement
// same-node all are on the one node.
func (c *Choice) spreadClients(r Request, nodes []corev1.Node) {
	c.Clients = nil
	if len(r.Clients) == 0 {
		return
	}
	on := []*corev1.Node{c.Client}
	if r.Placement != experiment.SameNode {
		add := func(n *corev1.Node) {
			same := func(other *corev1.Node) bool { return other.Name == n.Name }
			if len(on) <= len(r.Clients) && !slices.ContainsFunc(on, same) && n.Name != c.Server.Name && !slices.ContainsFunc(c.Members, same) &&
				r.Clients[0].Refuses(n) == "" && r.apart(n, c.Server) {
				on = append(on, n)
			}
		}
		for _, before := range c.clients {
			if n := find(nodes, before); n != nil {
				add(n)
			}
		}
		for i := range nodes {
			add(&nodes[i])
		}
		c.clients = on[1:]
	}
	for i := range r.Clients {
		c.Clients = append(c.Clients, on[(i+1)%len(on)])
	}
}

// more gives as many nodes besides the server's as there are to be, or as there are.
func (c *Choice) more(r Request, nodes []corev1.Node) ([]*corev1.Node, error) {
	want := len(r.Members)
	if r.Nodes > 0 {
		want = min(want, r.Nodes-1)
	}
	var found []*corev1.Node
	add := func(n *corev1.Node) {
		taken := func(other *corev1.Node) bool { return other.Name == n.Name }
		if len(found) < want && n.Name != c.Client.Name && n.Name != c.Server.Name && !slices.ContainsFunc(found, taken) &&
			r.Members[0].Refuses(n) == "" && r.apart(c.Client, n) {
			found = append(found, n)
		}
	}
	for _, before := range c.others {
		if n := find(nodes, before); n != nil {
			add(n)
		}
	}
	if want > c.asked || len(found) < min(want, len(c.others)) { // else there were no more, and arms are to be alike
		for i := range nodes {
			add(&nodes[i])
		}
	}
	if r.Nodes > 0 && len(found) < want {
		return nil, fmt.Errorf("%d of %d nodes will do for the members of the service, and testbed.kubernetes.nodes asks for %d beside that of the client",
			len(found)+1, len(nodes), r.Nodes)
	}
	if c.asked = max(c.asked, want); len(found) >= len(c.others) {
		c.others = found
	}
	return found, nil
}

// room says whether each node has room for all pods that are to be on it, where there are
// more than one client and one server.
func (c *Choice) room(r Request) error {
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
			return fmt.Errorf("node %s %s: the %d pods of the arm that are on it need more; give nodes, or less by testbed.kubernetes.resources", n.Name, why, len(pods[n]))
		}
	}
	return nil
}
