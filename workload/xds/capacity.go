package xds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/workload"
	"tare/workload/staircase"
)

// Objective is what a server must do for it to carry so many sidecars: all are ready in time, no stream ends
// after that, and each change reaches all of them in time.
type Objective struct {
	Ready quantity.Duration `yaml:"ready" json:"ready" required:"true" doc:"how long after the last sidecar was due all must be ready"`
	Push  quantity.Duration `yaml:"push" json:"push" required:"true" doc:"how long a change may take until the last sidecar has it"`
	Most  int               `yaml:"most" json:"most,omitempty" min:"0" max:"100000" doc:"most sidecars that are tried; 16 times sidecars if absent"`
}

// String writes the limits: "ready ≤ 5 s, push ≤ 2 s".
func (o *Objective) String() string {
	return staircase.AtMost("ready", o.Ready) + ", " + staircase.AtMost("push", o.Push)
}

// most is the most sidecars that are tried from n on.
func (o *Objective) most(n int) int {
	if o.Most > 0 {
		return o.Most
	}
	return min(16*n, mostSidecars)
}

func (c *Config) validateObjective(errs *experiment.FieldErrors) {
	within(errs, "objective.ready", c.Objective.Ready, 100*time.Millisecond)
	within(errs, "objective.push", c.Objective.Push, 10*time.Millisecond)
	if c.Change == nil {
		errs.Add("objective", "there is no change: what a push takes is part of it")
	}
	for i, n := range c.Sidecars {
		if n > c.Objective.most(n) {
			errs.Add(fmt.Sprintf("sidecars[%d]", i), "%d is more than the %d of objective.most", n, c.Objective.Most)
		}
	}
	for i, share := range c.Churn {
		if share > 0 {
			errs.Add(fmt.Sprintf("churn[%d]", i), "a search has all sidecars come at each try: none is churned")
		}
	}
}

const (
	capacity    = "capacity"
	readyBeyond = "ready-beyond" // share of the sidecars that is ready in time beyond the capacity

	usualTries = 12
	overload   = 2 // times its capacity, at which collapse is looked for
)

// metrics are those of a search.
func (o *Objective) metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: capacity, Unit: "sidecars", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: o.String()},
		{Name: readyBeyond, Better: experiment.Higher, Scale: experiment.Difference, Discrete: true},
	}
}

// longestTry is how long a try with n sidecars takes, if it is carried.
func (c *Config) longestTry(n int) time.Duration {
	come := time.Duration(float64(n) / float64(c.Rate.One()) * float64(time.Second))
	return come + c.Objective.Ready.Std() + time.Duration(c.times())*max(c.Change.every(), c.Objective.Push.Std()) + c.Settle.Std() + time.Second
}

// capacity measures by a search how many sidecars the server carries.
func (r *trial) capacity(ctx context.Context) (workload.Result, error) {
	o, n := r.config.Objective, r.config.Sidecars.One()
	search := staircase.Search{First: float64(n), Least: float64(r.config.Clients.One()), Most: float64(o.most(n)), Finest: 1.1, Turns: 4, Unit: "sidecars"}
	result := workload.Result{Values: map[string]float64{}, Used: map[string]testbed.Usage{}}
	var tries []*tried
	try := func(load float64) (*tried, error) {
		t := &tried{Sidecars: int(math.Round(load))}
		used, err := r.try(ctx, len(tries)+1, t)
		if err != nil {
			return nil, err
		}
		tries = append(tries, t)
		for part, u := range used {
			sum := result.Used[part]
			result.Used[part] = testbed.Usage{User: sum.User + u.User, System: sum.System + u.System, Wall: sum.Wall + u.Wall,
				MaxRSS: max(sum.MaxRSS, u.MaxRSS), Unavailable: sum.Unavailable || u.Unavailable}
		}
		result.Work, result.Sent = result.Work+float64(t.Ready), result.Sent+t.bytes
		return t, nil
	}
	found, err := search.Find(func(load float64) (bool, error) {
		t, err := try(load)
		return err == nil && t.Why == "", err
	})
	if missing := staircase.NotFoundError(""); errors.As(err, &missing) {
		err = workload.Invalidf(workload.RuleRate, "the search for the capacity: %v", err)
	}
	if err == nil {
		var beyond *tried
		if beyond, err = try(overload * found); err == nil {
			result.Values[capacity], result.Values[readyBeyond] = found, float64(beyond.Ready)/float64(beyond.Sidecars)
		}
	}
	text, e := json.MarshalIndent(tries, "", "  ")
	if err := errors.Join(e, workload.Keep(r.t.Raw, "search.json", append(text, '\n'))); err != nil {
		return workload.Result{}, err
	}
	return result, err
}

// tried is one try of a search, as it is kept with the trial.
type tried struct {
	Sidecars int     `json:"sidecars"`
	Why      string  `json:"why,omitempty"`          // they were not carried
	Ready    int     `json:"ready"`                  // sidecars that were in time
	Took     float64 `json:"took"`                   // until the last of them was, s
	Push     float64 `json:"push"`                   // of the changes that reached all, the one that took longest, s
	CPU      float64 `json:"serverCPU,omitempty"`    // s
	Memory   int64   `json:"serverMemory,omitempty"` // the most that was resident, B
	Heap     int64   `json:"serverHeap,omitempty"`   // in use when all were ready, or the time was over, B

	bytes uint64
}

// try tries whether so many sidecars are carried. The server has come to rest before and after it.
func (r *trial) try(ctx context.Context, number int, t *tried) (map[string]testbed.Usage, error) {
	if err := r.configure(ctx, t.Sidecars); err != nil {
		return nil, err
	}
	if err := r.start(ctx, t.Sidecars); err != nil {
		return nil, err
	}
	count, err := r.count()
	if err != nil {
		return nil, err
	}
	from := len(r.stages)
	r.peak = 0
	if err := r.attempt(ctx, t); err != nil {
		return nil, err
	}
	for _, s := range r.stages[from:] {
		s.Name = fmt.Sprintf("try-%d %s", number, s.Name)
	}
	used, err := count()
	if err != nil {
		return nil, err
	}
	t.CPU, t.Memory = used["server"].CPU().Seconds(), r.peak
	return used, r.clear(ctx)
}

// attempt has all sidecars come, and the changes reach them. It ends where that fails.
func (r *trial) attempt(ctx context.Context, t *tried) error {
	o := r.config.Objective
	up, err := r.ramp(ctx, "up", t.Sidecars, true, o.Ready.Std())
	if err != nil {
		return err
	}
	counts, _, last := up.sum()
	t.Ready, t.Took, t.Heap, t.bytes = len(up.times()), last.Seconds(), up.Heap, uint64(counts.Bytes)
	if t.Ready < t.Sidecars {
		t.Why = fmt.Sprintf("not ready %v after the last was due: %s", o.Ready, up.missing())
		return r.config.onTime(up) // a generator that is late has had them come later than it says
	}
	for p, err := range r.changes(ctx, o.Push.Std()) {
		if err != nil {
			return err
		}
		counts, n, last := p.sum()
		t.bytes += uint64(counts.Bytes)
		switch {
		case len(p.times()) < n:
			t.Why = fmt.Sprintf("%s had not reached all after %v: %s", p.Name, o.Push, p.missing())
		case n < t.Sidecars || sum(counts.Errors) > 0:
			t.Why = fmt.Sprintf("streams ended after all were ready: %s", p.missing())
		default:
			t.Push = max(t.Push, last.Seconds())
		}
		if t.Why != "" {
			break
		}
	}
	return nil
}
