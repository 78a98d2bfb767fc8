// Package bpf is the common part of the layers cgroup-bpf and bpflsm, whose BPF programs are Tare's own. The
// directory programs has the sources, and the object files that clang compiled from them. The library
// cilium/ebpf loads and attaches these object files.
//
// The programs apply only to the cgroup of the arm's subjects (testbed.Cgrouped). Links, which this process
// holds open, attach the programs to their hooks. When this process ends, for whatever reason, the kernel
// detaches and unloads the programs. No program is pinned.
//
// # Proofs
//
// Each hook counts, per CPU, how often it was hit in the arm, and how often a rule matched. Before a trial
// the prober (package wrapper) tries an action that the last rule denies:
//
//   - the hook counts the action, the rule matches, and the action is denied with EPERM;
//   - in an arm without the layer the action is neither denied nor counted;
//   - after a trial the check reports how often each hook was hit (layer.Check.Unexercised if never).
//
// Counting takes a few ns per hit, which is part of the layer's cost even without rules.
package bpf

import (
	"fmt"
	"net/netip"

	"tare/internal/layer"
)

// Most is the largest number of rules of one kind, such as rules on files.
const Most = 64

// ConnectRule is a rule for connections to a port at the addresses of a prefix.
type ConnectRule struct {
	Prefix netip.Prefix
	Port   uint16
}

// count holds the numbers of a hook's hits and matches in the arm since the hook was loaded.
type count struct {
	Hits    uint64
	Matches uint64 // number of hits that matched a rule
}

// Mismatch is the part of a rule that differs from the programs' connections: the address, which is compared first,
// or the port.
type Mismatch string

const (
	Early Mismatch = "early" // the address differs
	Late  Mismatch = "late"  // the address matches, and the port differs
)

// Values lists the choices.
func (Mismatch) Values() []string { return []string{string(Early), string(Late)} }

const (
	unusedPort = 9     // the discard port, at unused addresses
	firstPort  = 65472 // first of the last 64 ports, which are above the ports that kernels give to clients
)

// Unused returns n rules for each address family that match no connection of a program, and the prober's word for a
// connection that the last rule matches. With an early mismatch the rules are for networks that are reserved for
// tests and documentation (RFC 2544, RFC 3849). With a late mismatch they are for all addresses and the last ports.
func Unused(n int, m Mismatch) (four, six []ConnectRule, try string) {
	try = "connect:198.18.0.1:9"
	for i := range n {
		p4, p6, port := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i)}), 24),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte(i)}), 48), uint16(unusedPort)
		try = fmt.Sprintf("connect:198.18.%d.1:%d", i, port)
		if m == Late {
			p4, p6, port = netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0), uint16(firstPort+i)
			try = fmt.Sprintf("connect:127.0.0.1:%d", port)
		}
		four, six = append(four, ConnectRule{p4, port}), append(six, ConnectRule{p6, port})
	}
	return four, six, try
}

// These are the hooks of a Linux security module. Each value is the hook's index in the table of counts.
const (
	FileOpen = iota
	Exec
	Connect
	Ptrace
	Mount
	Capable
)

// Policy is a set of rules of a Linux security module.
type Policy struct {
	Hooks        []int // hooks to attach
	Rules        int   // number of rules of each kind
	Action       layer.Action
	Suffix       bool     // rules on paths match ends; otherwise they match beginnings
	Files        []string // paths of files, one per rule, of up to TextMost bytes
	Programs     []string // paths of programs, one per rule, of up to TextMost bytes
	Sources      []string // sources of mounts, one per rule, of up to TextMost bytes
	Four         []ConnectRule
	Six          []ConnectRule
	Capabilities uint64 // the denied capabilities, as bits
}

// TextMost is the largest length of a path in a rule, in bytes. vArmor has the same limit.
const TextMost = 64
