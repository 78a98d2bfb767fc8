// Package layer says what a security layer is to the runner: something that can
// be put around the workload of a site, taken away again, and shown to be on or
// off. Each layer is one package below this one; package catalog lists them.
package layer

import (
	"context"
	"time"

	"tare/experiment"
	"tare/testbed"
)

// Layer is a layer's parameters, all at one level, ready to be put around a site.
type Layer interface {
	experiment.LayerConfig
	// Up puts the layer around the site and shows once whatever is too costly
	// to show in every trial. It leaves nothing behind when it fails.
	Up(ctx context.Context, site testbed.Site) (Active, error)
	// ProveOff gathers evidence that the layer is not on at a site, given as the
	// workload of that arm gets it. It runs before every trial of an arm without
	// the layer.
	ProveOff(ctx context.Context, site testbed.Site) ([]Check, error)
}

// Active is a layer that is on at one site.
type Active interface {
	// Proofs gives the checks that were made once, when the layer was put up.
	Proofs() []Check
	// Before gathers evidence that the layer is on, before a trial. The site is
	// the one that the workload gets: subject commands started on it go through
	// the wrappers of all the arm's layers, this one's included.
	Before(ctx context.Context, site testbed.Site) ([]Check, error)
	// After gathers evidence that the trial went through the layer.
	After(ctx context.Context, did Did) ([]Check, error)
	// CPU is the CPU time that the layer's own processes have used so far, and
	// whether it has any (a layer inside the kernel has not).
	CPU() (used time.Duration, own bool, err error)
	// Down takes the layer away.
	Down(ctx context.Context) error
}

// Wrapper is an Active that changes the commands under test.
type Wrapper interface {
	// Wrap gives the command to run in place of cmd.
	Wrap(cmd testbed.Command) testbed.Command
}

// Exclusive is an Active that may change what the other arms get too: it is
// turned on before the trials of its own arm and off before those of others, and
// is off after Up. Switching is no part of a trial.
type Exclusive interface {
	Active
	// Exclusive says whether it is so with the parameters given.
	Exclusive() bool
	// On turns the layer on and waits until it is. It may be called when it is on.
	On(ctx context.Context) error
	// Off turns it off and waits until it is. It may be called when it is off; Down does it too.
	Off(ctx context.Context) error
}

// Settling is an Exclusive after whose switching, on and off alike, the next trial
// waits: the cluster may still be busy with it.
type Settling interface {
	Exclusive
	Settling() time.Duration
}

// Resuming is a Layer that takes what it finds otherwise where the run goes on that
// an earlier session began: that may have been killed before it took its layers down.
type Resuming interface {
	Layer
	// Resume is called before Up.
	Resume()
}

// Disprover is a Layer that arms may have with different parameters, where one
// arm's own proof does not show that it has nothing of another's.
type Disprover interface {
	Layer
	// DisproveBeside gathers evidence, as ProveOff does, that the layer is not on at
	// the site of an arm that has a layer of the same kind: what that one asks for
	// itself is left out.
	DisproveBeside(ctx context.Context, site testbed.Site, own Layer) ([]Check, error)
}

// Settler is an Active whose Proofs can be gathered only when the site has been
// made (see testbed.Staged): those of layers that shape it.
type Settler interface {
	Active
	// Settle gathers them. It is called once, after the site is ready.
	Settle(ctx context.Context, site testbed.Site) error
}

// Slow is an Active that may take longer to take down than layers usually do:
// commands that restart something, objects that something else must let go.
type Slow interface {
	Active
	// DownLimit is how long Down may take.
	DownLimit() time.Duration
}

// Did is what a trial did, as far as a proof may need it.
type Did struct {
	Sent uint64 // bytes of payload that the workload moved between the pods; 0 if unknown
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
	Caveat string `json:"caveat,omitempty"`
}

// Kind describes a layer to `tare list` and `tare doctor`.
type Kind struct {
	Name    string
	Summary string // one line
	New     func() Layer
	// Probe tries whether the layer works on this machine.
	Probe func(ctx context.Context) []testbed.Finding
	// Helper is the entry point of the layer's own process, if it has one:
	// Tare starts itself with it inside a node (see testbed.HelperCommand).
	Helper func(ctx context.Context) error
}

// dressed is a site whose commands under test go through the layers' wrappers.
type dressed struct {
	testbed.Site
	wrappers []Wrapper
}

func (d dressed) Unwrap() testbed.Site { return d.Site }

func (d dressed) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if cmd.Subject {
		for _, w := range d.wrappers {
			cmd = w.Wrap(cmd)
		}
	}
	return d.Site.Start(ctx, where, cmd)
}

// Dress gives the site as the workload of an arm sees it: subject commands go
// through the wrappers of the active layers, the first layer innermost.
func Dress(site testbed.Site, active []Active) testbed.Site {
	d := dressed{Site: site}
	for _, a := range active {
		if w, ok := a.(Wrapper); ok {
			d.wrappers = append(d.wrappers, w)
		}
	}
	if d.wrappers == nil {
		return site
	}
	return d
}
