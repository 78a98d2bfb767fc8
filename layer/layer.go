// Package layer is the protocol between the runner and a security layer: something
// that can be put around the workload of a site, taken away again, and shown to be
// on or off. Each layer is one package below this one; package catalog lists them.
// docs/extending.md shows a complete one.
//
// A layer is a struct of parameters, which the experiment file gives, with three
// methods. Declare says what the file and the plan must know before anything runs.
// Up and ProveOff work at one site in a Session, which holds what the run knows. Up
// returns an Active: a struct of optional functions. A layer whose absence a trial itself
// shows is an OffAfter, too.
//
// # The sequence
//
// Once for the experiment file, in the order of experiment.Declaration: ReadFiles,
// Validate, then what else is declared. Factors are expanded after that, so that Up
// and ProveOff see every parameter at one level.
//
// Once for each site of an arm with the layer, and again each time that all arms are set up
// anew (design.setups):
//
//	Up            puts the layer up; for layers from the inside out
//	              (the site is made ready, where its testbed makes it only now)
//	Active.Settle gathers proofs and does work that need the site as it was made
//	…             the trials
//	Switch.Off    of the last arm whose layer was switched on
//	Active.Down   takes the layer away; from the outside in
//
// For each trial at such a site:
//
//	Switch.Off    of the arm of the trial before, if that is another arm
//	Switch.On     of this arm, then the longest Switch.Settling of those turned
//	Active.Before shows that the layer is on
//	ProveOff      of each layer that only other arms have, at this arm's site
//	Active.Costs  right before the measured part of the trial, and right after it
//	Active.After  shows that the trial went through the layer
//	ProveOffAfter of each layer that only other arms have, if it has one (OffAfter)
//
// Active.Wrap is called for every command under test, whenever one is started.
//
// `tare doctor --try` goes through the first of these, and makes what comes before a trial
// once, up to ProveOff.
//
// An error of Before, ProveOff, After or ProveOffAfter makes the trial invalid, as a check does that
// is not OK. Any other error ends the run.
package layer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/testbed"
)

// Layer is a layer's parameters, all at one level, ready to be put around a site.
type Layer interface {
	experiment.LayerConfig
	// Up puts the layer around the site of the session, and shows whatever is too
	// costly to show in every trial. It leaves nothing behind when it fails. A layer
	// whose Active has a Switch is off after Up.
	Up(ctx context.Context, s *Session) (*Active, error)
	// ProveOff gathers evidence that the layer is not on at the site of an arm that
	// does not have it. It runs before every trial of that arm.
	ProveOff(ctx context.Context, s *Session) ([]Check, error)
}

// Prober is a Layer whose parameters say what of it is to be tried.
type Prober interface {
	// Probe tries whether it works on this machine as it is.
	Probe(ctx context.Context) []testbed.Finding
}

// OffAfter is a Layer whose absence a trial itself shows.
type OffAfter interface {
	// ProveOffAfter gathers evidence, after each trial of an arm that does not have the layer, that it was not on.
	ProveOffAfter(ctx context.Context, s *Session, did Did) ([]Check, error)
}

// Active is a layer that is on at one site. Its fields stand in the order in which
// they are used. All may be left out, but Before and After not both.
type Active struct {
	// Proofs are the checks that were made by Up, and need not be made again.
	Proofs []Check
	// Settle is called once, when the site is ready. It is for work and for proofs
	// that need the site as it was made: its pods, say. It gives more checks that
	// need not be made again.
	Settle func(ctx context.Context) ([]Check, error)
	// Switch turns the layer on and off between trials. A layer has one if other
	// arms get it too while it is on.
	Switch *Switch
	// Wrap gives the command to run in place of a command under test. Of several
	// layers, the first one of the arm is the innermost.
	Wrap func(cmd testbed.Command) testbed.Command
	// Around says which commands under test Wrap is for.
	Around Around
	// Uncounted: what Wrap puts in front has the command run where its CPU time and memory are
	// not counted with it. It may be set by Settle, and so may Hides.
	Uncounted bool
	// Hides: Tare's own path is not to be seen behind what Wrap puts in front, so that Tare's own
	// processes are handed in as an open file.
	Hides bool
	// Holds is shown to the workloads at the site, and to the other layers (testbed.Held).
	Holds any
	// Before gathers evidence that the layer is on, before each trial. The site is
	// the one that the workload gets: commands under test that are started on it go
	// through the wrappers of all the arm's layers, this one's included.
	Before func(ctx context.Context, site testbed.Site) ([]Check, error)
	// Costs tells what the layer's own processes have used so far, by part. A layer
	// inside the kernel has no processes, and leaves it out. The parts are the same
	// at every call.
	Costs func() ([]Cost, error)
	// After gathers evidence that the trial went through the layer.
	After func(ctx context.Context, did Did) ([]Check, error)
	// Down takes the layer away. It may be called again after it failed.
	Down func(ctx context.Context) error
	// DownLimit is how long Down, or Switch.Off at the end of a run, may take; 0: as
	// long as the runner thinks that a layer usually takes.
	DownLimit time.Duration
}

// Switch turns a layer on for the trials of its own arm, and off for those of the
// other arms. Turning it is no part of a trial.
type Switch struct {
	// On turns the layer on and waits until it is. It may be on already.
	On func(ctx context.Context) error
	// Off turns it off and waits until it is. It may be off already.
	Off func(ctx context.Context) error
	// Settling is how long the next trial waits after the layer was turned, on or
	// off: the cluster may still be busy with it.
	Settling time.Duration
}

// Cost is what one part of a layer has used since it was started.
type Cost struct {
	Part   string // "client-node", "proxy": unique within the layer
	CPU    time.Duration
	Memory int64 // resident now, in bytes; 0: not known
}

// Did is what a trial did, as far as a proof may need it.
type Did struct {
	Workload string  // kind of the workload
	Sent     uint64  // bytes of payload that the workload moved between the pods; 0 if unknown
	Work     float64 // amount of work, in the workload's unit (workload.Result.Work); 0 if unknown
	// Connections are those that the work went by, each kind once, as the workload describes them: "udp in
	// clear", "delta, TLS 1.3, TLS_AES_128_GCM_SHA256".
	Connections []string
}

// WentBy makes a check of the connections of a trial of that kind of workload: all are of the kind that the check expects
// where the layer is on, none is where it is off; without any, nothing is shown. A trial of another workload of the
// experiment leaves the layer unexercised.
func (d Did) WentBy(workload string, check Check, on bool, is func(connection string) bool) []Check {
	if d.Workload != workload {
		if !on {
			return nil
		}
		check.Observed, check.OK, check.Unexercised = "a trial of another workload", true, true
		return []Check{check}
	}
	check.Observed = strings.Join(d.Connections, " | ")
	check.OK = len(d.Connections) > 0 && !slices.ContainsFunc(d.Connections, func(connection string) bool { return is(connection) != on })
	if !on {
		check.Expected = "not " + check.Expected
	}
	return []Check{check}
}

// Check is one piece of evidence. A trial with a check that is not OK yields no
// number.
type Check struct {
	Layer    string `json:"layer"`    // kind of layer
	Name     string `json:"name"`     // "marker on the wire"
	Expected string `json:"expected"` // "not in clear"
	Observed string `json:"observed"` // "0 of 2 frames"
	OK       bool   `json:"ok"`
	Once     bool   `json:"once,omitempty"` // made once when the layer was put up, not in this trial
	// Caveat is what a reader must know before trusting numbers made with the
	// layer as it was found: that a stand-in was used, or how weak the proof is.
	Caveat  string        `json:"caveat,omitempty"`
	StartUp time.Duration `json:"startUp,omitempty"` // how much longer a program that ends at once takes behind Program, in ns
	Program string        `json:"program,omitempty"` // what stands in front of the program, whose start was measured; "": none was
	// Unexercised: the trial did, as good as never, what the layer does something about, so that a
	// difference in it is not the layer's work. It breaks no rule.
	Unexercised bool `json:"unexercised,omitempty"`
}

// When makes a check of something that is so or is not: it must be while the layer is on, and must not while it is off.
func (c Check) When(on, is bool) Check {
	if c.OK = is == on; !on {
		c.Expected = "not " + c.Expected
	}
	return c
}

// Failed is an error that says which checks do not hold; nil where all do.
func Failed(checks []Check) error {
	var errs []error
	for _, c := range checks {
		if !c.OK {
			errs = append(errs, fmt.Errorf("%s: expected %s, observed %s", c.Name, c.Expected, c.Observed))
		}
	}
	return errors.Join(errs...)
}

// Kind describes a layer to `tare list` and `tare doctor`.
type Kind struct {
	Name    string
	Summary string // one line
	// Example are parameters in the form of a file that a layer needs to have, to begin with; "" where there
	// are none.
	Example string
	New     func() Layer
	// Probe tries whether the layer works on this machine.
	Probe func(ctx context.Context) []testbed.Finding
	// Helper is the entry point of the layer's own process, if it has one:
	// Tare starts itself with it at a place of a site (see testbed.HelperAt).
	Helper func(ctx context.Context) error
	// Undo does what the layer noted in the run's Ledger, on this machine: Site is one of
	// it. What is undone already stays so. Layers that note nothing leave it out.
	Undo func(ctx context.Context, site testbed.Site, u Undo) error
}
