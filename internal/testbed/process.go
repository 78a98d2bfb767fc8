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
	// Subject marks programs under test. Only these get the layers' wrappers; Tare's own probes do not.
	Subject bool
	// Files are open in the program as descriptors 3 and following. They work only for programs on this
	// machine.
	Files []*os.File
}

// Process is a started command. The process and its descendants end at the latest with Wait, Kill, or
// the process that started them.
type Process interface {
	// Wait waits for the end and returns the usage, even if the command failed. A non-zero exit status
	// is an *ExitError.
	Wait() (Usage, error)
	// Kill ends the process and its descendants. A waiting Wait then returns.
	Kill() error
	// CPU is the CPU time used so far by the process and all its descendants. If it is unknown, CPU and
	// Memory return ErrUncounted.
	CPU() (time.Duration, error)
	// Memory is the present resident memory of the process and its descendants, in bytes. Shared pages
	// count for each process. It is 0 after their end.
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

// ErrUncounted is the error of a Process with unknown CPU time and memory, because the actual program
// runs elsewhere. Its Usage is Unavailable.
var ErrUncounted = errors.New("the program's CPU time and memory are unknown")

// Printer is a Process whose output is passed on only after its end, but can be read earlier. Other
// processes pass their output on immediately.
type Printer interface {
	// Printed reads the output so far on "stdout" or "stderr", if the process keeps it, starting at
	// offset from. The result is empty if there is no more output yet, or if the process has ended.
	Printed(stream string, from int64) ([]byte, error)
}

// Timed is a Process on this machine whose start time, the moment of its fork, is known.
type Timed interface {
	Begun() time.Time
}

// Proportional is a Process whose memory is known without counting shared pages twice.
type Proportional interface {
	// Proportional is the resident memory of the process and its descendants in bytes (PSS). A page
	// shared by several processes counts for each of them in equal parts.
	Proportional() (int64, error)
}

// ProcessAs finds the optional interface T of a process or of the process that it wraps, like As for a site.
func ProcessAs[T any](p Process) (T, bool) { return find[T](p) }

// Usage is the resource usage of a process over its life, including waited-for children.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Wall   time.Duration `json:"wall"`
	// MaxRSS is the peak of resident memory in bytes; 0 if unknown, for example for a small program that
	// ended before it was measured.
	MaxRSS int64 `json:"maxRSS"`
	// Left lists the command lines of leftover descendants. They ran longer than 2 seconds after
	// the command, and were killed.
	Left []string `json:"left,omitempty"`
	// Unavailable is set if CPU time and memory are unknown: a sandbox counts by its own clock. The
	// fields are then zero. In stored runs the field has an older name.
	Unavailable bool `json:"untold,omitempty"`
}

// CPU is the sum of user and system time.
func (u Usage) CPU() time.Duration { return u.User + u.System }
