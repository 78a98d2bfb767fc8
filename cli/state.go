// Package cli is the command line: one file per command, flags in, text out. It
// is the only package that prints. Data goes to stdout, progress and messages to
// stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/term"

	"tare/catalog"
	"tare/experiment"
	"tare/journal"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/local"
)

// State is what a command may know of the process around it, so that whole
// commands run inside tests.
type State struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutTerminal and StderrTerminal say whether a person is looking.
	StdoutTerminal, StderrTerminal bool
	Width                          int // of the terminal, or what COLUMNS says where Stdout is none; 0 if neither
	Color                          bool
	Plugin                         bool // called by kubectl, as `kubectl tare`
	// Columns is how wide the terminal of Stderr is now; nil if it is none.
	Columns func() int

	// What Stdout and Stderr write to once they are guarded, for what is no text
	// and for a line that is written over.
	binary, screen io.Writer
}

// guarded has everything that is printed pass through one place, after which it is
// safe on a terminal: names of files, what programs and clusters say, and errors
// that hold any of it. Flush writes the last of stdout; its error is the first one in
// writing any of it. Done writes the last of both.
func (s State) guarded() (guarded State, flush func() error, done func()) {
	stdout, stderr := safetext.NewWriter(s.Stdout), safetext.NewWriter(s.Stderr)
	stdout.Styled = s.Color
	s.binary, s.screen, s.Stdout, s.Stderr = s.Stdout, s.Stderr, stdout, stderr
	return s, stdout.Flush, func() { _ = errors.Join(stdout.Flush(), stderr.Flush()) } // nobody is left to be told
}

// widest is the largest width that COLUMNS can ask for.
const widest = 1000

// System is the state of this process.
func System() State {
	s := State{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Plugin: filepath.Base(os.Args[0]) == PluginName}
	s.StdoutTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	s.StderrTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width = w
	} else if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		s.Width = min(w, widest)
	}
	if s.StderrTerminal {
		s.Columns = func() int {
			w, _, _ := term.GetSize(int(os.Stderr.Fd())) // 0 where it cannot be told
			return w
		}
	}
	dumb := os.Getenv("TERM") == "dumb"
	s.Color = s.StdoutTerminal && os.Getenv("NO_COLOR") == "" && !dumb
	s.StderrTerminal = s.StderrTerminal && !dumb // which cannot write a line over
	return s
}

// Main runs the command line and gives the exit code.
func Main(args []string, s State) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, flush, done := s.guarded()
	defer done()
	if name := testbed.HelperName(); name != "" {
		return conclude(s, catalog.RunHelper(ctx, name))
	}
	guard()
	defer local.Dismiss()
	root := Root(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if s.Plugin {
		err = pluginHint(root, err)
	}
	if lost := flush(); err == nil && lost != nil {
		err = fmt.Errorf("not all could be printed: %w", lost)
	}
	return conclude(s, err)
}

// The exit codes of tare. They are documented in docs/commands.md.
const (
	ExitDone        = 0   // whatever the verdicts
	ExitError       = 1   // something failed
	ExitUsage       = 2   // the command line or the experiment file is wrong
	ExitFailed      = 3   // tare gate: a budget is exceeded
	ExitUnresolved  = 4   // tare gate: none is, but some are not resolved
	ExitInvalid     = 5   // the run gives no verdicts, or is damaged
	ExitInterrupted = 130 // SIGINT or SIGTERM
)

// codedError is an error with the exit code it leads to and what to do next.
type codedError struct {
	err  error
	code int
	hint string
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// hinted adds what the user can do next to an error.
func hinted(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	code := ExitError
	if errors.Is(err, context.Canceled) {
		code = ExitInterrupted
	}
	var inner *codedError
	var damage *journal.DamageError
	if errors.As(err, &inner) {
		code = inner.code
	} else if errors.As(err, &damage) {
		code = ExitInvalid
	}
	return &codedError{err: err, code: code, hint: fmt.Sprintf(format, args...)}
}

// usage marks an error as the user's, unless it is an interrupt.
func usage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &codedError{err: err, code: ExitUsage}
}

// exit ends the command with a code, without a message of its own.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// conclude prints an error with what can be done, and gives its exit code.
func conclude(s State, err error) int {
	code := tell(s, err)
	if hint := limitHint(err); hint != "" {
		fmt.Fprintln(s.Stderr, "hint: "+hint)
	}
	return code
}

// tell prints an error and gives its exit code.
func tell(s State, err error) int {
	var silent exit
	var coded *codedError
	var problems *experiment.Problems
	var damage *journal.DamageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &problems): // as compilers write them, for editors
		fmt.Fprintln(s.Stderr, problems.Error())
		return ExitUsage
	case errors.As(err, &coded):
		fmt.Fprintln(s.Stderr, "tare: "+coded.Error())
		if coded.hint != "" {
			fmt.Fprintln(s.Stderr, "hint: "+coded.hint)
		}
		return coded.code
	case errors.As(err, &damage):
		fmt.Fprintln(s.Stderr, "tare: "+err.Error())
		return ExitInvalid
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(s.Stderr, "tare: interrupted")
		return ExitInterrupted
	}
	fmt.Fprintln(s.Stderr, "tare: "+err.Error())
	return ExitError
}

// hintedUsage is usage with what to do next.
func hintedUsage(err error, format string, args ...any) error {
	return hinted(usage(err), format, args...)
}
