package cli

import (
	"context"
	"fmt"
	"reflect"

	"tare/internal/experiment"
	"tare/internal/run/machine"
	"tare/internal/run/runner"
	"tare/internal/version"
)

// checkBusy measures how busy this machine is before the experiment is planned. If the machine is too busy for
// Tare's default limits, these are lifted, and the limits in the file stay. A message reports either case.
func checkBusy(ctx context.Context, s State, x *experiment.Experiment, planned *experiment.Expansion, quiet bool) (*experiment.Expansion, error) {
	fewer := x.WithoutDefaultLimits()
	if x.Testbed.LimitsCPU() || reflect.DeepEqual(fewer, x.Limits) { // on a cluster, the machines of the trials are not known yet
		return planned, nil
	}
	busy, still, err := runner.Look(ctx, runner.ThisMachine{Sampler: machine.NewSampler()}, nil, x.Limits, fewer)
	if err != nil || busy == "" {
		return planned, err
	}
	text := fmt.Sprintf("this machine is busy (%s), and a limit in the file stays in force: trials beyond it are repeated, and the run waits for the machine for up to %s in total. The valid trials until then give the result", still, span(patience))
	if still == "" {
		x.GoOnBusy(busy)
		if planned, err = experiment.Expand(x, version.String()); err != nil {
			return nil, err
		}
		text = fmt.Sprintf("this machine is busy (%s). Tare measures nevertheless: it lifts its default limits on this, alternates the arms by slices if the workload can be cut, and also gives verdicts on CPU time if it is measured. The load makes intervals wider", busy)
	}
	if !quiet {
		fmt.Fprintf(s.Stderr, "%s\n", text)
	}
	return planned, nil
}
