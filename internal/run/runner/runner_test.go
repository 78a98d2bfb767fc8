package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// sequence writes the trials of a run as "round arm attempt rule".
func sequence(trials []journal.Trial) []string {
	var s []string
	for _, t := range trials {
		line := fmt.Sprintf("%d %s %d", t.Round, t.Arm, t.Attempt)
		for _, v := range t.Invalid {
			line += " " + v.Rule
		}
		s = append(s, line)
	}
	return s
}

func TestRunFollowsThePlan(t *testing.T) {
	load := &fakeWorkload{}
	x := expand(load)
	j := finished(t, x)
	var want []string
	var seeds []uint64
	for round := 1; round <= 3; round++ {
		for _, step := range x.Plan.Order(round) {
			seeds = append(seeds, x.Plan.TrialSeed(round, step))
			want = append(want, fmt.Sprintf("%d %s 1", round, x.Plan.Arms[step.Arm].Name))
		}
	}
	if diff := cmp.Diff(want, sequence(j.Trials())); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(seeds, load.seeds); diff != "" {
		t.Errorf("seeds of trials (-want +got):\n%s", diff)
	}
	if !j.Finished() {
		t.Error("the run is not marked complete")
	}
}

// A control that takes part only in some rounds is expected in no other round, and no extra round replaces it.
func TestSparedControl(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Rounds = 12
	x.Plan.SpareControl()
	var last TrialDone
	j := finished(t, x, func(o *Options) {
		o.Events = func(e Event) {
			if done, ok := e.(TrialDone); ok {
				last = done
			}
		}
	})
	if n := len(j.Trials()); n != 32 || last.Progress.Done != 32 || last.Progress.Total != 32 || !j.Finished() {
		t.Errorf("%d trials, progress %+v, finished %t; want 12 of the baseline and the arm, and 8 of the control", n, last.Progress, j.Finished())
	}
}

// A trial spoilt by the machine's condition is repeated at the end of its block. A failed program is not tried again,
// unless the machine may be the cause.
func TestSpoiltTrialIsRepeatedAtTheEndOfItsBlock(t *testing.T) {
	fails := func(n int) (workload.Result, error) {
		if n == 1 || n == 3 {
			return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
		}
		return good(), nil
	}
	x := expand(&fakeWorkload{run: fails})
	x.Plan.Rounds = 1
	j := finished(t, x, func(o *Options) { o.Sampler = &fakeSampler{foreign: []float64{0, 0.9, 0.9, 0.9}} })
	order := x.Plan.Order(1)
	arm := func(i int) string { return x.Plan.Arms[order[i].Arm].Name }
	want := []string{
		"1 " + arm(0) + " 1 exit-status", "1 " + arm(1) + " 1 foreign-cpu", "1 " + arm(2) + " 1 exit-status foreign-cpu",
		"1 " + arm(1) + " 2 foreign-cpu", "1 " + arm(2) + " 2", "1 " + arm(1) + " 3",
	}
	if diff := cmp.Diff(want, sequence(j.Trials())); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	if got := j.Trials()[5].Position; got != 6 {
		t.Errorf("position of the last repeat = %d, want 6", got)
	}
}

// If an arm's program always fails, this is the arm's result, and the run continues.
func TestFailingArm(t *testing.T) {
	on := false // the layer of the arm is on at the trial under way
	l := &fakeLayer{log: new([]string), name: "l", proof: func() []layer.Check {
		on = true
		return []layer.Check{{Layer: "l", Name: "on", OK: true}}
	}}
	w := &fakeWorkload{run: func(int) (workload.Result, error) {
		if on {
			on = false
			return workload.Result{}, &workload.Invalid{Rule: workload.RuleTimeout, Detail: "too slow"}
		}
		return good(), nil
	}}
	x := expand(w, l)
	x.Plan.Rounds = 20
	j := record(t, x)
	if err := Run(t.Context(), options(x, j)); err != nil || !j.Finished() {
		t.Fatalf("%v, finished is %t", err, j.Finished())
	}
	failed := 0
	for _, trial := range j.Trials() {
		if !trial.Valid() {
			failed++
		}
	}
	if len(j.Trials()) != 60 || failed != 20 {
		t.Errorf("%d trials of which %d failed, want 60 and 20", len(j.Trials()), failed)
	}
}

// If the baseline and its control fail, nothing can be compared. The session then ends: after six trials, or all
// trials of a short run, if none has succeeded, and otherwise after twelve failures in a row.
func TestFailingBaseline(t *testing.T) {
	for _, c := range []struct {
		rounds int
		works  int // number of trials before the first failure
		trials int // of the run
	}{{20, 0, 9}, {20, 3, 21}, {2, 0, 6}} {
		w := &fakeWorkload{run: func(n int) (workload.Result, error) {
			if n <= c.works {
				return good(), nil
			}
			return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
		}}
		x := expand(w)
		x.Plan.Rounds = c.rounds
		j := record(t, x)
		err := Run(t.Context(), options(x, j))
		var hopeless *NoDataError
		if !errors.As(err, &hopeless) || !hopeless.Failed || hopeless.Environment() || hopeless.Last.Rule != workload.RuleExit {
			t.Fatalf("error %v, want a NoDataError of failures", err)
		}
		if len(j.Trials()) != c.trials || j.Finished() {
			t.Errorf("%d trials, want %d", len(j.Trials()), c.trials)
		}
	}
}

// A program that fails at random ends no run.
func TestProgramThatFailsAtRandom(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := &fakeWorkload{run: func(int) (workload.Result, error) {
			if rng.Float64() < 0.3 {
				return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
			}
			return good(), nil
		}}
		x := expand(w)
		x.Plan.Rounds = 10
		j := record(t, x)
		if err := Run(t.Context(), options(x, j)); err != nil || len(j.Trials()) != 30 {
			t.Errorf("seed %d: %v, %d trials", seed, err, len(j.Trials()))
		}
		j.Close()
	}
}

func TestHopelessRunEndsAfterTwoRounds(t *testing.T) {
	bad := &fakeLayer{log: new([]string), name: "bad", proof: func() []layer.Check {
		return []layer.Check{{Layer: "bad", Name: "on", Expected: "there", Observed: "not there"}}
	}}
	w := &fakeWorkload{}
	x := expand(w, bad)
	j := record(t, x)
	err := Run(t.Context(), options(x, j))
	var hopeless *NoDataError
	if !errors.As(err, &hopeless) {
		t.Fatalf("error %v, want a NoDataError", err)
	}
	want := "arm arm has given no valid trial of fake in two rounds: 6 of 6 broke a rule, the last one proof: bad: on: expected there, observed not there"
	if err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if w.count != 4 {
		t.Errorf("the workload ran %d times, want 4: never in the arm whose proof failed", w.count)
	}
	if j.Finished() {
		t.Error("a hopeless run is marked complete")
	}
}

func TestBusyMachineIsWaitedFor(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Rounds = 1
	j := record(t, x)
	o := options(x, j)
	o.Sampler = &fakeSampler{foreign: []float64{0.9, 0, 0, 0.9}}
	o.Pause = time.Microsecond
	var rests []time.Duration
	o.Events = func(e Event) {
		if e, ok := e.(Resting); ok {
			rests = append(rests, e.Pause)
		}
	}
	finish(t, o)
	if diff := cmp.Diff([]time.Duration{time.Microsecond, 2 * time.Microsecond}, rests); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got := len(j.Trials()); got != 5 {
		t.Errorf("%d trials, want 5: two of one arm were spoilt", got)
	}
}

// A run waits for a busy machine until its patience is used up. If the machine becomes quiet before, the run
// continues.
func TestBusyMachineIsGivenTime(t *testing.T) {
	const spoilt = 2 * 3 * 3 // rounds, attempts, arms
	for _, c := range []struct {
		busy, waits int // samples that are busy, the looks of the wait among them
		ends        bool
	}{{spoilt + 2, 3, false}, {spoilt + 100, 4, true}} {
		x := expand(&fakeWorkload{})
		x.Plan.Rounds = 3
		j := record(t, x)
		o := options(x, j)
		o.Sampler = &fakeSampler{foreign: slices.Repeat([]float64{0.9}, c.busy)}
		o.Pause, o.Patience = time.Microsecond, 4*time.Microsecond
		var waits []Waiting
		o.Events = func(e Event) {
			if e, ok := e.(Waiting); ok {
				waits = append(waits, e)
			}
		}
		err := Run(t.Context(), o)
		var hopeless *NoDataError
		if ended := errors.As(err, &hopeless) && hopeless.Environment(); ended != c.ends || !ended && err != nil {
			t.Errorf("%d busy samples: %v", c.busy, err)
		}
		if len(waits) != c.waits || !waits[0].First || waits[1].First || waits[0].Left != 4*time.Microsecond || waits[1].Left != 3*time.Microsecond ||
			!strings.HasPrefix(waits[1].Why, "CPU time of other programs 90.0%") {
			t.Errorf("%d busy samples: waits %+v", c.busy, waits)
		}
	}
}

// The error names the programs that caused the broken limit.
func TestBusyProgramsAreNamed(t *testing.T) {
	limit := quantity.Percent(0.2)
	var trial journal.Trial
	conditions(&trial, machine.Conditions{ForeignCPU: 0.5, Programs: []machine.Program{{Name: "chromium", CPU: 0.312}, {Name: "go", CPU: 0.08}}}, experiment.Limits{ForeignCPU: &limit}, "")
	if want := "CPU time of other programs 50.0%, over the limit of 20%: chromium 31.2%, go 8.0%"; len(trial.Invalid) != 1 || trial.Invalid[0].Detail != want {
		t.Errorf("%+v, want %s", trial.Invalid, want)
	}
}

// searchingWorkload searches in its preparation for the load that it measures.
type searchingWorkload struct{ *fakeWorkload }

func (w searchingWorkload) Measures() experiment.Measures {
	m := w.fakeWorkload.Measures()
	m.Searches = true
	return m
}

// A search that was disturbed is not followed by a measurement.
func TestSearchOnABusyMachine(t *testing.T) {
	w := &fakeWorkload{}
	x := expand(w)
	x.Cells[0].Workload = searchingWorkload{w}
	x.Plan.Rounds = 1
	j := finished(t, x, func(o *Options) { o.Sampler = &fakeSampler{foreign: []float64{0.5}} })
	want := []journal.Violation{{Rule: workload.RuleForeignCPU, Detail: "CPU time of other programs during the search 50.0%, over the limit of 20%"}}
	if diff := cmp.Diff(want, j.Trials()[0].Invalid); diff != "" {
		t.Errorf("broken rules (-want +got):\n%s", diff)
	}
	if len(j.Trials()) != 4 || w.count != 3 {
		t.Errorf("%d trials, %d measured; want 4 and 3", len(j.Trials()), w.count)
	}
}

// A run waits for a machine that is throttled by heat. It does not wait for the CPU limit of a pod, which would
// remain.
func TestThrottling(t *testing.T) {
	for _, c := range []struct {
		testbed experiment.Testbed
		rests   int
		limit   bool
	}{{experiment.Testbed{Local: &experiment.Local{}}, 2, false}, {experiment.Testbed{Kubernetes: &experiment.Kubernetes{}}, 0, true}} {
		x := expand(&fakeWorkload{})
		x.Cells[0].Testbed, x.Plan.Attempts, x.Plan.Limits.Throttling = c.testbed, 2, new(0)
		j := record(t, x)
		o := options(x, j)
		o.Sampler = &besideSampler{sample: testbed.Sample{Conditions: machine.Conditions{Throttled: 3}}}
		o.Pause = time.Microsecond
		rests := 0
		o.Events = func(e Event) {
			if _, ok := e.(Resting); ok {
				rests++
			}
		}
		err := Run(t.Context(), o)
		var hopeless *NoDataError
		if !errors.As(err, &hopeless) || hopeless.CPULimit() != c.limit || hopeless.Environment() == c.limit || !strings.HasSuffix(err.Error(), "throttling: 3 throttling events, over the limit of 0") {
			t.Errorf("%s: %v", c.testbed.Name(), err)
		}
		if rests != c.rests {
			t.Errorf("%s: %d rests, want %d", c.testbed.Name(), rests, c.rests)
		}
	}
}

// If throttling is unknown, no rule is broken: the record says that this limit does not apply.
func TestThrottlingNotTold(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Limits.Throttling = new(0)
	j := finished(t, x, func(o *Options) {
		o.Sampler = &besideSampler{sample: testbed.Sample{Conditions: machine.Conditions{ForeignCPU: -1, Throttled: -1}}}
	})
	for _, trial := range j.Trials() {
		if !trial.Valid() || trial.Conditions.Throttled != -1 {
			t.Errorf("%v, %+v", trial.Invalid, trial.Conditions)
		}
	}
}

// With a hundred attempts, the wait must stop doubling at some time.
func TestRestsAreBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, pass := range []int{2, 3, 30, 62, 64, 100} {
		var got time.Duration
		r := &run{Options: Options{Pause: 2 * time.Second, Events: func(e Event) { got = e.(Resting).Pause }}}
		if err := r.rest(ctx, pass, &journal.Trial{}); !errors.Is(err, context.Canceled) {
			t.Errorf("pass %d: %v", pass, err)
		}
		want := map[int]time.Duration{2: 2 * time.Second, 3: 4 * time.Second}[pass]
		if want == 0 {
			want = longestRest
		}
		if got != want {
			t.Errorf("pass %d: a pause of %v, want %v", pass, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	values := func(speed, loss float64) func(int) (workload.Result, error) {
		return func(int) (workload.Result, error) {
			return workload.Result{Values: map[string]float64{"speed": speed, "loss": loss}, Sent: 1}, nil
		}
	}
	tests := []struct {
		name    string
		run     func(int) (workload.Result, error)
		foreign float64
		want    string // rule: detail; "" for a valid trial
	}{
		{name: "good", run: values(5, 0)},
		{name: "zero on a ratio scale", run: values(0, 0), want: "metric: speed is 0; a value on a ratio scale must be positive"},
		{name: "negative on a ratio scale", run: values(-1, 0), want: "metric: speed is -1; a value on a ratio scale must be positive"},
		{name: "not a number", run: values(math.NaN(), 0), want: "metric: speed is not a finite number"},
		{name: "infinite", run: values(5, math.Inf(1)), want: "metric: loss is not a finite number"},
		{name: "missing", run: func(int) (workload.Result, error) {
			return workload.Result{Values: map[string]float64{"speed": 1}, Sent: 1}, nil
		}, want: "metric: loss is missing"},
		{name: "failed operations", run: func(int) (workload.Result, error) {
			r := good()
			r.Failed = 0.015
			return r, nil
		}, want: "errors: failed operations 1.5%, over the limit of 0%"},
		{name: "foreign CPU", run: values(5, 0), foreign: 0.25, want: "foreign-cpu: CPU time of other programs 25.0%, over the limit of 20%"},
		{name: "foreign CPU at the limit", run: values(5, 0), foreign: 0.2},
		{name: "foreign CPU not told", run: values(5, 0), foreign: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := expand(&fakeWorkload{run: tt.run})
			x.Plan.Rounds, x.Plan.Attempts = 1, 1
			j := record(t, x)
			o := options(x, j)
			o.Sampler = &fakeSampler{foreign: []float64{tt.foreign, tt.foreign, tt.foreign}}
			var failed *NoDataError // where no trial of the baseline succeeds
			if err := Run(t.Context(), o); err != nil && !errors.As(err, &failed) {
				t.Fatal(err)
			}
			var got []string
			for _, v := range j.Trials()[0].Invalid {
				got = append(got, v.Rule+": "+v.Detail)
			}
			if s := strings.Join(got, "\n"); s != tt.want {
				t.Errorf("broken rules %q, want %q", s, tt.want)
			}
		})
	}
}

// A limit that cannot be checked counts as exceeded.
func TestPressureThatIsNotTold(t *testing.T) {
	limit := quantity.Percent(0.5)
	for told, want := range map[float64]string{
		-1:  "cpu-pressure: this kernel does not report it (/proc/pressure/cpu), and the limit is 50%",
		0.6: "cpu-pressure: time in which a task waited for a CPU 60.0%, over the limit of 50%",
		0.5: "",
	} {
		trial := &journal.Trial{Conditions: machine.Conditions{CPUPressure: told}}
		judge(trial, workload.Result{}, nil, experiment.Limits{CPUPressure: &limit})
		got := ""
		for _, v := range trial.Invalid {
			got += v.Rule + ": " + v.Detail
		}
		if got != want {
			t.Errorf("pressure %v: broken rules %q, want %q", told, got, want)
		}
		judge(trial, workload.Result{}, nil, experiment.Limits{})
		if trial.Conditions.CPUPressure < 0 && len(trial.Invalid) != 1 {
			t.Errorf("without a limit: %v", trial.Invalid)
		}
	}
}

const recording = 20 * time.Millisecond

// The time for recording trials counts as Tare's own.
func TestRecordingIsTimeAroundTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := expand(&fakeWorkload{})
		j := record(t, x)
		o := options(x, j)
		o.Events = func(e Event) { // comes right after the trial was recorded
			if _, ok := e.(TrialDone); ok {
				time.Sleep(recording)
			}
		}
		finish(t, o)
		for _, trial := range j.Trials()[1:] {
			if trial.Harness.Around < recording {
				t.Errorf("trial %d: %v around it, of which recording the one before took %v", trial.Seq, trial.Harness.Around, recording)
			}
		}
	})
}

func TestTrialTakesTooLong(t *testing.T) {
	for _, inPrepare := range []bool{false, true} {
		w := &fakeWorkload{bound: time.Millisecond}
		slow := &slowWorkload{fakeWorkload: w, inPrepare: inPrepare}
		x := expand(w)
		x.Cells[0].Workload = slow
		x.Plan.Rounds, x.Plan.Attempts = 1, 1
		j := record(t, x)
		var failed *NoDataError
		if err := Run(t.Context(), options(x, j)); !errors.As(err, &failed) || !failed.Failed {
			t.Fatalf("error %v, want a NoDataError of failures", err)
		}
		want := "the measured part was not done 1ms after the trial began, which is its limit"
		if inPrepare {
			want = "the preparation was not done 1ms after the trial began, which is its limit"
		}
		for _, trial := range j.Trials() {
			if len(trial.Invalid) != 1 || trial.Invalid[0] != (journal.Violation{Rule: workload.RuleTimeout, Detail: want}) {
				t.Errorf("%s: broken rules %v, want timeout: %s", trial.Arm, trial.Invalid, want)
			}
		}
	}
}

// slowWorkload runs until it is stopped.
type slowWorkload struct {
	*fakeWorkload
	inPrepare bool
}

func (s *slowWorkload) Prepare(ctx context.Context, _ *workload.Trial) (workload.Measured, error) {
	if s.inPrepare {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return func(ctx context.Context) (workload.Result, error) {
		<-ctx.Done()
		return workload.Result{}, ctx.Err()
	}, nil
}

func TestLayersGoUpAndDown(t *testing.T) {
	var log []string
	first := &fakeLayer{log: &log, name: "first"}
	second := &fakeLayer{log: &log, name: "second"}
	x := expand(&fakeWorkload{}, first, second)
	j := finished(t, x)
	if diff := cmp.Diff([]string{"up first", "up second", "down second", "down first"}, log); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
	names := map[string][]string{}
	for _, trial := range j.Trials() {
		names[trial.Arm] = nil
		for _, c := range trial.Checks {
			names[trial.Arm] = append(names[trial.Arm], c.Layer+" "+c.Name)
		}
	}
	want := map[string][]string{
		"plain":   {"first off", "second off"},
		"control": {"first off", "second off"},
		"arm":     {"first once", "second once", "first on", "second on", "first through", "second through"},
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

func TestLayersCPU(t *testing.T) {
	log := []string{}
	x := expand(&fakeWorkload{}, &fakeLayer{log: &log, name: "busy", costs: []layer.Cost{{Part: "process", CPU: time.Second}}})
	x.Plan.Rounds = 1
	j := finished(t, x)
	for _, trial := range j.Trials() {
		want := map[string]time.Duration{"arm": time.Second}[trial.Arm]
		if got := trial.Used["layer"].CPU(); got != want {
			t.Errorf("%s: the layers used %v, want %v", trial.Arm, got, want)
		}
	}
}

func TestLayersGoDownWhenOneFails(t *testing.T) {
	var log []string
	first := &fakeLayer{log: &log, name: "first"}
	second := &fakeLayer{log: &log, name: "second", upErr: errors.New("refused")}
	x := expand(&fakeWorkload{}, first, second)
	err := Run(t.Context(), options(x, record(t, x)))
	if err == nil || err.Error() != "arm arm: layer second: refused" {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"up first", "up second", "down first"}, log); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

func TestInterruptedRunGoesOn(t *testing.T) {
	whole := expand(&fakeWorkload{})
	reference := finished(t, whole)
	for stop := 1; stop < 9; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		w := &fakeWorkload{}
		w.run = func(n int) (workload.Result, error) {
			if n == stop {
				cancel()
			}
			return good(), nil
		}
		x := expand(w)
		j := record(t, x)
		if err := Run(ctx, options(x, j)); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped in trial %d: error %v, want canceled", stop, err)
		}
		if got := len(j.Trials()); got != stop-1 {
			t.Errorf("stopped in trial %d: %d trials on record", stop, got)
		}
		j.Close()
		again, err := journal.Resume(j.Dir())
		if err != nil {
			t.Fatal(err)
		}
		x = expand(&fakeWorkload{})
		finish(t, options(x, again))
		if diff := cmp.Diff(sequence(reference.Trials()), sequence(again.Trials())); diff != "" {
			t.Errorf("stopped in trial %d (-uninterrupted +resumed):\n%s", stop, diff)
		}
		again.Close()
	}
}

func TestPilotFixesTheRoundsOnce(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Rounds, x.Plan.Precision, x.Plan.MaxRounds = 2, 0.02, 10
	j := record(t, x)
	o := options(x, j)
	asked := 0
	o.Rounds = func(_ *experiment.Plan, trials []journal.Trial) (int, error) {
		asked++
		if len(trials) != 6 {
			t.Errorf("asked after %d trials, want 6", len(trials))
		}
		return 5, nil
	}
	var fixed []int
	o.Events = func(e Event) {
		if e, ok := e.(RoundsFixed); ok {
			fixed = append(fixed, e.Rounds)
		}
	}
	finish(t, o)
	if asked != 1 || len(j.Trials()) != 15 || j.Rounds() != 5 {
		t.Errorf("asked %d times, %d trials, %d rounds fixed; want 1, 15, 5", asked, len(j.Trials()), j.Rounds())
	}
	if diff := cmp.Diff([]int{5}, fixed); diff != "" {
		t.Errorf("events: %s", diff)
	}
}

func TestProgressCounts(t *testing.T) {
	x := expand(&fakeWorkload{})
	j := record(t, x)
	o := options(x, j)
	var last Progress
	var done []int
	o.Events = func(e Event) {
		if e, ok := e.(TrialDone); ok {
			last = e.Progress
			done = append(done, e.Progress.Done)
		}
	}
	finish(t, o)
	if last.Done != 9 || last.Total != 9 || last.Left != 0 {
		t.Errorf("progress at the end %+v", last)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, done); diff != "" {
		t.Errorf("trials done: %s", diff)
	}
}
