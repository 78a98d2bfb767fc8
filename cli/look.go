package cli

import (
	"context"
	"fmt"
	"reflect"

	"tare/experiment"
	"tare/machine"
	"tare/runner"
	"tare/version"
)

// lookFirst measures how busy this machine is before the experiment is planned. If the machine is too busy for
// Tare's default limits, these are lifted, and the limits in the file stay. A message reports either case.
func lookFirst(ctx context.Context, s State, x *experiment.Experiment, planned *experiment.Expansion, quiet bool) (*experiment.Expansion, error) {
	fewer := x.Lifted()
	if x.Testbed.LimitsCPU() || reflect.DeepEqual(fewer, x.Limits) { // on a cluster, the machines of the trials are not known yet
		return planned, nil
	}
	busy, still, err := runner.Look(ctx, runner.ThisMachine{Sampler: machine.NewSampler()}, nil, x.Limits, fewer)
	if err != nil || busy == "" {
		return planned, err
	}
	text := fmt.Sprintf("this machine is busy (%s), and the file's own limit holds: trials over it are repeated, and the run waits up to %s in all for the machine. What there is by then is the answer", still, span(patience))
	if still == "" {
		x.GoOnBusy(busy)
		if planned, err = experiment.Expand(x, version.String()); err != nil {
			return nil, err
		}
		text = fmt.Sprintf("this machine is busy (%s). Tare measures on all the same: it lifts its own limits on that, has the arms take turns in slices where the workload can be cut, and judges CPU time as well where there is one. Intervals will be as wide as the load makes them", busy)
	}
	if !quiet {
		fmt.Fprintf(s.Stderr, "%s\n", text)
	}
	return planned, nil
}
