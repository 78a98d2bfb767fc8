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

// The last numbers given to testbeds and commands.
var testbeds, serials atomic.Int64

// start forks a command on the thread of its place, in a group of cgroups unless within is nil. It fails
// if the testbed is being closed.
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

// environment returns the environment of a command: this process's variables, the requested ones, and the
// marker. It omits the variable that marks a Tare inside a user namespace, which concerns no other program.
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

// lookUp finds a program. Its error contains advice.
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
