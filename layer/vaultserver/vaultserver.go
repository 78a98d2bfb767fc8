// Package vaultserver is settings of the servers that the workload vault starts, as a layer, so
// that arms differ by them:
//
//   - vault-server: {tls: true}
//   - vault-server: {audit: file}
//   - vault-server: {members: 3}
//
// What is not given stays as the workload has it.
//
// Proof, before every trial, from the client's pod and with the servers' API: the version of
// TLS by which the listener of each member that answers, and that it refuses plaintext; which
// audit devices there are; how many members the configuration of raft has. After the trial
// the audit file must have grown. Without the layer the same is asked, and must be as
// the workload's own parameters have it.
package vaultserver

import (
	"context"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/testbed"
)

const name = "vault-server"

// Audit is which audit device the servers have.
type Audit string

// The audit devices.
const (
	NoAudit   Audit = "none"
	FileAudit Audit = "file" // every request and its answer, as lines of JSON in a file on the leader's volume
)

// Values lists the audit devices.
func (Audit) Values() []string { return []string{string(NoAudit), string(FileAudit)} }

// Settings are those of the servers. What a layer does not set is empty.
type Settings struct {
	TLS     *bool // on the listener that clients use
	Audit   Audit
	Members int
}

// Over gives the settings with what others set in place of it.
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

// Servers are the members of one cluster that a workload keeps up at a site (testbed.Held).
type Servers interface {
	// Look asks from the client's pod how they are.
	Look(ctx context.Context) (*State, error)
	// Audited is how many bytes the load of the last trial has put into the leader's audit file.
	Audited() int64
}

// State is how servers answer.
type State struct {
	Version string `json:"version"` // of the program
	Leader  string `json:"leader"`  // address of the leader's API, as the members tell it
	Since   string `json:"since"`   // when it became leader, as it tells it
	// Peers are the members by the configuration of raft.
	Peers []Peer `json:"peers"`
	// Audit are the types of the audit devices.
	Audit []string `json:"audit"`
	// Listeners are how the members' listeners answer, in their order.
	Listeners []Listener `json:"listeners"`
}

// Peer is one member in the configuration of raft.
type Peer struct {
	ID      string `json:"node_id"`
	Address string `json:"address"`
	Leader  bool   `json:"leader"`
	Voter   bool   `json:"voter"`
}

// Listener is how one member's listener answers.
type Listener struct {
	TLS   string `json:"tls"`   // version, or why there is none
	Plain string `json:"plain"` // what a request in plaintext was answered with
	// Encrypts says that a client got TLS with the right certificate; Clear that it was answered
	// in plaintext.
	Encrypts bool `json:"encrypts"`
	Clear    bool `json:"clear"`
}

// Config is the layer's parameters.
type Config struct {
	TLS     factor.Levels[bool]  `yaml:"tls" json:"tls,omitempty" doc:"TLS on the listener that clients use"`
	Audit   factor.Levels[Audit] `yaml:"audit" json:"audit,omitempty" doc:"audit device: none, or file"`
	Members factor.Levels[int]   `yaml:"members" json:"members,omitempty" min:"1" max:"9" doc:"members of the cluster, an odd number"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "settings of the servers of the workload vault: TLS, audit device, members",
	Example: "tls: true",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "what the workload vault starts"),
}

// Declare says how many pods the members need.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Validate: c.validate, ProvesBeside: true}
	if len(c.Members) > 0 {
		d.Needs.Network = true
		for _, n := range c.Members {
			d.Needs.Members = max(d.Needs.Members, n)
		}
	}
	return d
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.TLS)+len(c.Audit)+len(c.Members) == 0 {
		errs.Add("tls", "nothing is given: the layer would do nothing")
	}
	for _, n := range c.Members {
		if n%2 == 0 {
			errs.Add("members", "%d members survive no more than %d do: give an odd number", n, n-1)
		}
	}
	return errs
}

// settings are what the layer sets.
func (c *Config) settings() Settings {
	s := Settings{Audit: c.Audit.OrZero(), Members: c.Members.OrZero()}
	if len(c.TLS) > 0 {
		on := c.TLS.One()
		s.TLS = &on
	}
	return s
}

// Up shows the settings to the workload.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	p := &proofs{want: c.settings()}
	return &layer.Active{Holds: p.want, Before: p.before, After: p.after}, nil
}

// ProveOff shows that the servers are not set so, as far as the arm's own layer does not
// set the same.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	not := layer.Without(c, s.Own).settings()
	if not == (Settings{}) {
		return nil, nil
	}
	return each(ctx, s.Site, func(s *State) []layer.Check { return s.checks(not, false) })
}
