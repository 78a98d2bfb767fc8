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
	Dir    string   // working directory; "" for the testbed's own
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Subject marks the programs that the experiment is about: layers that put
	// something around a command do so for these only, not for Tare's own probes.
	Subject bool
	// Files are open in the program as descriptors 3 and on. Only programs on this machine can
	// have some.
	Files []*os.File
}

// Process is a started command. It and all its descendants are gone after Wait
// or Kill, or with the process that started it.
type Process interface {
	// Wait waits for the end and gives what was used, also when the command
	// failed. A non-zero exit is an *ExitError.
	Wait() (Usage, error)
	// Kill ends the process and its descendants; Wait then returns.
	Kill() error
	// CPU is the CPU time used so far by the process and all its descendants; ErrUncounted
	// where nobody knows, and so is Memory.
	CPU() (time.Duration, error)
	// Memory is what is resident of them now, in bytes, pages that several share counted for
	// each; 0 after their end.
	Memory() (int64, error)
}

// Until is a context that ends also when a channel is closed, such as by the end of a process.
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

// ErrUncounted is what a Process answers whose use of CPU time and memory is not known, since
// what it stands for runs elsewhere. Its Usage is Unavailable.
var ErrUncounted = errors.New("what the program uses is not known")

// Printer is a Process whose outputs are written whole when it has ended, and can be read
// before. Other processes write them as they come.
type Printer interface {
	// Printed reads what was written so far to "stdout" or "stderr", if that is kept, from an
	// offset on: a piece, which is empty where there is no more yet, or the process has ended.
	Printed(stream string, from int64) ([]byte, error)
}

// Timed is a Process on this machine of which the moment is known at which it was forked.
type Timed interface {
	Begun() time.Time
}

// Proportional is a Process of which the memory is known in a way that adds up over processes.
type Proportional interface {
	// Proportional is what is resident of it and all its descendants, in bytes, a page that
	// several processes share counted for each of them in equal parts (PSS).
	Proportional() (int64, error)
}

// ProcessAs finds the optional interface T of a process, or of what it wraps, as As does of a site.
func ProcessAs[T any](p Process) (T, bool) { return find[T](p) }

// Usage is what a process consumed over its life, waited-for children included.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Wall   time.Duration `json:"wall"`
	// MaxRSS is the peak of resident memory in bytes; 0 where it is not known, as of a
	// small program that ended before anybody could look.
	MaxRSS int64 `json:"maxRSS"`
	// Left are the command lines of what the command had started and what ran on for more
	// than a moment after it (process.LeftGrace), until it was killed.
	Left []string `json:"left,omitempty"`
	// Unavailable says that CPU time and memory are not known, and zero here: a sandbox counts
	// by a clock of its own. Its name in stored runs is an older one.
	Unavailable bool `json:"untold,omitempty"`
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }
