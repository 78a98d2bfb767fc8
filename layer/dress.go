package layer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tare/testbed"
	"tare/testbed/launcher"
)

// dressed is a site whose commands under test go through the layers' wrappers.
type dressed struct {
	testbed.Site
	wrappers []*Active // those with a Wrap
	// launchers is how many launchers a program of any arm is started by at most: as many stand in front of each.
	launchers int
}

// Unwrap gives the site without the wrappers.
func (d dressed) Unwrap() testbed.Site { return d.Site }

// Fronts counts what layers have put in front of programs under test at a site.
func Fronts(site testbed.Site) int {
	if d, ok := testbed.As[dressed](site); ok {
		return len(d.wrappers)
	}
	return 0
}

// Start starts a command, in the wrappers if it is one under test.
func (d dressed) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if !cmd.Subject {
		return d.Site.Start(ctx, where, cmd)
	}
	wrapped, uncounted, err := d.wrapped(where, cmd)
	if err != nil {
		return nil, err
	}
	for _, f := range wrapped.Files[len(cmd.Files):] {
		defer func() { _ = f.Close() }() // the program has it by then
	}
	process, err := d.Site.Start(ctx, where, wrapped)
	if err == nil && uncounted {
		process = elsewhere{process}
	}
	return process, err
}

// Wrapped is what is started in place of a command under test, by others than Tare: the kubelet.
func (d dressed) Wrapped(where testbed.Place, cmd testbed.Command) (testbed.Command, error) {
	wrapped, _, err := d.wrapped(where, cmd)
	if err != nil || launcher.Count(wrapped.Args) == 0 {
		return wrapped, err
	}
	wrapped.Args = append(testbed.HelperArguments(launcher.Helper.Name), wrapped.Args...)
	return d.self(where, wrapped, false)
}

// wrapped says as well whether what the command uses is not counted then.
func (d dressed) wrapped(where testbed.Place, cmd testbed.Command) (_ testbed.Command, uncounted bool, _ error) {
	wrapped, uncounted, hidden := d.wrap(where, cmd)
	if len(wrapped.Args) != len(cmd.Args) { // something stands in front
		wrapped, uncounted, hidden = d.wrap(where, plain(cmd))
	}
	wrapped, err := d.self(where, wrapped, hidden)
	return wrapped, uncounted, err
}

// wrap puts what stands at a place in front of a command. It says whether what the command
// uses is not counted then, and whether files of this machine are hidden from it.
func (d dressed) wrap(where testbed.Place, cmd testbed.Command) (_ testbed.Command, uncounted, hidden bool) {
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

// plain makes a process of Tare's own (testbed.HelperCommand) a command that works behind
// any other: what it was started for is said by its arguments, since many sandboxes clear the
// environment.
func plain(cmd testbed.Command) testbed.Command {
	for _, v := range cmd.Env {
		if name, ok := strings.CutPrefix(v, testbed.HelperVariable+"="); ok {
			cmd.Args = slices.Concat(cmd.Args[:1], testbed.HelperArguments(name)[1:], cmd.Args[1:])
		}
	}
	return cmd
}

// self says where this program is, in the places of a command where it is to be started
// (testbed.HelperArguments): by its path, in pods by that of the agent, or as an open file
// where the path is hidden.
func (d dressed) self(where testbed.Place, cmd testbed.Command, hidden bool) (testbed.Command, error) {
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
			return cmd, fmt.Errorf("open this program: %w", err)
		}
		path = fmt.Sprintf("/proc/self/fd/%d", 3+len(cmd.Files))
		cmd.Files = append(slices.Clip(cmd.Files), file)
	default:
		var err error
		if path, err = os.Executable(); err != nil {
			return cmd, fmt.Errorf("the path of this program: %w", err)
		}
	}
	cmd.Args = slices.Clone(cmd.Args)
	for _, i := range at {
		cmd.Args[i] = path
	}
	return cmd, nil
}

// elsewhere is a process that stands for a program which runs somewhere else.
type elsewhere struct{ testbed.Process }

// Wait waits for the end. How long that took is all that is known.
func (e elsewhere) Wait() (testbed.Usage, error) {
	used, err := e.Process.Wait()
	return testbed.Usage{Wall: used.Wall, Left: used.Left, Unavailable: true}, err
}

// CPU is not known.
func (elsewhere) CPU() (time.Duration, error) { return 0, testbed.ErrUncounted }

// Memory is not known.
func (elsewhere) Memory() (int64, error) { return 0, testbed.ErrUncounted }

// Dress gives the site as the workload of an arm sees it: commands under test go
// through the wrappers of the active layers, the first layer innermost. It holds what the
// layers do.
func Dress(site testbed.Site, active ...*Active) testbed.Site { return DressAlike(site, 0, active...) }

// DressAlike is Dress where programs of some arm are started by so many launchers: where the layers of this one take
// fewer, launchers that set nothing stand in front of the rest, so that a launcher's weight is no arm's.
func DressAlike(site testbed.Site, launchers int, active ...*Active) testbed.Site {
	d := dressed{Site: site, launchers: launchers}
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
