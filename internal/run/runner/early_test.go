package runner

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

// busyAfter is a run of ten rounds on a machine that is busy from a given round on.
func busyAfter(t *testing.T, rounds int, w *fakeWorkload) (*journal.Journal, Options) {
	x := expand(w)
	x.Plan.Rounds = 10
	j := record(t, x)
	o := options(x, j)
	o.Sampler = &fakeSampler{foreign: append(make([]float64, 3*rounds), slices.Repeat([]float64{0.9}, 100)...)}
	o.Pause, o.Patience, o.Fewest = time.Microsecond, 2*time.Microsecond, analysis.FewestRounds(&x.Plan)
	return j, o
}

// If the machine gets too busy, the run ends as finished with its present rounds, provided that they are enough for a
// claim; otherwise it can be resumed. The measured values have no influence.
func TestBusyMachineEndsTheRunWithFewerRounds(t *testing.T) {
	for _, c := range []struct {
		clean int
		done  bool
	}{{7, true}, {6, true}, {3, false}, {1, false}} {
		var trials []int
		for _, speed := range []float64{5, 5e6} {
			w := &fakeWorkload{run: func(n int) (workload.Result, error) {
				r := good()
				r.Values["speed"] = speed + float64(n%2)*speed
				return r, nil
			}}
			j, o := busyAfter(t, c.clean, w)
			var ended *EndedEarly
			o.Events = func(e Event) {
				if e, ok := e.(EndedEarly); ok {
					ended = &e
				}
			}
			err := Run(t.Context(), o)
			trials = append(trials, len(j.Trials()))
			var hopeless *NoDataError
			if !c.done {
				if !errors.As(err, &hopeless) || !hopeless.Environment() || j.Finished() || ended != nil {
					t.Errorf("%d rounds: %v, finished: %t", c.clean, err, j.Finished())
				}
				continue
			}
			if err != nil || !j.Finished() || ended == nil || ended.Rounds != c.clean || ended.Of != 10 {
				t.Fatalf("%d rounds: %v, %+v", c.clean, err, ended)
			}
			run, err := journal.Open(j.Dir())
			if err != nil {
				t.Fatal(err)
			}
			r := analysis.OfRun(run)
			if e := r.Ending; !r.Valid || !r.Finished || e == nil || e.Rounds != c.clean || e.Of != 10 || !e.Judged || r.Rounds != c.clean || r.Trials.Planned != 3*c.clean {
				t.Errorf("%d rounds: %+v, %+v", c.clean, r.Ending, r.Trials)
			}
			for _, compared := range r.Comparisons {
				if compared.Verdict == analysis.Interim || compared.Verdict == analysis.Invalid {
					t.Errorf("%s: %s", compared.Metric.Name, compared.Verdict)
				}
			}
		}
		if trials[0] != trials[1] {
			t.Errorf("the number of trials depends on their values: %v", trials)
		}
	}
}

// Lateness depends on measured latencies. A run that ends because of lateness is therefore not finished.
func TestLatenessEndsNoRunAsDone(t *testing.T) {
	w := &fakeWorkload{run: func(n int) (workload.Result, error) {
		if n > 3*7 {
			return workload.Result{}, workload.Invalidf(workload.RuleLate, "by 5 ms")
		}
		return good(), nil
	}}
	j, o := busyAfter(t, 10, w)
	o.Sampler = &fakeSampler{}
	err := Run(t.Context(), o)
	var hopeless *NoDataError
	if !errors.As(err, &hopeless) || hopeless.Last.Rule != workload.RuleLate || j.Finished() {
		t.Errorf("%v, finished: %t", err, j.Finished())
	}
}

// Extending a run that is finished with fewer rounds is a second look. Extra rounds replace the rounds that the
// machine spoilt.
func TestEndedRunGoesOnAsASecondLook(t *testing.T) {
	j, o := busyAfter(t, 7, &fakeWorkload{})
	finish(t, o)
	if err := j.Extend(10, "extended"); err != nil {
		t.Fatal(err)
	}
	o.Sampler = &fakeSampler{}
	finish(t, o)
	run, err := journal.Open(j.Dir())
	if err != nil {
		t.Fatal(err)
	}
	r := analysis.OfRun(run)
	if !slices.Equal(run.Plan.Looks, []int{7}) || r.Ending != nil || r.Trials.Valid != 3*10 || run.Plan.Judged() != 0.9875 {
		t.Errorf("looks %v, ending %+v, %d valid trials, judged at %v", run.Plan.Looks, r.Ending, r.Trials.Valid, run.Plan.Judged())
	}
}
