package workload

import (
	"context"
	"time"

	"tare/internal/testbed"
)

// Resident is a workload that keeps something up at the site of an arm between trials, such as the server that
// its load goes to.
//
//	SetUp         when the site is ready and the arm's layers are up
//	Server.Check  before each trial of a cell that shares the Server
//	…             the trials, which get the Server as Trial.Standing
//	Server.Down   before the layers are taken down
//
// The Server should use next to no CPU while no trial uses it, since trials of other arms run then.
type Resident interface {
	Workload
	// Shared names the Server. Cells with the same name share one Server. "": the workload needs no Server.
	Shared() string
	// SetUp starts the Server. If SetUp fails, it leaves nothing behind.
	SetUp(ctx context.Context, s SetUp) (Server, error)
}

// SetUp is the input of Resident.SetUp.
type SetUp struct {
	// Site is the arm's site. It starts programs under test through the wrappers of the arm's layers.
	Site testbed.Site
	// Number is the Server's number at the site, from 0. Each Server needs ports of its own.
	Number int
}

// Server is something that a Resident keeps up at one site, such as a server.
type Server interface {
	// Check returns an error if the Server is broken. The arm is then set up again. Check takes next to no time.
	Check(ctx context.Context) error
	// Down ends the Server. A second call does nothing.
	Down(ctx context.Context) error
}

// Running is a Server with processes. The CPU time of these processes during a trial does not count as CPU
// time of foreign programs.
type Running interface {
	// CPU returns the CPU time that the processes have used so far.
	CPU() (time.Duration, error)
}

// Sliceable is a workload whose trials can be cut into slices. Between the slices, trials of the other arms
// run. The workload declares this by experiment.Measures.Slice.
//
//	PrepareSlices  the unmeasured preparation of the trial
//	Sliced.Run     one slice; a pause follows, in which the other arms run their slices
//	…
//	Sliced.Finish  the result of all slices
//
// A slice may be a process of its own, or a period in which a running load generator sends requests. Between
// slices the workload's processes must use no CPU. Otherwise they would slow the other arms, and count as foreign
// programs.
type Sliceable interface {
	Workload
	// PrepareSlices replaces Prepare for a trial that is cut into n slices. The context ends with the trial,
	// and then ends all processes that were started with it.
	PrepareSlices(ctx context.Context, t *Trial, n int) (Sliced, error)
}

// Sliced is a trial that is cut into slices. An error of any method ends the trial, as an error of Measured
// does. No other method is called after an error.
type Sliced interface {
	// Run runs slice i, from 0. CPU time, conditions and wall-clock time of the trial only cover the calls of
	// Run.
	Run(ctx context.Context, i int) error
	// Finish returns the result of all slices together, and ends the processes that ran between slices.
	Finish(ctx context.Context) (Result, error)
}

// Uncut implements Prepare by PrepareSlices: the whole trial is one slice.
func Uncut(ctx context.Context, w Sliceable, t *Trial) (Measured, error) {
	s, err := w.PrepareSlices(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Result, error) {
		if err := s.Run(ctx, 0); err != nil {
			return Result{}, err
		}
		return s.Finish(ctx)
	}, nil
}
