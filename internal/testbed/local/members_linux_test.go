package local

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/testbed"
)

// openMembers opens a site with members on the given number of nodes; 0: one node for each member.
func openMembers(t *testing.T, members, nodes int) *network {
	t.Helper()
	if NeedsUserNamespace() {
		t.Skip("needs root, or to be run inside a user namespace (unshare -Ur)")
	}
	level := link(1e9, 1400)
	if nodes > 0 {
		level.Nodes = factor.Of(nodes)
	}
	_, site := opened(t, experiment.Needs{Network: true, Members: members}, level)
	return site.(*network)
}

// Members and the client all reach each other, whichever nodes they are on, also by programs that are started at
// their places.
func TestMembers(t *testing.T) {
	for _, c := range []struct {
		members, nodes int
		on             string // places of the pods by node
	}{
		{1, 0, "client-node: client-pod; server-node: server-pod"},
		{1, 3, "client-node: client-pod; server-node: server-pod"},
		{5, 0, "client-node: client-pod; server-node: server-pod; server-node-2: server-pod-2; server-node-3: server-pod-3; server-node-4: server-pod-4; server-node-5: server-pod-5"},
		{5, 2, "client-node: client-pod; server-node: server-pod server-pod-3 server-pod-5; server-node-2: server-pod-2 server-pod-4"},
		{3, 1, "client-node: client-pod; server-node: server-pod server-pod-2 server-pod-3"},
	} {
		t.Run(fmt.Sprintf("%d on %d", c.members, c.nodes), func(t *testing.T) {
			n := openMembers(t, c.members, c.nodes)
			var on []string
			for _, node := range n.Nodes() {
				on = append(on, fmt.Sprintf("%s: %s", node.Place(), strings.Trim(fmt.Sprint(node.Pods()), "[]")))
			}
			if got := strings.Join(on, "; "); got != c.on {
				t.Errorf("pods on nodes:\n%s\nwant\n%s", got, c.on)
			}
			members := n.Members()
			if len(members) != c.members || members[0] != n.Address(testbed.PodToPod) || len(slices.Compact(slices.SortedFunc(slices.Values(members), netip.Addr.Compare))) != c.members {
				t.Errorf("members %v", members)
			}
			for i := range members {
				var out bytes.Buffer
				p, err := n.Start(t.Context(), testbed.Member(i+1), testbed.Command{Args: []string{"/proc/self/exe"}, Env: []string{roleVariable + "=addresses"}, Stdout: &out})
				if err == nil {
					_, err = p.Wait()
				}
				if err != nil || !strings.Contains(out.String(), members[i].String()+"/") {
					t.Errorf("addresses of member %d: %q, %v; want %v", i+1, out.String(), err, members[i])
				}
			}
			everyoneReachesEveryone(t, n)
			if err := n.Mend(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func everyoneReachesEveryone(t *testing.T, n *network) {
	t.Helper()
	for _, from := range n.pods {
		for _, to := range n.pods {
			if from == to {
				continue
			}
			if arrived, err := n.DeliverBetween(t.Context(), from.place, to.place, []byte("hello"), 5*time.Second); err != nil || !arrived {
				t.Errorf("from %s to %s: arrived %v, %v", from.place, to.place, arrived, err)
			}
		}
	}
}

// Packets between nodes are on the wire, and packets within a node are not, whoever sends them.
func TestMembersOnTheWire(t *testing.T) {
	n := openMembers(t, 3, 2)
	for _, c := range []struct {
		from, to testbed.Place
		seen     bool
	}{
		{testbed.Member(2), testbed.Member(3), true},
		{testbed.Member(3), testbed.Member(2), true},
		{testbed.ClientPod, testbed.Member(3), true},
		{testbed.Member(1), testbed.Member(3), false},
		{testbed.Member(3), testbed.Member(1), false},
	} {
		stop, err := n.Watch(t.Context(), []byte("a marker"))
		if err != nil {
			t.Fatal(err)
		}
		arrived, err := n.DeliverBetween(t.Context(), c.from, c.to, []byte("a marker"), 5*time.Second)
		frames, watching := stop()
		if err != nil || watching != nil || !arrived || (frames > 0) != c.seen {
			t.Errorf("from %s to %s: %d frames seen, want any: %v; arrived %v, %v, %v", c.from, c.to, frames, c.seen, arrived, err, watching)
		}
	}
	if _, err := n.DeliverBetween(t.Context(), testbed.ClientPod, testbed.Member(4), nil, time.Second); err == nil || err.Error() != "deliver: site test has no pod server-pod-4" {
		t.Errorf("to nobody: %v", err)
	}
	if _, err := n.Start(t.Context(), testbed.Member(4), testbed.Command{Args: []string{"true"}}); err == nil || err.Error() != "site test has no server-pod-4" {
		t.Errorf("start nowhere: %v", err)
	}
}

// The rate, the MTU and damage affect every node and pod.
func TestMembersWire(t *testing.T) {
	n := openMembers(t, 3, 2)
	must(t, n.Shape(testbed.Shape{Rate: 1e8, MTU: 1400}))
	for _, node := range n.nodes {
		if _, s, _, err := node.shaped(); err != nil || s != (testbed.Shape{Rate: 1e8, MTU: 1400}) {
			t.Errorf("%s: %+v, %v", node.place, s, err)
		}
	}
	must(t, n.nodes[2].shape(testbed.Shape{Rate: 2e8, MTU: 1400}))
	if _, err := n.Shaped(); err == nil || err.Error() != "the directions of the wire differ: {Rate:1e+08 MTU:1400 Delay:0s Loss:0} and {Rate:2e+08 MTU:1400 Delay:0s Loss:0}" {
		t.Errorf("%v", err)
	}
	link, err := n.pods[3].link(ethernet)
	if err == nil {
		err = n.pods[3].LinkSetDown(link)
	}
	if err != nil {
		t.Fatal(err)
	}
	const broken = "default route of the server-pod-3: gone, and was 198.18.12.1"
	if err := n.Mend(t.Context()); err == nil || err.Error() != broken {
		t.Errorf("%v, want %s", err, broken)
	}
}

// Routes through a tunnel lead from each node to all pods of each other node.
func TestMembersRouteVia(t *testing.T) {
	n := openMembers(t, 3, 2)
	must(t, n.nodes[1].RouteVia(podNetwork(2), ethernet, 1000))
	limits := func() (list []string) {
		for _, p := range n.pods {
			routes, err := p.RouteList(nil, netlink.FAMILY_V4)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range routes {
				if r.MTU != 0 {
					list = append(list, fmt.Sprintf("%s: %s %d", p.place, r.Dst, r.MTU))
				}
			}
		}
		return list
	}
	if got := strings.Join(limits(), ", "); got != "server-pod: 198.18.13.0/24 1000, server-pod-3: 198.18.13.0/24 1000" {
		t.Errorf("limits: %s", got)
	}
	must(t, n.nodes[1].RouteVia(podNetwork(2), "", 0))
	if got := limits(); got != nil {
		t.Errorf("limits left: %v", got)
	}
	everyoneReachesEveryone(t, n)
	if err := n.nodes[1].RouteVia(podNetwork(7), "", 0); err == nil || err.Error() != "route 198.18.18.0/24: no node has this pod network" {
		t.Errorf("%v", err)
	}
}

// Each member has its own directory, which is removed with the site. Only directories of killed Tares count as
// leftovers.
func TestMemberVolumes(t *testing.T) {
	n := openMembers(t, 2, 0)
	if got := n.MemberVolume(1); got != "" {
		t.Errorf("a volume that nobody asked for: %s", got)
	}
	site, err := n.bed.Open(t.Context(), testbed.Request{Name: "volumes", Needs: experiment.Needs{Network: true, Members: 2, MemberVolume: 1}, Level: link(0, 1500)})
	if err != nil {
		t.Fatal(err)
	}
	volumes, _ := testbed.As[testbed.MemberVolumes](site)
	dirs := []string{volumes.MemberVolume(1), volumes.MemberVolume(2)}
	if dirs[0] == dirs[1] || volumes.MemberVolume(0)+volumes.MemberVolume(3) != "" {
		t.Errorf("volumes %v", dirs)
	}
	for i, dir := range dirs {
		p, err := site.Start(t.Context(), testbed.Member(i+1), testbed.Command{Args: []string{"mkdir", dir + "/raft"}})
		if err == nil {
			_, err = p.Wait()
		}
		if err != nil {
			t.Error(err)
		}
	}
	if left, err := CleanTemporary(); err != nil || slices.Contains(left, dirs[0]) {
		t.Errorf("removed %v, %v", left, err)
	}
	if err := site.(testbed.Closer).Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is there still: %v", dir, err)
		}
	}
}
