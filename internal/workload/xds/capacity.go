package xds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/staircase"
)

// Objective is the condition under which a server carries a number of sidecars: enough are ready in time, each change
// reaches enough in time, and no ready sidecar loses its stream before the last change has arrived.
type Objective struct {
	Ready Within `yaml:"ready" json:"ready" required:"true" doc:"time after the last sidecar was due by which all sidecars, or a share of them, must be ready"`
	Push  Within `yaml:"push" json:"push" required:"true" doc:"time after a change by which all ready sidecars, or a share of them, must have received it"`
	Most  int    `yaml:"most" json:"most,omitempty" min:"0" max:"100000" doc:"most sidecars that the search tries; 16 times sidecars if absent. At the end, twice the capacity found is tried"`
}

// Within is a time limit, and the least share of the sidecars that must meet it.
type Within struct {
	Share  quantity.Percent  `yaml:"share" json:"share,omitempty" above:"0%" max:"100%" doc:"least share of the sidecars that must keep to the time limit; 100% if absent"`
	Within quantity.Duration `yaml:"within" json:"within" required:"true" alone:"true" doc:"the time limit"`
}

// kept reports whether enough of n sidecars met the limit: the number inTime is at least the share Share of n (by
// default all).
func (w Within) kept(inTime, n int) bool {
	return float64(inTime) >= cmp.Or(float64(w.Share), 1)*float64(n)-1e-9
}

// limit writes the limit for people: "ready ≤ 5 s", "ready of 99.9 % ≤ 5 s".
func (w Within) limit(what string) string {
	if w.Share > 0 && w.Share < 1 {
		what += " of " + staircase.Spaced(w.Share)
	}
	return staircase.AtMost(what, w.Within)
}

// String writes the limits: "ready ≤ 5 s, push ≤ 2 s".
func (o *Objective) String() string { return o.Ready.limit("ready") + ", " + o.Push.limit("push") }

// most returns the largest number of sidecars that a search may try. Without objective.most, it is the smaller of 16
// times n and mostSidecars.
func (o *Objective) most(n int) int {
	return cmp.Or(o.Most, min(16*n, mostSidecars))
}

func (c *Config) validateObjective(errs *experiment.FieldErrors) {
	within(errs, "objective.ready.within", c.Objective.Ready.Within, 100*time.Millisecond)
	within(errs, "objective.push.within", c.Objective.Push.Within, 10*time.Millisecond)
	if c.Change == nil {
		errs.Add("objective", "there is no change: the objective includes the time of a push")
	}
	for i, n := range c.Sidecars {
		if n > c.Objective.most(n) {
			errs.Add(fmt.Sprintf("sidecars[%d]", i), "%d is more than the %d of objective.most", n, c.Objective.most(n))
		}
	}
	for i, share := range c.Churn {
		if share > 0 {
			errs.Add(fmt.Sprintf("churn[%d]", i), "in a search all sidecars connect at each try: give no churn with an objective")
		}
	}
}

const (
	capacity    = "capacity"
	readyBeyond = "ready-beyond" // sidecars ready in time at twice the capacity, as a multiple of the capacity

	overload = 2 // after the search, this multiple of the capacity is tried
)

// metrics lists the metrics of a trial that searches. Its file gives n sidecars.
func (o *Objective) metrics(n int) []experiment.Metric {
	return append([]experiment.Metric{
		{Name: capacity, Unit: "sidecars", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: o.String()},
		{Name: readyBeyond, Better: experiment.Higher, Scale: experiment.Difference, Discrete: true, Optional: true},
		{Name: readyLast, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true},
	}, workload.TimeMetrics("ready", n, quantiles)...)
}

// longestTry returns the longest duration of a try in which the server carries all n sidecars.
func (c *Config) longestTry(n int) time.Duration {
	return c.rampTime(n) + c.Objective.Ready.Within.Std() + time.Duration(c.times())*max(c.Change.every(), c.Objective.Push.Within.Std()) + 2*c.Settle.Std() + time.Second
}

// tryRecord is the record of one try of a search.
type tryRecord struct {
	Sidecars int     `json:"sidecars"`
	Why      string  `json:"why,omitempty"`          // reason why the server did not carry the sidecars; "": it carried them
	Ready    int     `json:"ready"`                  // number of sidecars that were ready in time
	P99      float64 `json:"p99,omitempty"`          // time from a sidecar's due time until it was ready, 99th percentile over all sidecars, in s
	Took     float64 `json:"took"`                   // time at which the last of the Ready sidecars was ready, in s
	Push     float64 `json:"push"`                   // longest time, in s, that a change took to reach enough sidecars
	CPU      float64 `json:"serverCPU,omitempty"`    // CPU time of the server, in s
	Memory   int64   `json:"serverMemory,omitempty"` // highest resident memory of the server, in bytes
	Heap     int64   `json:"serverHeap,omitempty"`   // heap in use when all sidecars were ready, in bytes

	Resources []testbed.Resource `json:"resources,omitempty"`

	times []time.Duration // time that each ready sidecar took to become ready
	bytes uint64
	used  map[string]testbed.Usage
}

// capacity searches for the largest number of sidecars that the server carries. The metrics of CPU, memory and times
// come from a first try, with the number in the file.
func (r *trial) capacity(ctx context.Context) (result workload.Result, err error) {
	n := r.config.Sidecars.One()
	search := staircase.Search{Fineness: staircase.Coarse, Near: float64(n), Least: float64(r.config.Clients.One()), Most: float64(r.config.Objective.most(n)), Unit: "sidecars"}
	record := staircase.Record[*tryRecord]{Began: search.First(r.t.Seed)}
	try := func(load float64) (*tryRecord, error) {
		t := &tryRecord{Sidecars: int(math.Round(load))}
		record.Tries = append(record.Tries, t)
		err := r.try(ctx, len(record.Tries), t)
		if err != nil {
			t.Why = err.Error()
		}
		return t, err
	}
	usual, err := try(float64(n))
	found := 0.0
	if err == nil {
		found, err = search.Find(r.t.Seed, func(load float64) (bool, error) {
			t, err := try(load)
			return t.Why == "", err
		})
	}
	if err == nil {
		result.Values = map[string]float64{capacity: found}
		// the loads of the last tries are near the capacity, so only their resources count
		for _, t := range record.Tries[max(0, len(record.Tries)-search.Turns):] {
			result.Resources = testbed.Joined(result.Resources, t.Resources)
		}
		result.Used, result.Work, result.Sent = usual.used, float64(usual.Ready), usual.bytes
		if addDistribution(result.Values, "ready", usual.times, n); usual.Ready == n {
			result.Values[readyLast] = usual.Took
		}
		var beyond *tryRecord
		beyond, err = try(overload * found)
		if late, ok := errors.AsType[*workload.Invalid](err); ok && late.Rule == workload.RuleLate {
			err = nil // the generator was too slow for the overload alone: the capacity is still known
		} else if err == nil {
			result.Values[readyBeyond] = float64(beyond.Ready) / found
		}
	}
	return result, errors.Join(err, workload.KeepIndented(r.t.Raw, "search.json", record))
}

// try connects as many sidecars as t says, and records whether the server carried them. try begins and ends with a wait
// for the server to come to rest.
func (r *trial) try(ctx context.Context, number int, t *tryRecord) error {
	if err := r.configure(ctx, t.Sidecars); err != nil {
		return err
	}
	if err := r.start(ctx, t.Sidecars); err != nil {
		return err
	}
	usage, err := r.parts().Begin()
	if err != nil {
		return err
	}
	from := len(r.stages)
	defer func() {
		t.Resources = r.shared
		for _, s := range r.stages[from:] {
			s.Name = fmt.Sprintf("try-%d %s", number, s.Name)
		}
	}()
	r.peak, r.shared = 0, nil
	if err := r.attempt(ctx, t); err != nil {
		return err
	}
	if t.used, err = usage(); err != nil {
		return err
	}
	t.CPU, t.Memory = t.used["server"].CPU().Seconds(), r.peak
	return r.clear(ctx)
}

// attempt connects all sidecars, and then changes the configuration. It stops as soon as the objective is missed.
func (r *trial) attempt(ctx context.Context, t *tryRecord) error {
	o := r.config.Objective
	up, err := r.ramp(ctx, "up", t.Sidecars, true, o.Ready.Within.Std())
	if err != nil {
		return err
	}
	counts, _, last := up.sum()
	t.times = up.times()
	slices.Sort(t.times)
	t.Ready, t.Took, t.Heap, t.bytes = len(t.times), last.Seconds(), up.Heap, uint64(counts.Bytes)
	if p99, ok := timeAt(0.99, t.times, t.Sidecars); ok {
		t.P99 = p99.Seconds()
	}
	if err := r.config.onTime(r.t, up); err != nil {
		return err
	}
	if !o.Ready.kept(t.Ready, t.Sidecars) {
		t.Why = fmt.Sprintf("not ready %v after the last was due: %s", o.Ready.Within, up.missing())
		return nil
	}
	lost := counts.Lost
	for p, err := range r.changes(ctx, o.Push.Within.Std()) {
		if err != nil {
			return err
		}
		counts, expected, last := p.sum()
		t.bytes += uint64(counts.Bytes)
		switch reached := len(p.times()); {
		case counts.Lost > lost:
			t.Why = fmt.Sprintf("%d streams ended after all were ready: %s", counts.Lost-lost, p.missing())
		case !o.Push.kept(reached, expected):
			t.Why = fmt.Sprintf("%s had not reached enough sidecars after %v: %s", p.Name, o.Push.Within, p.missing())
		default:
			t.Push = max(t.Push, last.Seconds())
		}
		if t.Why != "" {
			break
		}
	}
	return nil
}
