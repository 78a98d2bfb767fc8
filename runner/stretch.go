package runner

import (
	"cmp"
	"context"
	"time"

	"tare/journal"
	"tare/testbed"
	"tare/workload"
)

// stretch is what was seen while a trial was measured: over the whole of it, or over one or
// several slices.
type stretch struct {
	wall    time.Duration
	used    account
	sample  testbed.Sample
	shared  []testbed.Resource
	stopped string // what interrupted it; "": nothing did
}

// watch measures part of a trial at a place, which has until limited is done, and sees what
// else happens meanwhile. Looking is no part of the wall clock.
func (r *run) watch(ctx, limited context.Context, p *place, measured func(context.Context) error) (s stretch, err error) {
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
	// A trial that ran into its limit has conditions, too.
	sampled, cancel := context.WithTimeout(ctx, samplingLimit)
	defer cancel()
	s.sample, err = r.Sampler.Stop(sampled, s.used.total())
	s.shared = meter(sampled)
	return s, cmp.Or(measuredErr, err)
}

// plus is what was seen over two stretches of a trial, of which o is the later.
func (s stretch) plus(o stretch) stretch {
	return stretch{
		wall: s.wall + o.wall, used: s.used.plus(o.used),
		sample:  s.sample.Joined(o.sample, s.wall, o.wall),
		shared:  testbed.Joined(s.shared, o.shared),
		stopped: cmp.Or(s.stopped, o.stopped),
	}
}

// record enters what was seen into a trial, and gives what its layers cost.
func (s stretch) record(t *journal.Trial) cost {
	t.Wall, t.Harness.CPU = s.wall, s.used.own
	if s.stopped != "" {
		violate(t, workload.RuleStopped, s.stopped+" during the trial")
	}
	t.Conditions, t.Resources = s.sample.Conditions, s.shared
	note(t, s.sample.Observed)
	return costOf(s.used, s.sample, s.wall)
}
