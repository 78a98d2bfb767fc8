package layer

import (
	"context"

	"tare/testbed"
)

// dressed is a site whose commands under test go through the layers' wrappers.
type dressed struct {
	testbed.Site
	wrappers []func(testbed.Command) testbed.Command
}

// Unwrap gives the site without the wrappers.
func (d dressed) Unwrap() testbed.Site { return d.Site }

// Start starts a command, in the wrappers if it is one under test.
func (d dressed) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if cmd.Subject {
		for _, wrap := range d.wrappers {
			cmd = wrap(cmd)
		}
	}
	return d.Site.Start(ctx, where, cmd)
}

// Dress gives the site as the workload of an arm sees it: commands under test go
// through the wrappers of the active layers, the first layer innermost.
func Dress(site testbed.Site, active ...*Active) testbed.Site {
	d := dressed{Site: site}
	for _, a := range active {
		if a.Wrap != nil {
			d.wrappers = append(d.wrappers, a.Wrap)
		}
	}
	if d.wrappers == nil {
		return site
	}
	return d
}
