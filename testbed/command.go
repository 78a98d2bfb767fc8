package testbed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ExitError is a command that ran and failed.
type ExitError struct {
	Args   []string
	Code   int    // -1 when ended by a signal
	Signal string // "killed", when ended by one
	Stderr string // the last of what it said, if it was captured
}

// Error gives the command as it can be pasted into a shell, how it ended, and
// the last of its standard error.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s: %s", Quote(e.Args), e.How())
	if s := strings.TrimSpace(e.Stderr); s != "" {
		text += ": " + s
	}
	return text
}

// How says how the command ended.
func (e *ExitError) How() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Quote writes arguments so that a shell reads them back as they are.
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

// LookUp finds a program in the PATH of the environment that it will run in, from
// its working directory. Where it finds none it gives "" with that PATH, and with a
// file of that name that may not be executed, if there is one.
func LookUp(program, dir string, env []string) (found, refused, path string) {
	if strings.Contains(program, "/") {
		return program, "", "" // relative to the working directory
	}
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, d := range filepath.SplitList(path) { // like a shell, also behind what may not be executed
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

// Helper is a process of Tare's own that a layer or workload starts at a place of a site. It
// reads its orders from stdin and ends when stdin does.
type Helper struct {
	Name string // "wireguard"; the kind of the layer, or a name that begins with the workload's
	Run  func(ctx context.Context) error
}

// HelperVariable names the Helper that this process is to be instead of reading the command
// line. See HelperCommand.
const HelperVariable = "TARE_HELPER"

// Self is this program, as a command has it that is to start it at some place.
const Self = "/proc/self/exe"

// HelperCommand starts this program again, on this machine, as the named Helper.
func HelperCommand(name string) Command {
	return Command{Args: []string{Self}, Env: []string{HelperVariable + "=" + name}}
}

// HelperAt is HelperCommand at a place of a site.
func HelperAt(site Site, where Place, name string) Command {
	cmd := HelperCommand(name)
	if remote, ok := As[Remote](site); ok && remote.Self(where) != "" {
		cmd.Args = []string{remote.Self(where)}
	}
	return cmd
}

// HelperArguments start this program as the named Helper by arguments alone, for a command in
// front that may clear the environment. What comes behind them are the helper's arguments.
func HelperArguments(name string) []string { return []string{Self, HelperVariable + "=" + name} }

// HelperName is the Helper that this process was started as, or "". What the arguments say
// comes before the variable, which may be meant for a process that is started behind this one.
func HelperName() string {
	if len(os.Args) > 1 {
		if name, ok := strings.CutPrefix(os.Args[1], HelperVariable+"="); ok {
			return name
		}
	}
	return os.Getenv(HelperVariable)
}

// HelperOwnArguments are those of the helper that this process was started as by
// HelperArguments.
func HelperOwnArguments() []string {
	if len(os.Args) > 2 && strings.HasPrefix(os.Args[1], HelperVariable+"=") {
		return os.Args[2:]
	}
	return nil
}

// Installed gives the path of a program: on PATH, or in the user's cache, where the make target of
// that name puts it.
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
