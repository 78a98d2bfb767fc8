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

var commands process.Keeper

// scopes makes the cgroups for commands. It is nil if this process may not make cgroups.
var scopes = sync.OnceValue(func() *process.Scopes {
	s, err := process.OpenScopes()
	if err != nil {
		return nil
	}
	return s
})

var testbeds, serials atomic.Int64

// start forks a command on the thread of its place, with a cgroup in parent or, if nil, in this process's cgroup. After
// Close, start fails.
func (t *Testbed) start(ctx context.Context, place *thread, parent *process.Group, c testbed.Command) (testbed.Process, error) {
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
	isHelper := func(v string) bool { return strings.HasPrefix(v, testbed.HelperVariable+"=") }
	p, err := commands.Start(ctx, process.Spec{
		Path: program, Args: prepared.Args, Env: env, Dir: c.Dir, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Files: prepared.Files,
		Name: m.scope(), Within: parent, Mark: m.environment(), By: t, Helper: slices.ContainsFunc(c.Env, isHelper),
		Attributes: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		Fork: func(start func() error) error {
			return place.do(func() error {
				t.mu.Lock() // without the lock, Close could miss this command
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

// environment returns a command's environment: this process's variables except UserNamespaceVariable, those in added,
// and the marker.
func environment(added []string, m marker) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, UserNamespaceVariable+"=") })
	return slices.Concat(own, added, m.environment())
}

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

// Here is this machine as a site for probes; it has no nodes. Its programs are kept, marked and guarded like those of
// other sites.
var Here testbed.Site = here{}

type here struct{}

// hereBed returns the testbed that Here starts programs on. This testbed ends with this process.
var hereBed = sync.OnceValues(New)

func (here) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where != testbed.Host {
		return nil, fmt.Errorf("no %s is there outside of sites", where)
	}
	bed, err := hereBed()
	if err != nil {
		return nil, err
	}
	return bed.start(ctx, bed.host, nil, cmd)
}

// groups are the cgroups for a site's programs under test. They are nil until a layer requests a cgroup.
type groups struct {
	all, servers, others *process.Group // all is the parent cgroup of servers and of others
}

// Cgroup opens the directory of the cgroup for the programs under test at a place.
func (s *site) Cgroup(where testbed.Place) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups.all == nil {
		if err := s.makeGroups(); err != nil {
			return nil, fmt.Errorf("make a cgroup for programs under test: %w", err)
		}
	}
	switch {
	case where == testbed.Host:
		return s.groups.all.Dir(), nil
	case where.Server():
		return s.groups.servers.Dir(), nil
	}
	return s.groups.others.Dir(), nil
}

// makeGroups makes the cgroups. Their names contain the owner, so that tare clean can remove them if this process is
// killed.
func (s *site) makeGroups() error {
	of := scopes()
	if of == nil {
		return errors.New("this process may not make cgroups (see tare doctor)")
	}
	var g groups
	// The group g.all must be made first, because the loop makes the other groups inside g.all.
	for _, to := range []**process.Group{&g.all, &g.servers, &g.others} {
		made, err := of.Group(g.all, marker{owner: s.bed.owner, serial: int(serials.Add(1))}.scope())
		if err != nil {
			return errors.Join(err, g.remove())
		}
		*to = made
	}
	s.groups = g
	return nil
}

func (s *site) groupOf(where testbed.Place, cmd testbed.Command) *process.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !cmd.Subject:
		return nil
	case where.Server():
		return s.groups.servers
	}
	return s.groups.others
}

func (g groups) remove() (err error) {
	for _, one := range []*process.Group{g.others, g.servers, g.all} {
		if one != nil {
			err = errors.Join(err, one.Remove())
		}
	}
	return err
}
