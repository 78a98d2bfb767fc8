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
	// Number numbers the Servers at the site, from 0. Each Server needs ports of its own.
	Number int
}

// Server is something that a Resident keeps up at one site, such as a server.
type Server interface {
	// Check returns an error if the Server is broken. The arm is then set up again. Check costs next to
	// nothing.
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
