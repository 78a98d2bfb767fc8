package runner

import (
	"cmp"
	"context"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// observation holds CPU time, conditions and resources observed while a trial was measured: over the
// whole trial, or over one or several slices.
type observation struct {
	wall    time.Duration
	used    account
	sample  testbed.Sample
	shared  []testbed.Resource
	stopped string // the interruption; "": there was none
}

// watch runs a part of a trial and observes it. limited is the part's time limit. The wall-clock time
// excludes the observation itself.
func (r *run) watch(ctx, limited context.Context, p *armSite, measured func(context.Context) error) (s observation, err error) {
	before, err := p.account()
	if err != nil {
		return s, err
	}
	meter := testbed.StartMeter(limited, p.bare)
	if err := r.Sampler.Start(limited, p.bare); err != nil {
		return s, err
	}
	pauses := watchPauses()
	start := time.Now()
	measuredErr := measured(limited)
	s.wall = time.Since(start)
	after, err := p.account()
	s.stopped = pauses.end()
	if err != nil {
		return s, err
	}
	s.used = after.since(before)
	// Conditions are sampled even if the trial ran into its limit.
	sampled, cancel := context.WithTimeout(ctx, samplingLimit)
	defer cancel()
	s.sample, err = r.Sampler.Stop(sampled, s.used.total())
	s.shared = meter(sampled)
	return s, cmp.Or(measuredErr, err)
}

// plus joins the observations of two periods of a trial; o is the later one.
func (s observation) plus(o observation) observation {
	return observation{
		wall: s.wall + o.wall, used: s.used.plus(o.used),
		sample:  s.sample.Joined(o.sample, s.wall, o.wall),
		shared:  testbed.Joined(s.shared, o.shared),
		stopped: cmp.Or(s.stopped, o.stopped),
	}
}

// record adds the observation to a trial, and returns the cost of the trial's layers.
func (s observation) record(t *journal.Trial) cost {
	t.Wall, t.Harness.CPU = s.wall, s.used.own
	if s.stopped != "" {
		violate(t, workload.RuleStopped, s.stopped+" during the trial")
	}
	t.Conditions, t.Resources = s.sample.Conditions, s.shared
	for name, o := range s.sample.Observed {
		values := map[string]float64{experiment.ObservedMemory(name): float64(o.Memory)}
		if o.Wall > 0 {
			values[experiment.ObservedCPU(name)] = o.CPU.Seconds() / o.Wall.Seconds()
		}
		addValues(t, values)
	}
	return s.cost()
}
