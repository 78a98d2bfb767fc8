// Package bpf is what layers share that are BPF programs of Tare's own: cgroup-bpf, bpflsm. Their
// sources are in the directory programs, beside what clang made of them; the library cilium/ebpf
// loads and attaches that.
//
// Programs are scoped to the cgroup of the arm's programs under test (testbed.Cgrouped). They are
// attached by links that this process holds open: with it, however it ends, they are gone, and the kernel forgets them.
// Nothing is pinned.
//
// # Proofs
//
// Each hook counts how often it was hit in the arm, and how often a rule was for what it saw, on each CPU for
// itself. Before a trial the prober of package front tries what the last rule denies, as a program under
// test:
//
//   - the hook counts it, the rule matches, and the action is denied with EPERM;
//   - in an arm without the layer the same is not denied, and this hook does not count it;
//   - after a trial the check says how often each hook was hit in it. Where none was hit, what the arm
//     costs there is not the work of the hooks (layer.Check.Unexercised).
//
// To count takes a few ns of each hit, which are part of what the layer costs with no rules.
package bpf

import (
	"fmt"
	"net/netip"

	"tare/layer"
)

// Most is how many rules of a kind there can be.
const Most = 64

// Place is a rule on connections: to an address of a prefix, and a port.
type Place struct {
	Prefix netip.Prefix
	Port   uint16
}

// Count is what a hook did in the arm, since it was loaded.
type Count struct {
	Hits    uint64
	Matches uint64 // of a rule
}

// Mismatch says how far a rule must be read to see that it is not for what a program does.
type Mismatch string

// The choices.
const (
	Early Mismatch = "early" // the address is another
	Late  Mismatch = "late"  // the address fits, and the port is another
)

// Values lists the choices.
func (Mismatch) Values() []string { return []string{string(Early), string(Late)} }

const (
	unusedPort = 9     // discard, at addresses of nobody
	firstPort  = 65472 // of the last 64 ports, above those that kernels give to clients
)

// Unused are so many rules for each family of addresses that are for no connection of a
// program, and the word by which the prober makes one that the last of them is for. With an early
// mismatch they are for networks that are reserved for tests and examples (RFC 2544, RFC 3849); with a late one
// for all addresses, and the last ports.
func Unused(n int, m Mismatch) (four, six []Place, try string) {
	try = "connect:198.18.0.1:9"
	for i := range n {
		p4, p6, port := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i)}), 24),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte(i)}), 48), uint16(unusedPort)
		try = fmt.Sprintf("connect:198.18.%d.1:%d", i, port)
		if m == Late {
			p4, p6, port = netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0), uint16(firstPort+i)
			try = fmt.Sprintf("connect:127.0.0.1:%d", port)
		}
		four, six = append(four, Place{p4, port}), append(six, Place{p6, port})
	}
	return four, six, try
}

// The hooks of a Linux security module, by their places among the counts.
const (
	FileOpen = iota
	Exec
	Connect
	Ptrace
	Mount
	Capable
)

// Policy are rules of a Linux security module.
type Policy struct {
	Hooks    []int // those that are attached
	Rules    int   // of each kind
	Action   layer.Action
	Suffix   bool     // texts are ends of paths; else beginnings
	Files    []string // Rules of them, of up to TextMost bytes, and so are the next two
	Programs []string
	Sources  []string // of mounts
	Four     []Place
	Six      []Place
	// Capabilities are those denied, as bits.
	Capabilities uint64
}

// TextMost is how many bytes of a path a rule can have, as vArmor's.
const TextMost = 64
