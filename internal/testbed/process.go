package testbed

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Command is a program to run.
type Command struct {
	Args   []string // program and arguments; the program is looked up in PATH
	Env    []string // "NAME=value", added to the testbed's own environment
	Dir    string   // working directory; "": the testbed's own
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Subject marks a program under test, which gets the layers' wrappers. Tare's own probes do not.
	Subject bool
	Files   []*os.File // open as descriptors 3 and following; only for programs on this machine
}

// Process is a started command. It ends with its descendants when Wait or Kill returns, or with its starter.
type Process interface {
	// Wait waits until the process has ended, and returns its usage. If the exit status is not 0, the error is
	// an *ExitError.
	Wait() (Usage, error)
	// Kill ends the process and its descendants. A waiting Wait then returns.
	Kill() error
	// CPU returns the CPU time that the process and all its descendants have used so far. CPU and Memory may
	// return ErrUncounted.
	CPU() (time.Duration, error)
	// Memory returns the present resident memory of the process and its descendants, in bytes. A shared page
	// counts for each of them.
	Memory() (int64, error)
}

// Until returns a context that also ends when the channel is closed, for example at the end of a process.
func Until(ctx context.Context, ended <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// ErrUncounted is the error of a Process that runs elsewhere, with unknown CPU time and memory.
var ErrUncounted = errors.New("the program's CPU time and memory are unknown")

// Printer is a Process whose output is passed on when it has ended, and not immediately, but can be read
// before.
type Printer interface {
	// Printed reads new output on "stdout" or "stderr", from an offset on. It is empty after the end, and if
	// the process does not keep the output.
	Printed(stream string, from int64) ([]byte, error)
}

// Timed is a Process on this machine whose start time, the moment of its fork, is known.
type Timed interface {
	Begun() time.Time
}

// Proportional is a Process whose memory is known without counting shared pages twice.
type Proportional interface {
	// Proportional returns the resident memory of the process and its descendants, in bytes, with shared pages
	// divided among their processes (PSS).
	Proportional() (int64, error)
}

// ProcessAs finds the optional interface T of a process or of the process that it wraps, like As for a site.
func ProcessAs[T any](p Process) (T, bool) { return find[T](p) }

// Usage is the resource usage of a process over its life. Children that it waited for are included.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Wall   time.Duration `json:"wall"`
	// MaxRSS is the peak of resident memory in bytes; 0 if it is unknown, as for a small program that ended
	// early.
	MaxRSS int64 `json:"maxRSS"`
	// Left lists the command lines of descendants that still ran 2 seconds after the command, and were killed.
	Left []string `json:"left,omitempty"`
	// Unavailable is set if CPU time and memory are unknown, and zero. In stored runs the field has an older
	// name.
	Unavailable bool `json:"untold,omitempty"`
}

// CPU is the sum of user and system time.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Pause waits for the duration. If the context is done earlier, it returns the context's error.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
