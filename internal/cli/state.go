// Package cli is the command line: flags in, text out. Each command has a file, or shares the file of a related
// command. Only this package prints: results to stdout, progress and messages to stderr.
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

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

// State describes the process that a command runs in, so that tests can run whole commands.
type State struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutTerminal and StderrTerminal are set if the output is a terminal.
	StdoutTerminal, StderrTerminal bool
	Width                          int // width of the terminal, or COLUMNS if Stdout is no terminal; 0 if unknown
	Color                          bool
	Plugin                         bool // set if kubectl called Tare, as `kubectl tare`
	// Columns returns the current width of Stderr's terminal; nil if Stderr is no terminal.
	Columns func() int

	// binary and screen are outputs without the filters of guarded. binary takes binary content, and screen a line that
	// is overwritten.
	binary, screen io.Writer
}

// guarded makes all output safe for a terminal. flush writes the rest of stdout, and returns the first write error.
// done writes the rest of both outputs.
func (s State) guarded() (guarded State, flush func() error, done func()) {
	stdout, stderr := safetext.NewWriter(s.Stdout), safetext.NewWriter(s.Stderr)
	stdout.Styled = s.Color
	s.binary, s.screen, s.Stdout, s.Stderr = s.Stdout, s.Stderr, stdout, stderr
	return s, stdout.Flush, func() { _ = errors.Join(stdout.Flush(), stderr.Flush()) } // nobody can be told of an error here
}

// System returns the state of this process.
func System() State {
	s := State{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Plugin: filepath.Base(os.Args[0]) == PluginName}
	s.StdoutTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	s.StderrTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width = w
	} else if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		s.Width = min(w, 1000)
	}
	if s.StderrTerminal {
		s.Columns = func() int {
			w, _, _ := term.GetSize(int(os.Stderr.Fd())) // 0 if the width is unknown
			return w
		}
	}
	dumb := os.Getenv("TERM") == "dumb"
	s.Color = s.StdoutTerminal && os.Getenv("NO_COLOR") == "" && !dumb
	s.StderrTerminal = s.StderrTerminal && !dumb // a dumb terminal cannot overwrite a line
	return s
}

// Main runs the command line and returns the exit code.
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

// Exit codes of tare, as in docs/commands.md.
const (
	ExitDone        = 0   // the command succeeded, whatever the verdicts are
	exitError       = 1   // an operation failed
	ExitUsage       = 2   // the command line or the experiment file is wrong
	exitFailed      = 3   // tare gate: a metric exceeds its budget
	exitUnresolved  = 4   // tare gate: no budget is exceeded, but some results are not resolved
	ExitInvalid     = 5   // the run gives no verdicts, or is damaged
	exitInterrupted = 130 // SIGINT or SIGTERM
)

type codedError struct {
	err  error
	code int
	hint string
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func hinted(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	code := exitError
	if errors.Is(err, context.Canceled) {
		code = exitInterrupted
	}
	if inner, ok := errors.AsType[*codedError](err); ok {
		code = inner.code
	} else if errors.As(err, new(*journal.DamageError)) {
		code = ExitInvalid
	}
	return &codedError{err: err, code: code, hint: fmt.Sprintf(format, args...)}
}

// usage marks an error as a mistake of the user, with the exit code ExitUsage. An interrupt is returned unchanged.
func usage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &codedError{err: err, code: ExitUsage}
}

// exit is an exit code without a message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// conclude prints an error with its hints, and returns its exit code.
func conclude(s State, err error) int {
	defer func() {
		limit, reached := machine.Exhausted(err)
		if unwritten := errors.As(err, new(*journal.WriteError)); reached && !(unwritten && limit == machine.FileSize) { // a WriteError already names the limit on file sizes
			fmt.Fprintln(s.Stderr, "hint: "+limit.Reached())
		}
	}()
	var silent exit
	var coded *codedError
	var problems *experiment.Problems
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &problems): // editors understand file:line:column, as compilers print it
		fmt.Fprintln(s.Stderr, problems.Error())
		return ExitUsage
	case errors.As(err, &coded):
		fmt.Fprintln(s.Stderr, "tare: "+coded.Error())
		if coded.hint != "" {
			fmt.Fprintln(s.Stderr, "hint: "+coded.hint)
		}
		return coded.code
	case errors.As(err, new(*journal.DamageError)):
		fmt.Fprintln(s.Stderr, "tare: "+err.Error())
		return ExitInvalid
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(s.Stderr, "tare: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(s.Stderr, "tare: "+err.Error())
	return exitError
}

func hintedUsage(err error, format string, args ...any) error {
	return hinted(usage(err), format, args...)
}

// These are the limits of the system that a command needs. They include a wide margin, so that no command fails
// halfway.
var (
	toMeasure = machine.Needs{machine.OpenFiles: 256, machine.Processes: 128, machine.VirtualMemory: 2 << 30}
	toImport  = machine.Needs{machine.OpenFiles: 64, machine.Processes: 64, machine.VirtualMemory: 2 << 30}
)

// enough returns an error if the system's limits are below a command's needs.
func enough(needs machine.Needs) error {
	err := machine.CheckLimits(needs)
	if limit, ok := errors.AsType[*machine.LimitError](err); ok {
		return hinted(err, "%s", limit.Hint())
	}
	return err
}

func limits() part {
	f := testbed.Finding{Name: "of the system", Status: testbed.Works, Detail: "enough for a run: open files, processes, virtual memory"}
	if limit, ok := errors.AsType[*machine.LimitError](machine.CheckLimits(toMeasure)); ok {
		f.Status, f.Detail, f.Hint = testbed.Refused, limit.Error(), limit.Hint()
	}
	return part{limitsKind, "a process's", []testbed.Finding{f}}
}
