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

	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/process"
)

// commands keeps the running commands of all testbeds of this process.
var commands process.Keeper

// scopes makes the cgroups of commands; nil if this process may not make any.
var scopes = sync.OnceValue(func() *process.Scopes {
	s, err := process.OpenScopes()
	if err != nil {
		return nil
	}
	return s
})

// These are the last numbers that were given to testbeds and to commands.
var testbeds, serials atomic.Int64

// start forks a command on the thread of its place. Unless within is nil, the command starts in this group of
// cgroups. If the testbed is being closed, start fails.
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
	p, err := commands.Start(ctx, process.Spec{
		Path: program, Args: prepared.Args, Env: env, Dir: c.Dir, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Files: prepared.Files,
		Name: m.scope(), Within: within, Mark: m.environment(), By: t, Helper: isHelper(c),
		Attributes: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		Fork: func(start func() error) error {
			return place.do(func() error {
				t.mu.Lock() // while locked, Close does not miss this command
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

func isHelper(c testbed.Command) bool {
	return slices.ContainsFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, testbed.HelperVariable+"=") })
}

// environment returns the environment of a command: this process's variables, the requested variables, and
// the marker. It leaves out the variable that marks a Tare in a user namespace, since this variable concerns
// no other program.
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

// lookUp finds a program. Its error tells the user what to do.
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
