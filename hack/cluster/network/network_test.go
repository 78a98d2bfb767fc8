package network

import (
	"net/netip"
	"testing"
)

// TestSlots: no two clusters share an address, all are in the range that the
// package comment names, and interface names are short enough for the kernel.
func TestSlots(t *testing.T) {
	seen := map[netip.Addr]int{}
	all := netip.MustParsePrefix("198.19.240.0/24")
	for slot := range Slots {
		if len(HostInterface(slot)) > 15 {
			t.Errorf("interface name %s is longer than 15 bytes", HostInterface(slot))
		}
		own := netip.PrefixFrom(Host(slot), 30).Masked()
		for _, a := range []netip.Addr{Host(slot), API(slot)} {
			if other, ok := seen[a]; ok {
				t.Errorf("slots %d and %d share %s", slot, other, a)
			}
			seen[a] = slot
			if !all.Contains(a) || !own.Contains(a) || a == own.Addr() {
				t.Errorf("slot %d: %s is not a host of %s in %s", slot, a, own, all)
			}
		}
	}
}

func TestNodes(t *testing.T) {
	for n, want := range map[int][2]string{1: {"10.99.0.11", "10.244.1.0/24"}, 2: {"10.99.0.12", "10.244.2.0/24"}} {
		if Node(n).String() != want[0] || NodePods(n).String() != want[1] {
			t.Errorf("node %d: %s, pods %s; want %v", n, Node(n), NodePods(n), want)
		}
	}
}
