package xds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/workload"
	"tare/workload/staircase"
)

// Objective is what a server must do for it to carry so many sidecars: all are ready in time, each change then reaches
// all of them in time, and no stream ends until the last change has.
type Objective struct {
	Ready quantity.Duration `yaml:"ready" json:"ready" required:"true" doc:"how long after the last sidecar was due all must be ready"`
	Push  quantity.Duration `yaml:"push" json:"push" required:"true" doc:"how long a change may take until the last sidecar has it"`
	Most  int               `yaml:"most" json:"most,omitempty" min:"0" max:"100000" doc:"most sidecars that are tried; 16 times sidecars if absent. Twice what was found is tried at the end"`
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
			errs.Add(fmt.Sprintf("sidecars[%d]", i), "%d is more than the %d of objective.most", n, c.Objective.most(n))
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
	readyBeyond = "ready-beyond" // sidecars that are ready in time of twice the capacity, as a share of the capacity

	usualTries = 12
	finest     = 1.1 // factor between tries at the end
	overload   = 2   // times its capacity, at which collapse is looked for
)

// metrics are those of a search.
func (o *Objective) metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: capacity, Unit: "sidecars", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio, Objective: o.String()},
		{Name: readyBeyond, Better: experiment.Higher, Scale: experiment.Difference, Discrete: true, Optional: true},
	}
}

// longestTry is how long a try with n sidecars takes, if it is carried.
func (c *Config) longestTry(n int) time.Duration {
	come := time.Duration(float64(n) / float64(c.Rate.One()) * float64(time.Second))
	return come + c.Objective.Ready.Std() + time.Duration(c.times())*max(c.Change.every(), c.Objective.Push.Std()) + 2*c.Settle.Std() + time.Second
}

// search is how a capacity is searched in a round. It begins at a place that is drawn in each round, alike for
// all arms: from one place all searches would try the same few numbers, and end at one of them.
func (c *Config) search(round int) staircase.Search {
	n := float64(c.Sidecars.One())
	draw := rand.New(rand.NewPCG(uint64(round), 0))
	return staircase.Search{
		First: n * math.Pow(finest, draw.Float64()-0.5), Least: float64(c.Clients.One()), Most: float64(c.Objective.most(int(n))),
		Finest: finest, Turns: 4, Unit: "sidecars",
	}
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
	Heap     int64   `json:"serverHeap,omitempty"`   // in use when all were ready, B

	Resources []testbed.Resource `json:"resources,omitempty"`

	bytes uint64
	used  map[string]testbed.Usage
}

// capacity measures by a search how many sidecars the server carries. What clients and server used is that of
// the first try, which has about as many sidecars in every arm.
func (r *trial) capacity(ctx context.Context) (workload.Result, error) {
	var tries []*tried
	try := func(load float64) (*tried, error) {
		t := &tried{Sidecars: int(math.Round(load))}
		tries = append(tries, t)
		err := r.try(ctx, len(tries), t)
		if err != nil {
			t.Why = err.Error()
		}
		return t, err
	}
	search := r.config.search(r.t.Round)
	found, err := search.Find(func(load float64) (bool, error) {
		t, err := try(load)
		return t.Why == "", err
	})
	if missing := staircase.NotFoundError(""); errors.As(err, &missing) {
		err = workload.Invalidf(workload.RuleRate, "the search for the capacity: %v", err)
	}
	var result workload.Result
	if err == nil {
		result.Values = map[string]float64{capacity: found}
		result.Used, result.Work, result.Sent = tries[0].used, float64(tries[0].Ready), tries[0].bytes
		for _, t := range tries[max(0, len(tries)-search.Turns):] { // near the capacity
			result.Resources = testbed.Joined(result.Resources, t.Resources)
		}
		var beyond *tried
		beyond, err = try(overload * found)
		if late := (*workload.Invalid)(nil); errors.As(err, &late) && late.Rule == workload.RuleLate {
			err = nil // the capacity was found; the overload left nothing for the generator
		} else if err == nil {
			result.Values[readyBeyond] = float64(beyond.Ready) / found
		}
	}
	text, e := json.MarshalIndent(tries, "", "  ")
	if e == nil {
		e = workload.Keep(r.t.Raw, "search.json", append(text, '\n'))
	}
	return result, errors.Join(err, e)
}

// try tries whether so many sidecars are carried. The server has come to rest before they come, and after it.
func (r *trial) try(ctx context.Context, number int, t *tried) error {
	if err := r.configure(ctx, t.Sidecars); err != nil {
		return err
	}
	if err := r.start(ctx, t.Sidecars); err != nil {
		return err
	}
	count, err := r.count()
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
	if t.used, err = count(); err != nil {
		return err
	}
	t.CPU, t.Memory = t.used["server"].CPU().Seconds(), r.peak
	return r.clear(ctx)
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
	if err := r.config.onTime(r.t, up); err != nil {
		return err
	}
	if t.Ready < t.Sidecars {
		t.Why = fmt.Sprintf("not ready %v after the last was due: %s", o.Ready, up.missing())
		return nil
	}
	lost := counts.Lost
	for p, err := range r.changes(ctx, o.Push.Std()) {
		if err != nil {
			return err
		}
		counts, _, last := p.sum()
		t.bytes += uint64(counts.Bytes)
		switch reached := len(p.times()); {
		case counts.Lost > lost:
			t.Why = fmt.Sprintf("%d streams ended after all were ready: %s", counts.Lost-lost, p.missing())
		case reached < t.Sidecars:
			t.Why = fmt.Sprintf("%s had not reached all after %v: %s", p.Name, o.Push, p.missing())
		default:
			t.Push = max(t.Push, last.Seconds())
		}
		if t.Why != "" {
			break
		}
	}
	return nil
}
