// Package bpf is the common part of the layers cgroup-bpf and bpflsm, whose BPF programs are Tare's own. The directory
// programs has their sources and the object files that clang compiled. The library cilium/ebpf loads and attaches the
// object files.
//
// The programs apply only to the cgroup of the arm's subjects (testbed.Cgrouped). This process holds links open that
// attach the programs to their hooks. When the process ends, the kernel detaches and unloads the programs.
//
// # Proofs
//
// Each hook counts, per CPU, how often it was hit in the arm, and how often a rule matched. Before a trial the prober
// (package wrapper) tries an action that the last rule denies:
//
//   - the hook counts the action, the rule matches, and the action is denied with EPERM;
//   - in an arm without the layer the action is neither denied nor counted;
//   - after a trial the check reports how often each hook was hit (layer.Check.Unexercised if never).
//
// Counting takes a few ns per hit, which is part of the layer's cost even without rules.
package bpf

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/lists"
	"tare/internal/testbed"
)

// Most is the largest number of rules of one kind, such as rules on files.
const Most = 64

// ConnectRule is a rule for connections to a port at the addresses of a prefix.
type ConnectRule struct {
	Prefix netip.Prefix
	Port   uint16
}

// count holds two numbers since a hook was loaded: how often processes of the arm hit the hook, and how often a rule
// matched.
type count struct {
	Hits    uint64
	Matches uint64 // number of hits that matched a rule
}

// Mismatch is the part of a rule that never matches a program's connection: the address (early), which is compared
// first, or the port (late).
type Mismatch string

const (
	Early Mismatch = "early" // no connection has the rule's address
	Late  Mismatch = "late"  // a connection may have the rule's address, but none has its port
)

const (
	unusedPort = 9     // port 9 (discard), in rules for addresses that no program uses
	firstPort  = 65472 // first port of the rules for all addresses; clients get lower ports from the kernel
)

// Unused returns n rules each for IPv4 and IPv6 that match no program's connection. try tells the prober a connection
// that the last rule matches. Early: test networks (RFC 2544, RFC 3849); late: ports from firstPort on.
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
	Hooks        []int // indices of the hooks that are attached
	Rules        int   // number of rules of each kind
	Action       layer.Action
	Suffix       bool     // true: rules match the end of a path; false: its beginning
	Files        []string // paths of files, one per rule, of up to TextMost bytes
	Programs     []string // paths of programs, one per rule, of up to TextMost bytes
	Sources      []string // source paths of mounts, one for each rule, at most TextMost bytes long
	Four         []ConnectRule
	Six          []ConnectRule
	Capabilities uint64 // the denied capabilities, as bits
}

// TextMost is the largest length of a path in a rule, in bytes. vArmor has the same limit.
const TextMost = 64

// Hook is one of the kernel's hooks that a layer uses. The action Try shows that the hook is on.
type Hook struct {
	Name  string
	Index int    // index in the table of counts
	Try   string // the prober's name for an action that makes the kernel call the hook
	Match bool   // set if a rule matches the action Try
	Deny  bool   // set if the matching rule denies the action
}

// Programs are a layer's BPF programs at one site, with the proofs that the programs are on.
type Programs struct {
	Layer  string
	Loaded *loaded
	Hooks  []Hook
	Places []testbed.Place

	began []count // counts at the beginning of the trial
}

// Group opens the cgroup of the programs around which the layer is put, and returns its directory.
func Group(s *layer.Session, around layer.Side) (*os.File, error) {
	at := testbed.Host
	switch around {
	case layer.Server:
		at = testbed.ServerPod
	case layer.Client:
		at = testbed.ClientPod
	}
	site, err := testbed.Need[testbed.Cgrouped](s.Site, "there are no cgroups for programs at this site: use the testbed local on Linux")
	if err != nil {
		return nil, err
	}
	return site.Cgroup(at)
}

// Up keeps the programs for the proofs of other arms. The Active attaches the programs in Settle and returns failed
// checks, which end the run before its first trial.
func (g *Programs) Up(s *layer.Session, l layer.Layer) *layer.Active {
	installed := layer.Kept[[]*Programs](s.Run, l)
	*installed = append(*installed, g)
	return &layer.Active{
		Settle: func(ctx context.Context) ([]layer.Check, error) {
			if err := g.Loaded.On(); err != nil {
				return nil, err
			}
			checks, err := g.Before(ctx, s.Site)
			return slices.DeleteFunc(checks, func(c layer.Check) bool { return c.OK }), err
		},
		Before: g.Before,
		After:  g.After,
		Down:   func(context.Context) error { return g.Loaded.Close() },
	}
}

// try makes the prober do the hooks' actions. It returns its answers, and how often the installed programs counted each
// hook meanwhile.
func try(ctx context.Context, site testbed.Site, where testbed.Place, hooks []Hook, installed ...*Programs) (answers map[string]string, counted []count, err error) {
	before, err := sum(hooks, installed)
	if err != nil {
		return nil, nil, err
	}
	if answers, err = wrapper.Try(ctx, site, where, lists.Map(hooks, func(h Hook) string { return h.Try })...); err != nil {
		return nil, nil, err
	}
	counted, err = sum(hooks, installed)
	for i := range counted {
		counted[i].Hits -= before[i].Hits
		counted[i].Matches -= before[i].Matches
	}
	return answers, counted, err
}

func sum(hooks []Hook, installed []*Programs) ([]count, error) {
	all := make([]count, len(hooks))
	for _, g := range installed {
		counts, err := g.Loaded.Counts()
		if err != nil {
			return nil, err
		}
		for i, h := range hooks {
			if counts != nil {
				all[i].Hits += counts[h.Index].Hits
				all[i].Matches += counts[h.Index].Matches
			}
		}
	}
	return all, nil
}

const denied = "EPERM"

// Before shows that each hook counts the prober's action, and that a matching rule has its effect. It keeps the
// present counts, which After subtracts.
func (g *Programs) Before(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	checks, err := layer.Each(g.Places, func(where testbed.Place) ([]layer.Check, error) {
		answers, counted, failed := try(ctx, site, where, g.Hooks, g)
		if err := wrapper.Interrupted(ctx, failed); err != nil {
			return nil, err
		}
		var checks []layer.Check
		for i, h := range g.Hooks {
			c := layer.Check{Layer: g.Layer, Name: "hook " + h.Name, Expected: "seen by the hook"}
			switch {
			case h.Deny:
				c.Expected = "denied by a rule, " + denied
			case h.Match:
				c.Expected = "seen by a rule, and allowed"
			}
			if failed != nil {
				c.Observed = failed.Error()
			} else {
				answer, n := answers[h.Try], counted[i]
				c.Observed = fmt.Sprintf("%s gives %s; hits %d, matches %d", h.Try, answer, n.Hits, n.Matches)
				c.OK = n.Hits > 0 && h.Match == (n.Matches > 0) && (!h.Match || h.Deny == (answer == denied))
			}
			checks = append(checks, c)
		}
		return checks, nil
	})
	if err == nil {
		g.began, err = g.Loaded.Counts()
	}
	return checks, err
}

const negligible = 0.01 // up to this many hits per unit of work, over all hooks, the layer counts as unexercised

// After reports how often the hooks were hit in the trial.
func (g *Programs) After(_ context.Context, did layer.Did) ([]layer.Check, error) {
	counts, err := g.Loaded.Counts()
	if err != nil || counts == nil || g.began == nil {
		return nil, err
	}
	all := uint64(0)
	var each []string
	for _, h := range g.Hooks {
		n := counts[h.Index].Hits - g.began[h.Index].Hits
		all += n
		text := fmt.Sprintf("%s %d", h.Name, n)
		if did.Work > 0 {
			text += fmt.Sprintf(" (%.3g per unit of work)", float64(n)/did.Work)
		}
		each = append(each, text)
	}
	return []layer.Check{{Layer: g.Layer, Name: "hits of the hooks in the trial", Expected: "counted", Observed: strings.Join(each, ", "), OK: true,
		Unexercised: float64(all) <= negligible*did.Work}}, nil
}

// Off shows that layer l is off at another arm's site: actions are neither denied nor counted. Beside an own layer of
// this kind, no program of l may be attached. Group is called in every arm, so that all cgroups are equally deep.
func Off(ctx context.Context, kind string, s *layer.Session, l layer.Layer, around layer.Side, hooks []Hook) ([]layer.Check, error) {
	group, err := Group(s, around)
	if err != nil {
		return nil, err
	}
	installed := *layer.Kept[[]*Programs](s.Run, l)
	if s.Own != nil {
		c := layer.Check{Layer: kind, Name: "programs of another arm", Expected: "not attached here", Observed: "none is", OK: true}
		for _, g := range installed {
			name, err := g.Loaded.AttachedTo(group)
			if err != nil {
				return nil, err
			}
			if name != "" {
				c.Observed, c.OK = name+" is", false
			}
		}
		return []layer.Check{c}, nil
	}
	return layer.Each(around.Places(s), func(where testbed.Place) ([]layer.Check, error) {
		answers, counted, err := try(ctx, s.Site, where, hooks, installed...)
		if err != nil {
			return nil, err
		}
		var checks []layer.Check
		for i, h := range hooks {
			answer, hits := answers[h.Try], counted[i].Hits
			c := layer.Check{Layer: kind, Name: "hook " + h.Name, Expected: "not seen by its hook", Observed: fmt.Sprintf("%s gives %s; hits %d", h.Try, answer, hits), OK: hits == 0}
			if h.Deny {
				c.Expected = "not denied, and " + c.Expected
				c.OK = c.OK && answer != denied
			}
			checks = append(checks, c)
		}
		return checks, nil
	})
}

// Elsewhere is a hint for users on clusters, where the layer itself does not work: it says how to measure such rules
// there.
const Elsewhere = "on a cluster, apply policies of vArmor and similar programs by the layer manifests, as examples/kubernetes/varmor.yaml does"

// Works returns a probe that puts the layer up on this machine, and takes it down.
func Works(name string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "the kernel loads its programs, and the programs deny the actions of the rules"}
		_, err := layer.Try(ctx, experiment.Needs{}, l.Up)
		return []testbed.Finding{f.Tried(err)}
	}
}
