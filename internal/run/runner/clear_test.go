package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/workload"
)

// clearing is a workload that needs a clean-up after each trial.
type clearing struct {
	fakeWorkload
	log   *[]string
	err   error
	fails int  // so many times with err; -1: always
	hangs bool // until the context is done
}

func (w *clearing) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	w.clear = w.clearUp
	return w.fakeWorkload.Prepare(ctx, t)
}

func (w *clearing) clearUp(ctx context.Context) error {
	*w.log = append(*w.log, "clear")
	if w.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if w.fails == 0 {
		return nil
	}
	w.fails--
	return w.err
}

func TestClearedAfterEveryTrial(t *testing.T) {
	var log []string
	w := &clearing{log: &log}
	w.run = func(n int) (workload.Result, error) {
		log = append(log, "trial")
		if n == 2 {
			return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
		}
		return good(), nil
	}
	x := expand(&w.fakeWorkload)
	x.Plan.Rounds = 1
	x.Cells[0].Workload = w
	finished(t, x)
	want := strings.Fields(strings.Repeat("trial clear ", 3)) // one of them failed
	if !slices.Equal(log, want) {
		t.Errorf("order %v, want %v", log, want)
	}
}

// A failed clean-up does not make the measured trial invalid. It does not end the run if a later attempt succeeds.
func TestClearingUpFails(t *testing.T) {
	gone := errors.New("the API server does not answer")
	for _, c := range []struct {
		name   string
		w      clearing
		clears int
		trials int
		err    string // "": none
	}{
		{"for a while", clearing{err: gone, fails: 3}, 3 + 3, 3, ""},
		{"for good", clearing{err: gone, fails: -1}, clearTries, 1, "round 1 (6 attempts in 31s, the limit is 1m): the API server does not answer"},
		{"without an end", clearing{hangs: true}, 1, 1, "round 1 (one attempt in 1m0s, the limit is 1m): context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			w := &c.w
			w.log = &log
			x := expand(&w.fakeWorkload)
			x.Plan.Rounds = 1
			x.Cells[0].Workload = w
			j := record(t, x)
			synctest.Test(t, func(t *testing.T) {
				err := Run(t.Context(), options(x, j))
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), "clear up after fake in arm") || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			})
			if len(log) != c.clears {
				t.Errorf("cleared up %d times, want %d", len(log), c.clears)
			}
			trials := j.Trials()
			if len(trials) != c.trials {
				t.Fatalf("%d trials are kept, want %d", len(trials), c.trials)
			}
			for _, trial := range trials {
				if !trial.Valid() || trial.Values["speed"] != 5 {
					t.Errorf("kept with %v, %v", trial.Values, trial.Invalid)
				}
			}
			if c.err == "" && (trials[0].Prepared > time.Second || trials[1].Prepared < 7*time.Second || trials[1].Harness.Around > time.Second) {
				t.Errorf("three pauses of 7 s after the first trial: it took %v, the second %v, and Tare %v", trials[0].Prepared, trials[1].Prepared, trials[1].Harness.Around)
			}
		})
	}
}

// An interruption during a clean-up ends the run, and the trial is kept.
func TestInterruptedWhileClearing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var log []string
	w := &clearing{log: &log, hangs: true}
	x := expand(&w.fakeWorkload)
	x.Cells[0].Workload = w
	j := record(t, x)
	o := options(x, j)
	o.Events = func(e Event) {
		if _, ok := e.(TrialDone); ok {
			cancel()
		}
	}
	if err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want an interrupt", err)
	}
	if len(j.Trials()) != 1 {
		t.Errorf("%d trials are kept, want 1", len(j.Trials()))
	}
}
