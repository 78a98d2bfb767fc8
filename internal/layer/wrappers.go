package layer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
)

type wrappedSite struct {
	testbed.Site
	wrappers []*Active // layers whose field Wrap is set
	// launchers is the number of launchers around every subject: the largest number that an arm needs.
	launchers int
}

func (d wrappedSite) Unwrap() testbed.Site { return d.Site }

// Wrappers returns how many wrappers a site puts around its subjects.
func Wrappers(site testbed.Site) int {
	if d, ok := testbed.As[wrappedSite](site); ok {
		return len(d.wrappers)
	}
	return 0
}

func (d wrappedSite) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if !cmd.Subject {
		return d.Site.Start(ctx, where, cmd)
	}
	wrapped, uncounted, err := d.wrapped(where, cmd)
	if err != nil {
		return nil, err
	}
	for _, f := range wrapped.Files[len(cmd.Files):] {
		defer func() { _ = f.Close() }() // this process needs the file no longer: the started program has inherited it
	}
	process, err := d.Site.Start(ctx, where, wrapped)
	if err == nil && uncounted {
		process = elsewhere{process}
	}
	return process, err
}

// Wrapped returns a subject's command with its wrappers. It is for subjects that Tare does not start itself, such as a
// container of a pod.
func (d wrappedSite) Wrapped(where testbed.Place, cmd testbed.Command) (testbed.Command, error) {
	wrapped, _, err := d.wrapped(where, cmd)
	if err != nil || launcher.Count(wrapped.Args) == 0 {
		return wrapped, err
	}
	wrapped.Args = append(testbed.HelperArguments(launcher.Helper.Name), wrapped.Args...)
	return d.self(where, wrapped, false)
}

func (d wrappedSite) wrapped(where testbed.Place, cmd testbed.Command) (_ testbed.Command, uncounted bool, _ error) {
	wrapped, uncounted, hidden := d.wrap(where, cmd)
	if len(wrapped.Args) != len(cmd.Args) { // a wrapper was added
		wrapped, uncounted, hidden = d.wrap(where, plain(cmd))
	}
	wrapped, err := d.self(where, wrapped, hidden)
	return wrapped, uncounted, err
}

// wrap puts the wrappers of a place before a command. uncounted: one wrapper has Active.Uncounted set. hidden: one has
// Active.Hides set.
func (d wrappedSite) wrap(where testbed.Place, cmd testbed.Command) (_ testbed.Command, uncounted, hidden bool) {
	for _, a := range d.wrappers {
		if a.Around.Holds(where) {
			cmd = a.Wrap(cmd)
			uncounted, hidden = uncounted || a.Uncounted, hidden || a.Hides
		}
	}
	for range d.launchers - launcher.Count(cmd.Args) {
		cmd.Args = append([]string{launcher.Settings{}.Argument()}, cmd.Args...)
	}
	return cmd, uncounted, hidden
}

// plain adds the name of a helper to its command's arguments (testbed.HelperAt), since many sandboxes clear the
// environment variable with the name.
func plain(cmd testbed.Command) testbed.Command {
	for _, v := range cmd.Env {
		if name, ok := strings.CutPrefix(v, testbed.HelperVariable+"="); ok {
			cmd.Args = slices.Concat(cmd.Args[:1], testbed.HelperArguments(name)[1:], cmd.Args[1:])
		}
	}
	return cmd
}

// self replaces the placeholder for Tare's executable (testbed.HelperArguments) by a path: in pods the agent's,
// otherwise the executable's or, if hidden, that of an open file.
func (d wrappedSite) self(where testbed.Place, cmd testbed.Command, hidden bool) (testbed.Command, error) {
	var at []int
	for i, arg := range cmd.Args {
		if i > 0 && strings.HasPrefix(arg, testbed.HelperVariable+"=") && cmd.Args[i-1] == testbed.Self {
			at = append(at, i-1)
		}
	}
	if len(at) == 0 {
		return cmd, nil
	}
	path := ""
	if remote, ok := testbed.As[testbed.Remote](d.Site); ok {
		path = remote.Self(where)
	}
	switch {
	case path != "":
	case hidden:
		file, err := os.Open(testbed.Self)
		if err != nil {
			return cmd, fmt.Errorf("open Tare's executable: %w", err)
		}
		path = fmt.Sprintf("/proc/self/fd/%d", 3+len(cmd.Files))
		cmd.Files = append(slices.Clip(cmd.Files), file)
	default:
		var err error
		if path, err = os.Executable(); err != nil {
			return cmd, fmt.Errorf("find the path of Tare's executable: %w", err)
		}
	}
	cmd.Args = slices.Clone(cmd.Args)
	for _, i := range at {
		cmd.Args[i] = path
	}
	return cmd, nil
}

type elsewhere struct{ testbed.Process } // process of a wrapper whose subject is no descendant of this process

// Wait waits for the end of the process. Its usage has only the elapsed time: the CPU time is unknown.
func (e elsewhere) Wait() (testbed.Usage, error) {
	used, err := e.Process.Wait()
	return testbed.Usage{Wall: used.Wall, Left: used.Left, Unavailable: true}, err
}

func (elsewhere) CPU() (time.Duration, error) { return 0, testbed.ErrUncounted }
func (elsewhere) Memory() (int64, error)      { return 0, testbed.ErrUncounted }

// WithWrappers returns the site for an arm's workload. It starts each subject in the active layers' wrappers, the first
// layer's innermost, and holds the layers' values (Active.Holds).
func WithWrappers(site testbed.Site, active ...*Active) testbed.Site {
	return WithEqualLaunchers(site, 0, active...)
}

// WithEqualLaunchers is WithWrappers with a given number of launchers around every subject, so that launchers cost as
// much in every arm. Launchers that a subject does not need restrict nothing.
func WithEqualLaunchers(site testbed.Site, launchers int, active ...*Active) testbed.Site {
	d := wrappedSite{Site: site, launchers: launchers}
	var held []any
	for _, a := range active {
		if a.Wrap != nil {
			d.wrappers = append(d.wrappers, a)
		}
		if a.Holds != nil {
			held = append(held, a.Holds)
		}
	}
	if d.wrappers != nil || launchers > 0 {
		site = d
	}
	if held != nil {
		site = testbed.Holding(site, held...)
	}
	return site
}
