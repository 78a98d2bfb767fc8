package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// slicedWorkload is a workload whose slices are a given function. Each slice is recorded with its arm, which the
// trial's site names.
type slicedWorkload struct {
	*fakeWorkload
	log   *[]string
	slice func(ctx context.Context, arm string, i int) error
}

func (w *slicedWorkload) Measures() experiment.Measures {
	m := w.fakeWorkload.Measures()
	m.Slice = &experiment.Slice{}
	return m
}

func (w *slicedWorkload) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	arm := t.Site.(*watchedSite).Site.(namedSite).arm
	*w.log = append(*w.log, "prepare "+arm)
	t.Clear = w.clear
	return &slicedTrial{w: w, arm: arm, ctx: ctx}, nil
}

type slicedTrial struct {
	w   *slicedWorkload
	arm string
	ctx context.Context
}

func (s *slicedTrial) Run(ctx context.Context, i int) error {
	*s.w.log = append(*s.w.log, fmt.Sprintf("%s %d", s.arm, i))
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("the trial's context is done between slices: %w", err)
	}
	if s.w.slice != nil {
		return s.w.slice(ctx, s.arm, i)
	}
	return nil
}

func (s *slicedTrial) Finish(context.Context) (workload.Result, error) {
	*s.w.log = append(*s.w.log, "finish "+s.arm)
	return good(), nil
}

// armBed gives each arm a site that knows the arm's name.
type armBed struct{ fakeBed }

func (armBed) Open(_ context.Context, want testbed.Request) (testbed.Site, error) {
	return namedSite{arm: want.Name}, nil
}

type namedSite struct {
	fakeSite
	arm string
}

// turnSampler samples a machine of one CPU, for a second each time.
type turnSampler struct {
	at    string
	busy  map[string][]time.Duration // CPU time of other programs in the samples of an arm
	calls []string
}

func (s *turnSampler) Start(_ context.Context, site testbed.Site) error {
	s.at = site.(namedSite).arm
	s.calls = append(s.calls, s.at)
	return nil
}

func (s *turnSampler) Stop(context.Context, time.Duration) (testbed.Sample, error) {
	spent := machine.Activity{Wall: time.Second, Totals: machine.Totals{CPUs: 1, Waiting: -1}, Throttled: 1}
	if list := s.busy[s.at]; len(list) > 0 {
		spent.Busy, s.busy[s.at] = list[0], list[1:]
	}
	return testbed.Sample{Conditions: spent.Conditions(), Machine: &spent,
		Observed: map[string]testbed.Observed{"istiod": {CPU: time.Second, Wall: 2 * time.Second, Memory: int64(len(s.calls))}}}, nil
}

// cut is an experiment of one round whose trials have four slices.
func cut(t *testing.T, layers ...*fakeLayer) (*slicedWorkload, *experiment.Expansion, *journal.Journal, Options) {
	t.Helper()
	w := &slicedWorkload{fakeWorkload: &fakeWorkload{}, log: new([]string)}
	x := expand(w.fakeWorkload, layers...)
	x.Cells[0].Workload = w
	x.Plan.Rounds, x.Plan.Cells[0].Slices = 1, 4
	j := record(t, x)
	o := options(x, j)
	o.Testbed = armBed{}
	return w, x, j, o
}

// names are the arms of the first round in their order.
func names(x *experiment.Expansion) (arms []string) {
	for _, step := range x.Plan.Order(1) {
		arms = append(arms, x.Plan.Arms[step.Arm].Name)
	}
	return arms
}

// All arms have their proofs and preparation before the first slice. They alternate in mirrored order, end, and have
// their proofs again. Then all trials are recorded.
func TestArmsTakeTurns(t *testing.T) {
	var log []string
	l := &fakeLayer{log: new([]string), name: "l"}
	l.change = func(a *layer.Active) {
		before, after := a.Before, a.After
		a.Before = func(ctx context.Context, s testbed.Site) ([]layer.Check, error) {
			log = append(log, "before")
			return before(ctx, s)
		}
		a.After = func(ctx context.Context, did layer.Did) ([]layer.Check, error) {
			log = append(log, "after")
			return after(ctx, did)
		}
	}
	w, x, j, o := cut(t, l)
	w.log = &log
	w.clear = func(context.Context) error { log = append(log, "clear"); return nil }
	o.Events = func(e Event) {
		switch e := e.(type) {
		case BlockStarted:
			log = append(log, fmt.Sprintf("block of %s in %d slices", strings.Join(e.Arms, ","), e.Slices))
		case TrialDone:
			log = append(log, "done "+e.Trial.Arm)
		}
	}
	finish(t, o)
	a := names(x)
	want := []string{"block of " + strings.Join(a, ",") + " in 4 slices", "before"}
	all := func(format string, arms []string) {
		for _, arm := range arms {
			want = append(want, fmt.Sprintf(format, arm))
		}
	}
	reverse := slices.Clone(a)
	slices.Reverse(reverse)
	all("prepare %s", a)
	all("%s 0", a)
	all("%s 1", reverse)
	all("%s 2", a)
	all("%s 3", reverse)
	for _, arm := range a {
		want = append(want, "finish "+arm)
		if arm == "arm" {
			want = append(want, "after")
		}
	}
	all("done %s", a)
	want = append(want, "clear", "clear", "clear")
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	for i, trial := range j.Trials() {
		if !trial.Valid() || trial.Slices != 4 || trial.Attempt != 1 || trial.Position != i+1 || trial.Arm != a[i] || trial.Values["speed"] != 5 {
			t.Errorf("trial %d: %+v", i, trial)
		}
		if trial.Arm == "arm" && len(trial.Checks) != 3 {
			t.Errorf("checks %+v, want those of the set-up, before and after", trial.Checks)
		}
	}
}

// The duration, CPU time and conditions of a trial are those of its own slices. A share is computed from sums: 0.3 s
// of other programs in one of four slices of a second are 7.5 %.
func TestSlicesAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLayer{log: new([]string), name: "l", costs: []layer.Cost{{Part: "p", CPU: time.Second, Memory: 7}}}
		w, _, j, o := cut(t, l)
		w.slice = func(_ context.Context, arm string, _ int) error {
			if arm == "arm" {
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}
		s := &turnSampler{busy: map[string][]time.Duration{"control": {0, 300 * time.Millisecond}}}
		o.Sampler = s
		finish(t, o)
		if len(s.calls) != 12 {
			t.Errorf("%d samples, want one a slice: %v", len(s.calls), s.calls)
		}
		for _, trial := range j.Trials() {
			foreign := map[string]float64{"control": 0.075}[trial.Arm]
			if c := trial.Conditions; !trial.Valid() || c.ForeignCPU != foreign || c.Throttled != 4 {
				t.Errorf("%s: %+v, %+v", trial.Arm, c, trial.Invalid)
			}
			if got := trial.Values[experiment.ObservedCPU("istiod")]; got != 0.5 {
				t.Errorf("%s: an observed component uses %v CPUs, want 0.5", trial.Arm, got)
			}
			if trial.Arm != "arm" {
				continue
			}
			if trial.Wall != 20*time.Millisecond {
				t.Errorf("wall %v, want that of four slices of 5 ms", trial.Wall)
			}
			// The layer's part uses a second between two readings. Each slice has two readings.
			if got := trial.Used["l:p"]; got.User != 4*time.Second || got.MaxRSS != 7 || got.Wall != trial.Wall {
				t.Errorf("the layer used %+v, want 4 s", got)
			}
		}
	})
}

// A trial that breaks a rule ends at once, and the other arms continue. The observed behaviour of its program is
// kept.
func TestBrokenSlice(t *testing.T) {
	w, x, j, o := cut(t)
	w.slice = func(_ context.Context, arm string, i int) error {
		if arm == "arm" && i == 1 {
			return &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
		}
		return nil
	}
	finish(t, o)
	var want []string
	for _, arm := range names(x) {
		line := "1 " + arm + " 1"
		if arm == "arm" {
			line += " exit-status"
		}
		want = append(want, line)
	}
	if diff := cmp.Diff(want, sequence(j.Trials())); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	count := map[string]int{}
	for _, line := range *w.log {
		arm, _, _ := strings.Cut(line, " ")
		count[arm]++
	}
	if count["arm"] != 2 || count["plain"] != 4 || count["control"] != 4 || count["finish"] != 2 {
		t.Errorf("what ran: %v", *w.log)
	}
}

// If the machine spoils the trial of one arm, all arms repeat the block, so that pairs share their slices.
func TestSpoiltBlockIsRunAgain(t *testing.T) {
	_, x, j, o := cut(t)
	o.Sampler = &turnSampler{busy: map[string][]time.Duration{"control": {time.Second, time.Second, time.Second}}}
	var rests int
	o.Events = func(e Event) {
		if _, ok := e.(Resting); ok {
			rests++
		}
	}
	o.Pause = time.Microsecond
	finish(t, o)
	var want []string
	for attempt := 1; attempt <= 2; attempt++ {
		for _, arm := range names(x) {
			line := fmt.Sprintf("1 %s %d", arm, attempt)
			if arm == "control" && attempt == 1 {
				line += " foreign-cpu"
			}
			want = append(want, line)
		}
	}
	if diff := cmp.Diff(want, sequence(j.Trials())); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	if got := j.Trials()[5].Position; got != 6 || rests != 1 {
		t.Errorf("last position %d, %d rests; want 6 and 1", got, rests)
	}
}

// The time limit of a trial covers its own slices, and not the slices of other arms. A trial over its limit breaks a
// rule.
func TestLimitOfASlicedTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, j, o := cut(t)
		w.bound = 300 * time.Millisecond
		w.slice = func(ctx context.Context, arm string, i int) error {
			if arm == "arm" && i == 1 {
				<-ctx.Done() // the other arms wait for longer than their own limit
				return ctx.Err()
			}
			return nil
		}
		finish(t, o)
		for _, trial := range j.Trials() {
			var got string
			for _, v := range trial.Invalid {
				got += v.Rule + ": " + v.Detail
			}
			want := map[string]string{"arm": "timeout: slice 2 was not done when the trial had run for 300ms, which is its limit"}[trial.Arm]
			if got != want {
				t.Errorf("%s: %q, want %q", trial.Arm, got, want)
			}
		}
	})
}

// A run that is interrupted within a block records nothing of this block. When resumed, it repeats the block with all
// arms.
func TestInterruptedBlockBeginsAnew(t *testing.T) {
	w, x, j, o := cut(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.slice = func(ctx context.Context, arm string, i int) error {
		if i == 2 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	if err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that the context was cancelled", err)
	}
	if got := j.Trials(); len(got) != 0 {
		t.Fatalf("%d trials of an interrupted block are on record", len(got))
	}
	// The journal was cut off between two trials of one block.
	first := journal.Trial{Round: 1, Attempt: 1, Position: 1, Cell: "fake", Arm: names(x)[0], Slices: 4, Values: good().Values}
	if err := j.Append(&first); err != nil {
		t.Fatal(err)
	}
	w.slice = nil
	x.Plan.Attempts = 1
	finish(t, o)
	want := []string{"1 " + names(x)[0] + " 1"}
	for _, arm := range names(x) {
		want = append(want, "1 "+arm+" 2")
	}
	if diff := cmp.Diff(want, sequence(j.Trials())); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
}

// Arms cannot alternate by slices if a layer is on for all of them.
func TestSwitchedLayerCannotBeSliced(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	_, _, j, o := cut(t, &fakeLayer{log: new([]string), name: "l", switched: &layer.Switch{On: nothing, Off: nothing}})
	err := Run(t.Context(), o)
	const want = "arm arm, round 1: trials cannot be cut into slices: the layer l is turned on and off for all arms between trials"
	if err == nil || err.Error() != want || len(j.Trials()) != 0 {
		t.Errorf("%v, %d trials; want %s", err, len(j.Trials()), want)
	}
}

// An arm whose proof fails runs no slices, and its block is repeated.
func TestUnprovedArmTakesNoTurn(t *testing.T) {
	asked := 0
	l := &fakeLayer{log: new([]string), name: "l", proof: func() []layer.Check {
		asked++
		return []layer.Check{{Layer: "l", Name: "on", OK: asked > 1}}
	}}
	w, _, j, o := cut(t, l)
	finish(t, o)
	turns := 0
	for _, line := range *w.log {
		if strings.HasPrefix(line, "arm ") {
			turns++
		}
	}
	if len(j.Trials()) != 6 || turns != 4 {
		t.Errorf("%v; %d turns of the arm, want 4", sequence(j.Trials()), turns)
	}
}
