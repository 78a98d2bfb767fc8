package workload

import (
	"context"
	"time"

	"tare/testbed"
)

// Resident is a workload of which something stays up at the site of an arm between trials,
// such as the server that its load goes to.
//
//	SetUp           when the site is ready and the arm's layers are up
//	Standing.Check  before each trial of a cell that shares it
//	…               the trials, which get it as Trial.Standing
//	Standing.Down   before the layers are taken down
//
// What stays up beside the other arms' trials should use next to no CPU while nobody asks.
type Resident interface {
	Workload
	// Shared names what stays up: cells that give the same share it. "": nothing does.
	Shared() string
	// SetUp puts it up. It leaves nothing behind when it fails.
	SetUp(ctx context.Context, s SetUp) (Standing, error)
}

// SetUp is what a Resident is given to put something up at a site.
type SetUp struct {
	// Site is where to work: programs under test go through the wrappers of the arm's layers.
	Site testbed.Site
	// Number counts what stays up at the site, from 0: each needs ports of its own.
	Number int
}

// Standing is what stays up at one site.
type Standing interface {
	// Check looks whether it is still whole. An error says what is not, and has the arm set
	// up anew. It costs next to nothing.
	Check(ctx context.Context) error
	// Down takes it away. To do so again does nothing.
	Down(ctx context.Context) error
}

// Running is a Standing with processes. What they use during a trial is not foreign.
type Running interface {
	// CPU is the CPU time that they have used so far.
	CPU() (time.Duration, error)
}
