// Package layer is the protocol between the runner and a security layer: a mechanism that can be put around the
// workload of a site, taken away again, and shown to be on or off. Each layer is one package below this one; package
// catalog lists them. docs/extending.md shows a complete layer.
//
// A layer is a struct of parameters, read from the experiment file, with three methods. Declare lists the layer's
// requirements before anything runs. Up and ProveOff work at one site, in a Session, which holds the state of the run.
// Up returns an Active: a struct of optional functions. A layer that affects other arms while it is on has a Switch in
// its Active, which is on for the trials of its own arms only. A layer whose absence shows only after a trial has the
// method OffAfter, too.
//
// # The sequence
//
// Once for the experiment file, Tare reads the layer's Declaration, in the order of its fields
// (experiment.Declaration): Fill, ReadFiles, Validate, then the others. After Fill, Declare is called again. Factors
// are expanded afterwards: Up and ProveOff see every parameter at one level.
//
// Once for each site of an arm with the layer; each set-up has this sequence (design.setups):
//
//	Up            puts the layer up, the innermost layer first
//	              (some testbeds complete the site only now)
//	Active.Settle gathers proofs and does work that need the complete site
//	…             the trials
//	Switch.Off    of the arm that ran last, if its layers have a Switch
//	Active.Down   takes the layer away, the outermost layer first
//
// For each trial at such a site:
//
//	Switch.Off    of the previous trial's arm, if it is another arm
//	Switch.On     of this arm, then the longest Switch.Settling of the layers turned
//	Active.Before shows that the layer is on
//	ProveOff      of each layer that only other arms have, at this arm's site
//	Active.Costs  right before the measured part of the trial, and right after it
//	Active.After  shows that the trial went through the layer
//	ProveOffAfter of each layer that only other arms have, if it has one (OffAfter)
//
// Active.Wrap is called whenever a subject is started.
//
// `tare doctor --try` puts the layer up once and makes the checks that come before a trial, up to ProveOff.
//
// An error of Before, ProveOff, Costs, After or ProveOffAfter makes the trial invalid, and so does a check that fails.
// If Switch.On or a later set-up fails, the run goes on without the arm where it can. Any other error ends the run.
package layer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// Layer holds a layer's parameters, each at one level, ready to be put around a site.
type Layer interface {
	experiment.LayerConfig
	// Up puts the layer around the session's site and makes checks that are too costly for every trial. If Up fails, it
	// leaves nothing behind. A layer with a Switch is off after Up.
	Up(ctx context.Context, s *Session) (*Active, error)
	// ProveOff gathers evidence, before every trial of an arm without the layer, that the layer is off at the site.
	ProveOff(ctx context.Context, s *Session) ([]Check, error)
}

// Prober is a Layer whose probe depends on its parameters. The probe tries only what the parameters use, such as one
// platform of gVisor.
type Prober interface {
	// Probe tests whether the layer works on this machine in its present state.
	Probe(ctx context.Context) []testbed.Finding
}

// OffAfter is a Layer that can be shown to be off only after a trial, and not before it.
type OffAfter interface {
	// ProveOffAfter gathers evidence, after a trial of an arm without the layer, that the layer was off in the trial.
	ProveOffAfter(ctx context.Context, s *Session, did Did) ([]Check, error)
}

// Active is a layer that is on at one site. Its fields stand in the order of their use. Every field is optional, but
// Before or After must be set.
type Active struct {
	Proofs []Check // checks that Up has made once, for all trials
	// Settle is called once, when the site is complete. It does work and makes checks that need the complete site, such
	// as checks of its pods.
	Settle func(ctx context.Context) ([]Check, error)
	// Switch turns the layer on and off between trials. A layer has a Switch if it affects other arms while it is on.
	Switch *Switch
	// Wrap returns the command that runs in place of a subject's command. The wrapper of the arm's first layer is
	// innermost.
	Wrap   func(cmd testbed.Command) testbed.Command
	Around Side // the side whose subjects are wrapped
	// Uncounted is set if Tare cannot know a subject's CPU time and memory. The function Settle may still change
	// Uncounted and Hides.
	Uncounted bool
	// Hides is set if a process in the wrapper cannot see the path of Tare's executable. Helpers are then
	// started from an open file of the executable.
	Hides bool
	Holds any // value for the site's workloads and for the other layers; testbed.Held returns it
	// Before gathers evidence, before each trial, that the layer is on. A subject that it starts at the workload's site
	// has the wrappers of all the arm's layers.
	Before func(ctx context.Context, site testbed.Site) ([]Check, error)
	// Costs returns CPU time and memory of the layer's own processes so far: in every call an entry for each part of
	// the layer. nil for layers inside the kernel.
	Costs func() ([]Cost, error)
	// After gathers evidence that the trial went through the layer.
	After func(ctx context.Context, did Did) ([]Check, error)
	// Down takes the layer away. It may be called again after it has failed.
	Down func(ctx context.Context) error
	// DownLimit is the timeout of Down, and of Switch.Off at the end of a run. 0 means the runner's default.
	DownLimit time.Duration
}

// Switch turns a layer on for the trials of its arm, and off for those of other arms. The time of switching is not part
// of a trial.
type Switch struct {
	// On turns the layer on and waits until it is on. The layer may be on already.
	On func(ctx context.Context) error
	// Off turns the layer off and waits until it is off. The layer may be off already.
	Off func(ctx context.Context) error
	// Settling is the pause between On or Off and the next trial, for clusters that are still busy with the change.
	Settling time.Duration
}

// Cost is the CPU time and memory that one part of a layer has used since the part started.
type Cost struct {
	Part   string // name of the part, such as "client-node" or "proxy"; unique within the layer
	CPU    time.Duration
	Memory int64 // resident memory now, in bytes; 0 if unknown
}

// CostOf returns the CPU time and memory that the processes of one part of a layer have used.
func CostOf(part string, processes ...interface {
	CPU() (time.Duration, error)
	Memory() (int64, error)
}) (Cost, error) {
	cost := Cost{Part: part}
	var errs []error
	for _, p := range processes {
		cpu, failed := p.CPU()
		memory, err := p.Memory()
		cost.CPU, cost.Memory, errs = cost.CPU+cpu, cost.Memory+memory, append(errs, failed, err)
	}
	return cost, errors.Join(errs...)
}

// Did describes the work of a finished trial. Proofs read it.
type Did struct {
	Workload string  // the workload's kind
	Sent     uint64  // bytes of payload that the workload moved between the pods; 0 if unknown
	Work     float64 // amount of work, in the workload's unit (workload.Result.Work); 0 if unknown
	// Connections lists the kinds of connections that carried the work, each once: "udp in clear", "delta, TLS 1.3,
	// TLS_AES_128_GCM_SHA256".
	Connections []string
}

// CheckConnections completes a check of a trial's connections: there is at least one, and matches is true for all (on =
// true) or for none. A trial of another workload passes as Unexercised, or has no check if on = false.
func (d Did) CheckConnections(workload string, check Check, on bool, matches func(connection string) bool) []Check {
	if d.Workload != workload {
		if !on {
			return nil
		}
		check.Observed, check.OK, check.Unexercised = "a trial of another workload", true, true
		return []Check{check}
	}
	check.Observed = strings.Join(d.Connections, " | ")
	check.OK = len(d.Connections) > 0 && !slices.ContainsFunc(d.Connections, func(connection string) bool { return matches(connection) != on })
	if !on {
		check.Expected = "not " + check.Expected
	}
	return []Check{check}
}

// Check is one piece of evidence. A trial with a failed check is invalid.
type Check struct {
	Layer    string `json:"layer"`    // kind of the layer
	Name     string `json:"name"`     // name of the check, such as "marker on the wire"
	Expected string `json:"expected"` // expected observation, such as "not in clear"
	Observed string `json:"observed"` // actual observation, such as "0 of 2 frames"
	OK       bool   `json:"ok"`
	Once     bool   `json:"once,omitempty"` // true: the check was made once, when the layer was put up, and not in this trial
	// Caveat is a limit on numbers made with this layer, such as a stand-in for the layer's server or a weak proof.
	Caveat  string        `json:"caveat,omitempty"`
	StartUp time.Duration `json:"startUp,omitempty"` // by how many ns the wrapper in Program lengthens the run of a program that ends at once
	Program string        `json:"program,omitempty"` // wrapper whose start-up time was measured; "": none
	// Unexercised is set if the layer had hardly any work in the trial, such as a rule on files that opened no file.
	// The trial stays valid, but does not measure the layer.
	Unexercised bool `json:"unexercised,omitempty"`
}

// Expect completes a check. It passes if the condition holds while the layer is on, or does not hold while the layer
// is off.
func (c Check) Expect(on, holds bool) Check {
	if c.OK = holds == on; !on {
		c.Expected = "not " + c.Expected
	}
	return c
}

// Kind describes a layer to `tare list` and `tare doctor`.
type Kind struct {
	Name    string
	Summary string // description of the layer in one line
	// Example holds the required parameters, as they are written in an experiment file; "" if there are none.
	Example string
	New     func() Layer
	// Probe tests whether the layer works on this machine.
	Probe func(ctx context.Context) []testbed.Finding
	// Helper is the main function of the layer's helper, a process of Tare's executable at a place of a site
	// (testbed.HelperAt). nil: no helper.
	Helper func(ctx context.Context) error
	// Undo restores the state that an entry of the run's Ledger describes, at a site on this machine. It may run again
	// after success. nil: the layer writes no entries.
	Undo func(ctx context.Context, site testbed.Site, u Undo) error
}

// Side selects the programs that a layer is put around: servers, clients that send load to servers, or both. In a plan,
// "" stands for both.
type Side string

const (
	Both   Side = "both" // the default
	Server Side = "server"
	Client Side = "client"
)

func (Side) Values() []string { return []string{string(Both), string(Server), string(Client)} }

// Holds reports whether the layer is put around programs at a place.
func (a Side) Holds(where testbed.Place) bool {
	return a == "" || a == Both || (a == Server) == where.Server()
}

// Needs returns the needs of a layer around this side: servers need a network. oneTestbed is the layer's only testbed;
// "" if it works on any.
func (a Side) Needs(oneTestbed string) experiment.Needs {
	return experiment.Needs{Only: oneTestbed, Network: a == Server}
}

// Places returns the session's places at which the layer is put around programs. Instead of testbed.Host (this
// machine), a layer around servers gets testbed.ServerPod.
func (a Side) Places(s *Session) []testbed.Place {
	var places []testbed.Place
	for _, where := range s.Places {
		switch {
		case a.Holds(where):
			places = append(places, where)
		case where == testbed.Host:
			places = append(places, testbed.ServerPod)
		}
	}
	return places
}

// Match is the part of a path that a layer's rule is compared with: the beginning or the end.
type Match string

const (
	Prefix Match = "prefix" // the rule's pattern is /directory/**: it gives the beginning of a path
	Suffix Match = "suffix" // rules with the pattern **/name
)

// Action is the effect of a layer's rule on an operation that matches the rule. The words are vArmor's.
type Action string

const (
	Deny  Action = "deny"
	Audit Action = "audit" // the operation is allowed, and counted or written to the kernel's log
	Allow Action = "allow" // the operation is allowed, and no other rule applies to it
)

func (Action) Values() []string { return []string{string(Deny), string(Audit), string(Allow)} }
