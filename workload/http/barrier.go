package http

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"tare/testbed"
	"tare/workload"
	"tare/workload/http/load"
)

// Several clients begin a span at one time, which their orders tell them. It is by the clock of
// each: those of a cluster's nodes are asked before a trial.

// start is a time at which all clients will know of their order, by this machine's clock; none
// for one client. How long orders take is asked each time: a busy machine needs longer.
func (r *trial) start(ctx context.Context) (time.Time, error) {
	if len(r.clients) == 1 {
		return time.Time{}, nil
	}
	asked, errs := time.Now(), make([]error, len(r.clients))
	var wait sync.WaitGroup
	for i, s := range r.clients {
		wait.Go(func() { _, errs[i] = s.give(ctx, load.ClockOrder()) })
	}
	wait.Wait()
	return time.Now().Add(max(r.lead, leastLead, 3*time.Since(asked))), errors.Join(errs...)
}

// leastLead is how long before their common start clients get their orders, at least.
const leastLead = 300 * time.Millisecond

// warmUp has all clients send without being measured. Where some got their order too late,
// they do so again, and from then on get orders earlier.
func (r *trial) warmUp(ctx context.Context) error {
	for {
		_, err := r.all(ctx, r.config.Warmup.Std(), 0)
		var invalid *workload.Invalid
		if !errors.As(err, &invalid) || invalid.Rule != workload.RuleLate || r.lead > 4*leastLead {
			return err
		}
		r.lead = 2 * max(r.lead, leastLead)
	}
}

// clock is what is known of a client's clock.
type clock struct {
	Client string        `json:"client"`
	Place  testbed.Place `json:"place"`
	// Ahead is by how much the clock is ahead of that of the machine that Tare runs on, and
	// Within how far that may be off: half the time that the answer took.
	Ahead  time.Duration `json:"ahead"`
	Within time.Duration `json:"within"`
	Used   bool          `json:"used"` // else the clocks are as good as one
}

// clocks asks several clients for the time, where they are on other machines than this one, and
// keeps what they say with the trial. Clocks that may be alike are taken to be so: nodes
// synchronise theirs better than this can see.
func (r *trial) clocks(ctx context.Context) error {
	remote, ok := testbed.As[testbed.Remote](r.t.Site)
	if !ok || len(r.clients) == 1 {
		return nil
	}
	all, errs := make([]clock, len(r.clients)), make([]error, len(r.clients))
	var wait sync.WaitGroup
	for i, s := range r.clients {
		if remote.Self(s.Where) != "" {
			wait.Go(func() { all[i], errs[i] = s.clock(ctx) })
		}
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, c := range all {
		if c.Used {
			r.clients[i].ahead = c.Ahead
		}
	}
	text, err := json.MarshalIndent(slices.DeleteFunc(all, func(c clock) bool { return c.Client == "" }), "", "  ")
	if err != nil {
		return err
	}
	return workload.Keep(r.t.Raw, "clocks.json", append(text, '\n'))
}

// clock asks a few times and takes the answer that came soonest.
func (s *session) clock(ctx context.Context) (clock, error) {
	best := clock{Client: s.Name, Place: s.Where}
	for i := range 3 {
		before := time.Now()
		answer, err := s.ask(ctx, load.ClockOrder())
		if err != nil {
			return best, err
		}
		half := time.Since(before) / 2
		now, err := load.ReadClock(answer)
		if err != nil {
			return best, err
		}
		if i == 0 || half < best.Within {
			best.Within, best.Ahead = half, now.Sub(before.Add(half).Round(0))
		}
	}
	best.Used = best.Ahead.Abs() > best.Within
	return best, nil
}
