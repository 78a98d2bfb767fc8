package layer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/testbed"
)

// dressed is a site whose commands under test go through the layers' wrappers.
type dressed struct {
	testbed.Site
	wrappers []*Active // those with a Wrap
}

// Unwrap gives the site without the wrappers.
func (d dressed) Unwrap() testbed.Site { return d.Site }

// Start starts a command, in the wrappers if it is one under test.
func (d dressed) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if !cmd.Subject {
		return d.Site.Start(ctx, where, cmd)
	}
	wrapped, err := d.Wrapped(where, cmd)
	if err != nil {
		return nil, err
	}
	return d.Site.Start(ctx, where, wrapped)
}

// Wrapped is what is started in place of a command under test.
func (d dressed) Wrapped(where testbed.Place, cmd testbed.Command) (testbed.Command, error) {
	wrapped := d.wrap(where, cmd)
	if wrapped.Args[0] == cmd.Args[0] {
		return wrapped, nil
	}
	self, err := plain(cmd) // something stands in front
	if err != nil {
		return cmd, err
	}
	return d.wrap(where, self), nil
}

func (d dressed) wrap(where testbed.Place, cmd testbed.Command) testbed.Command {
	for _, a := range d.wrappers {
		if a.Around.Holds(where) {
			cmd = a.Wrap(cmd)
		}
	}
	return cmd
}

// plain makes a process of Tare's own (testbed.HelperCommand) a command that works behind
// any other. /proc/self/exe would be the command in front, and is written out; the
// variable by which Tare knows what it was started for is set by env, behind a command
// that may clear the environment, as many sandboxes do.
func plain(cmd testbed.Command) (testbed.Command, error) {
	others := func(v string) bool { return !strings.HasPrefix(v, testbed.HelperVariable+"=") }
	variables := slices.DeleteFunc(slices.Clone(cmd.Env), others)
	if len(variables) == 0 {
		return cmd, nil
	}
	program := cmd.Args[0]
	if program == "/proc/self/exe" {
		var err error
		if program, err = os.Executable(); err != nil {
			return cmd, fmt.Errorf("the path of this program: %w", err)
		}
	}
	cmd.Args = slices.Concat([]string{"env"}, variables, []string{program}, cmd.Args[1:])
	return cmd, nil
}

// Dress gives the site as the workload of an arm sees it: commands under test go
// through the wrappers of the active layers, the first layer innermost. It holds what the
// layers do.
func Dress(site testbed.Site, active ...*Active) testbed.Site {
	d := dressed{Site: site}
	var held []any
	for _, a := range active {
		if a.Wrap != nil {
			d.wrappers = append(d.wrappers, a)
		}
		if a.Holds != nil {
			held = append(held, a.Holds)
		}
	}
	if d.wrappers != nil {
		site = d
	}
	if held != nil {
		site = testbed.Holding(site, held...)
	}
	return site
}
