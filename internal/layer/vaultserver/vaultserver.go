// Package vaultserver is a layer of settings for the servers that the workload vault starts. Arms can then differ in
// these settings:
//
//   - vault-server: {tls: true}
//   - vault-server: {audit: file}
//   - vault-server: {members: 3}
//
// A setting that the layer does not set keeps the workload's value.
//
// The proof runs before every trial, from the client's pod and with the servers' API. Each member's listener has the
// right TLS version and refuses plaintext. The audit devices and the number of raft members are right. After the trial
// the audit file must have grown. In an arm without the layer, the checks before a trial show that the servers lack the
// layer's settings.
package vaultserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
)

const name = "vault-server"

// Audit is the audit device of the servers.
type Audit string

const (
	NoAudit   Audit = "none"
	FileAudit Audit = "file" // every request and its answer, as lines of JSON in a file on the leader's volume
)

// Settings are the settings of Vault servers that layers may change. A setting that a layer does not change is empty.
type Settings struct {
	TLS     *bool // TLS on the listener that clients use
	Audit   Audit
	Members int
}

// Over returns a copy of s with the settings that the elements of others set. If several elements set the same setting,
// the last counts.
func (s Settings) Over(others ...Settings) Settings {
	for _, o := range others {
		if o.TLS != nil {
			s.TLS = o.TLS
		}
		if o.Audit != "" {
			s.Audit = o.Audit
		}
		if o.Members > 0 {
			s.Members = o.Members
		}
	}
	return s
}

// Quorum states what raft makes of an even number of members.
func Quorum(n int) string {
	return fmt.Sprintf("raft needs %d of %d members for a quorum: %d of them may fail, as in a cluster of %d", n/2+1, n, n/2-1, n-1)
}

// Servers are the members of one Vault cluster. A workload keeps the servers running at a site (testbed.Held).
type Servers interface {
	// State returns the servers' state, as seen from the client's pod.
	State(ctx context.Context) (*State, error)
	// Audited returns how many bytes the requests of the last trial have added to the leader's audit file.
	Audited() int64
}

// State is the state of the servers.
type State struct {
	Version string `json:"version"` // version of the program
	Leader  string `json:"leader"`  // address of the leader's API, as reported by the members
	Since   string `json:"since"`   // when the leader became leader, as the leader itself reports
	// Peers are the members in the configuration of raft.
	Peers []Peer `json:"peers"`
	// Audit holds the types of the audit devices.
	Audit []string `json:"audit"`
	// Listeners describes the members' listeners as a client saw them, in the order of the members.
	Listeners []Listener `json:"listeners"`
}

// Peer is one member in the configuration of raft.
type Peer struct {
	ID      string `json:"node_id"`
	Address string `json:"address"`
	Leader  bool   `json:"leader"`
	Voter   bool   `json:"voter"`
}

// Listener describes one member's listener as a client saw it.
type Listener struct {
	TLS   string `json:"tls"`   // TLS version, or the reason why no TLS was possible
	Plain string `json:"plain"` // response to a request in plaintext
	// Encrypts is set if a client got TLS with the right certificate. Clear is set if a request in plaintext was
	// answered.
	Encrypts bool `json:"encrypts"`
	Clear    bool `json:"clear"`
}

// Config holds the layer's parameters.
type Config struct {
	TLS     factor.Levels[bool]  `yaml:"tls" json:"tls,omitempty" doc:"TLS on the listener that clients use"`
	Audit   factor.Levels[Audit] `yaml:"audit" json:"audit,omitempty" enum:"none,file" doc:"audit device: none, or file"`
	Members factor.Levels[int]   `yaml:"members" json:"members,omitempty" min:"1" max:"9" doc:"members of the cluster. Raft needs more than half of them: an even number survives no more failures than one member less"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "settings of the servers of the workload vault: TLS, audit device, members",
	Example: "tls: true",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "servers of the workload vault"),
}

// Declare declares how many pods the members need.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, ProvesBeside: true}
	if len(c.Members) > 0 {
		d.Needs.Network, d.Needs.Members = true, slices.Max(c.Members)
	}
	return d
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.TLS)+len(c.Audit)+len(c.Members) == 0 {
		errs.Add("tls", "no setting is given: the layer would do nothing")
	}
	return errs
}

func (c *Config) settings() Settings {
	s := Settings{Audit: c.Audit.OrZero(), Members: c.Members.OrZero()}
	if len(c.TLS) > 0 {
		s.TLS = new(c.TLS.One())
	}
	return s
}

// Up passes the layer's settings to the workload vault, in the field Holds of the Active.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	want := c.settings()
	var servers []Servers
	up := &layer.Active{Holds: want, Before: func(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
		servers = testbed.Held[Servers](site)
		return each(ctx, site, func(s *State) []layer.Check { return s.checks(want, true) })
	}}
	if want.Audit == FileAudit {
		up.After = func(context.Context, layer.Did) ([]layer.Check, error) {
			written := int64(0)
			for _, s := range servers {
				written += s.Audited()
			}
			return []layer.Check{{Layer: name, Name: "the audit file during the trial", Expected: "grows", Observed: fmt.Sprintf("%d bytes", written), OK: written > 0}}, nil
		}
	}
	return up, nil
}

// ProveOff shows that the servers do not have the layer's settings. Settings that another layer of this kind sets in
// this arm are left out.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	not := layer.Without(c, s.Own).settings()
	if not == (Settings{}) {
		return nil, nil
	}
	return each(ctx, s.Site, func(s *State) []layer.Check { return s.checks(not, false) })
}

var errNone = errors.New("there are no servers of the workload vault here, and the layer needs them")

func each(ctx context.Context, site testbed.Site, check func(*State) []layer.Check) ([]layer.Check, error) {
	servers := testbed.Held[Servers](site)
	if len(servers) == 0 {
		return nil, errNone
	}
	var checks []layer.Check
	for _, s := range servers {
		state, err := s.State(ctx)
		if err != nil {
			return checks, err
		}
		checks = append(checks, check(state)...)
	}
	return checks, nil
}

func (s *State) checks(want Settings, on bool) []layer.Check {
	var checks []layer.Check
	if want.TLS != nil {
		checks = append(checks, s.encryption(*want.TLS == on))
	}
	if want.Audit != "" {
		checks = append(checks, s.audits(want.Audit, on))
	}
	if want.Members > 0 {
		voters := len(slices.DeleteFunc(slices.Clone(s.Peers), func(p Peer) bool { return !p.Voter }))
		k := layer.Check{Layer: name, Name: "voters in the configuration of raft", Expected: fmt.Sprint(want.Members), Observed: fmt.Sprint(voters)}
		if n := want.Members; on && n%2 == 0 {
			k.Caveat = Quorum(n)
		}
		checks = append(checks, k.Expect(on, voters == want.Members))
	}
	return checks
}

// encryption checks that every listener answers TLS and refuses plaintext (on), or answers plaintext and refuses TLS
// (off).
func (s *State) encryption(on bool) layer.Check {
	k := layer.Check{Layer: name, Name: "a client at the listeners", OK: len(s.Listeners) > 0}
	if k.Expected = "plaintext answered, TLS refused"; on {
		k.Expected = "TLS answered, plaintext refused"
	}
	var seen []string
	for _, l := range s.Listeners {
		k.OK = k.OK && l.Encrypts == on && l.Clear != on
		text := fmt.Sprintf("TLS: %s; plaintext: %s", l.TLS, l.Plain)
		if !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	k.Observed = strings.Join(seen, " | ")
	return k
}

func (s *State) audits(want Audit, on bool) layer.Check {
	have := NoAudit
	if len(s.Audit) > 0 {
		have = Audit(strings.Join(s.Audit, ", "))
	}
	return layer.Check{Layer: name, Name: "audit devices", Expected: string(want), Observed: string(have)}.Expect(on, have == want)
}
