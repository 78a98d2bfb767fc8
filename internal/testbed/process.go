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
	// Subject marks a program under test. Only such programs get the layers' wrappers; Tare's own probes do
	// not.
	Subject bool
	// Files are open in the program as descriptors 3 and following. They work only for programs on this
	// machine.
	Files []*os.File
}

// Process is a started command. The process and its descendants end at the latest when Wait returns, when
// Kill is called, or when the process that started them ends.
type Process interface {
	// Wait waits until the process has ended. It returns the usage even if the command failed. If the exit
	// status is not 0, the error is an *ExitError.
	Wait() (Usage, error)
	// Kill ends the process and its descendants. A waiting Wait then returns.
	Kill() error
	// CPU returns the CPU time that the process and all its descendants have used so far. If the CPU time and
	// memory are unknown, CPU and Memory return ErrUncounted.
	CPU() (time.Duration, error)
	// Memory returns the present resident memory of the process and its descendants, in bytes. A page that
	// processes share counts for each of them. When all have ended, Memory returns 0.
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

// ErrUncounted is the error of a Process whose CPU time and memory are unknown, because the program itself
// runs elsewhere. The Usage of such a process is Unavailable.
var ErrUncounted = errors.New("the program's CPU time and memory are unknown")

// Printer is a Process whose output is passed on only when it has ended, but can be read before. Other
// processes pass their output on immediately.
type Printer interface {
	// Printed reads what the process has printed so far on "stdout" or "stderr", from an offset on, if the
	// process keeps this output. The result is empty if there is no more output yet, or if the process has
	// ended.
	Printed(stream string, from int64) ([]byte, error)
}

// Timed is a Process on this machine whose start time, the moment of its fork, is known.
type Timed interface {
	Begun() time.Time
}

// Proportional is a Process whose memory is known without counting shared pages twice.
type Proportional interface {
	// Proportional returns the resident memory of the process and its descendants, in bytes (PSS). A page
	// that several processes share is divided equally among them.
	Proportional() (int64, error)
}

// ProcessAs finds the optional interface T of a process or of the process that it wraps, like As for a site.
func ProcessAs[T any](p Process) (T, bool) { return find[T](p) }

// Usage is the resource usage of a process over its life. Children that it waited for are included.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Wall   time.Duration `json:"wall"`
	// MaxRSS is the peak of resident memory in bytes. It is 0 if the peak is unknown, for example because a
	// small program ended before it was measured.
	MaxRSS int64 `json:"maxRSS"`
	// Left lists the command lines of descendants that were left. They still ran 2 seconds after the command
	// had ended, and were killed.
	Left []string `json:"left,omitempty"`
	// Unavailable is set if CPU time and memory are unknown, for example because a sandbox counts by its own
	// clock. These fields are then zero. In stored runs the field has an older name.
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
