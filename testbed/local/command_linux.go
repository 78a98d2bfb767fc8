package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"tare/testbed"
	"tare/testbed/launcher"
	"tare/testbed/process"
)

// commands keeps the running commands of all testbeds of this process.
var commands process.Keeper

// scopes are the cgroups of commands; nil where this process may make none.
var scopes = sync.OnceValue(func() *process.Scopes {
	s, err := process.OpenScopes()
	if err != nil {
		return nil
	}
	return s
})

// The numbers given last.
var testbeds, serials atomic.Int64

// start forks a command on a place's thread, into a group of cgroups if one is given, unless the
// testbed is being closed.
func (t *Testbed) start(ctx context.Context, place *thread, within *process.Group, c testbed.Command) (testbed.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.Args) == 0 {
		return nil, errors.New("start: no command given")
	}
	if err := raiseGuard(); err != nil {
		return nil, err
	}
	m := marker{owner: t.owner, bed: t.number, serial: int(serials.Add(1))}
	env := environment(c.Env, m)
	prepared, err := launcher.Prepare(c.Args, env, c.Dir, c.Files)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", testbed.Quote(c.Args), err)
	}
	defer prepared.Close()
	program, err := lookUp(prepared.Args[0], c.Dir, env)
	if err != nil {
		return nil, err
	}
	p, err := commands.Start(ctx, process.Order{
		Path: program, Args: prepared.Args, Env: env, Dir: c.Dir, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Files: prepared.Files,
		Name: m.scope(), Within: within, Mark: m.environment(), By: t, Helper: isHelper(c),
		Attributes: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		Fork: func(start func() error) error {
			return place.do(func() error {
				t.mu.Lock() // so that Close misses none
				defer t.mu.Unlock()
				if t.closed {
					return errStopped
				}
				return start()
			})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", testbed.Quote(c.Args), err)
	}
	return p, nil
}

// isHelper says whether a command is a layer's own process.
func isHelper(c testbed.Command) bool {
	return slices.ContainsFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, testbed.HelperVariable+"=") })
}

// environment is what a command sees: this process's variables, those that were
// asked for, and the marker. The variable that says that this process is inside
// a user namespace of its own is nobody else's business.
func environment(added []string, m marker) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, UserNamespaceVariable+"=") {
			env = append(env, v)
		}
	}
	env = append(env, added...)
	return append(env, m.environment()...)
}

// lookUp finds a program, or says what is to be done.
func lookUp(program, dir string, env []string) (string, error) {
	found, refused, path := testbed.LookUp(program, dir, env)
	switch {
	case found != "":
		return found, nil
	case refused != "":
		return "", fmt.Errorf("%s: may not be executed: %w", refused, fs.ErrPermission)
	}
	return "", fmt.Errorf("%s: %w in PATH=%s; is it installed? (see tare doctor)", program, exec.ErrNotFound, path)
}
