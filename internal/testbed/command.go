package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ExitError reports that a command ran and failed.
type ExitError struct {
	Args   []string
	Code   int    // exit status; -1 if a signal ended the command
	Signal string // "killed", if a signal ended the command
	Stderr string // end of the captured standard error
}

// Error returns the command in shell syntax, its exit status, and the end of its standard error.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s: %s", Quote(e.Args), e.How())
	if s := strings.TrimSpace(e.Stderr); s != "" {
		text += ": " + s
	}
	return text
}

func (e *ExitError) How() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Quote joins arguments and quotes them for a shell.
func Quote(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]#~=%!{}\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// LookUp finds a program in the PATH of the environment env. Relative directories in PATH begin at the directory dir.
// The result found is the program's path. If found is "", refused names a file of this name that is not executable, and
// path is the searched PATH.
func LookUp(program, dir string, env []string) (found, refused, path string) {
	if strings.Contains(program, "/") {
		return program, "", "" // a program name with a slash is a path, relative to the command's working directory
	}
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	// Like a shell, LookUp continues its search after a file that is not executable.
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		found, err := exec.LookPath(filepath.Join(d, program))
		if err == nil || errors.Is(err, exec.ErrDot) {
			return found, "", path
		}
		if errors.Is(err, fs.ErrPermission) {
			refused = filepath.Join(d, program)
		}
	}
	return "", refused, path
}

// Helper is a process of Tare's own at a place of a site, which reads requests from stdin until stdin ends.
type Helper struct {
	Name string // the kind of the layer, such as "wireguard", or a name that begins with the workload's kind
	Run  func(ctx context.Context) error
}

// HelperVariable is an environment variable. Its value names the Helper that a process must run (HelperAt).
const HelperVariable = "TARE_HELPER"

// Self is a path of the running program. A command with this path starts the program again.
const Self = "/proc/self/exe"

// HelperAt returns the command that starts this program at a place of a site, as the named Helper.
func HelperAt(site Site, where Place, name string) Command {
	cmd := Command{Args: []string{Self}, Env: []string{HelperVariable + "=" + name}}
	if remote, ok := As[Remote](site); ok && remote.Self(where) != "" {
		cmd.Args = []string{remote.Self(where)}
	}
	return cmd
}

// HelperArguments returns arguments that start this program as the named Helper, even if wrappers clear the
// environment.
func HelperArguments(name string) []string { return []string{Self, HelperVariable + "=" + name} }

// HelperName returns the name of the Helper that this process must run, or "". A name in the arguments counts before
// HelperVariable, which may be for a child of this process.
func HelperName() string {
	if len(os.Args) > 1 {
		if name, ok := strings.CutPrefix(os.Args[1], HelperVariable+"="); ok {
			return name
		}
	}
	return os.Getenv(HelperVariable)
}

// HelperOwnArguments returns the arguments of this process that follow those of HelperArguments; nil if none follow.
func HelperOwnArguments() []string {
	if len(os.Args) > 2 && strings.HasPrefix(os.Args[1], HelperVariable+"=") {
		return os.Args[2:]
	}
	return nil
}

// Installed finds a program in PATH, or in the directory of the user's cache where `make TARGET` installs it.
func Installed(program, target string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return filepath.Abs(path)
	}
	dir, e := os.UserCacheDir()
	if e != nil {
		return "", err
	}
	cached := filepath.Join(dir, "tare", target, program)
	if path, e := exec.LookPath(cached); e == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w, and not at %s", err, cached)
}

// Command is a program to run.
type Command struct {
	Args   []string // program and arguments; the program is looked up in PATH
	Env    []string // "NAME=value", added to the testbed's own environment
	Dir    string   // working directory; "": the testbed's own
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Subject marks a program under test, which runs in the layers' wrappers. Tare's own probes run without wrappers.
	Subject bool
	Files   []*os.File // files that the program gets as descriptors 3, 4 and so on; only for programs on this machine
}

// Process is a started command. When Wait or Kill returns, the command and all its descendants have ended. They never
// outlive Tare.
type Process interface {
	// Wait waits for the process to end and returns its usage. If the exit status is not 0, the error is an *ExitError.
	Wait() (Usage, error)
	// Kill ends the process and its descendants. Pending calls of Wait then return.
	Kill() error
	// CPU returns the CPU time of the process and its descendants so far. CPU and Memory may return ErrUncounted.
	CPU() (time.Duration, error)
	// Memory returns the present resident memory of the process and its descendants, in bytes. A page that several
	// processes share counts for each of them.
	Memory() (int64, error)
}

// Until returns a context that ends with ctx, or earlier if the channel is closed, for example at the end of a process.
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

// ErrUncounted is the error of a Process whose CPU time and memory Tare cannot read.
var ErrUncounted = errors.New("the program's CPU time and memory are unknown")

// Printer is a Process whose output can be read before the process ends.
type Printer interface {
	// Printed returns the bytes that the process has written to "stdout" or "stderr", from an offset on. It returns
	// nothing after the process's end, or if the process keeps no output.
	Printed(stream string, from int64) ([]byte, error)
}

// Timed is a Process on this machine whose start time is known. The start time is the moment of the fork.
type Timed interface {
	Begun() time.Time
}

// Proportional is a Process whose memory is known without counting shared pages twice.
type Proportional interface {
	// Proportional returns the resident memory with shared pages divided among their processes, in bytes (PSS).
	Proportional() (int64, error)
}

// ProcessAs returns the process p as the optional interface T. If p lacks T, the process that p wraps is tried.
func ProcessAs[T any](p Process) (T, bool) { return find[T](p) }

// Usage is the resource usage of a process over its life. Children that it waited for are included.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Wall   time.Duration `json:"wall"`
	// MaxRSS is the peak of resident memory in bytes. It is 0 if unknown, for example because the program ended too
	// early.
	MaxRSS int64 `json:"maxRSS"`
	// Left lists the command lines of descendants that outlived the command by 2 seconds. Tare then killed them.
	Left []string `json:"left,omitempty"`
	// Unavailable is set if CPU time and memory are unknown, and given as 0. Its JSON name is that of earlier versions.
	Unavailable bool `json:"untold,omitempty"`
}

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
