package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/journal"
	"tare/internal/workload"
)

// spoil makes the trials of one arm in some rounds run on a busy machine.
func spoil(o *Options, arm string, spoilt func(round int) bool) {
	sampler := &fakeSampler{}
	o.Sampler = sampler
	events := o.Events
	o.Events = func(e Event) {
		if e, ok := e.(TrialStarted); ok {
			sampler.foreign = nil
			if e.Arm == arm && spoilt(e.Round) {
				sampler.foreign = []float64{0.9}
			}
		}
		if events != nil {
			events(e)
		}
	}
}

// Extra rounds at the end replace rounds that the machine's condition spoilt, up to a quarter of the planned rounds.
func TestMadeUpRounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		arm    string
		rounds int
		spoilt func(round int) bool
		made   int
		valid  string // rounds of the arm
	}{
		{"none", "arm", 3, func(int) bool { return false }, 0, "1 2 3"},
		{"one of few", "arm", 3, func(round int) bool { return round == 2 }, 1, "1 3 4"},
		{"of the baseline", "plain", 3, func(round int) bool { return round == 3 }, 1, "1 2 4"},
		{"the one that is added, too", "arm", 3, func(round int) bool { return round == 2 || round == 4 }, 1, "1 3"},
		{"of eight", "control", 8, func(round int) bool { return round == 6 || round == 8 }, 2, "1 2 3 4 5 7 9 10"},
		{"the bound", "arm", 8, func(round int) bool { return round%2 == 1 }, 2, "2 4 6 8 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := expand(&fakeWorkload{})
			x.Plan.Rounds = c.rounds
			j := record(t, x)
			o := options(x, j)
			var last Progress
			told := 0
			o.Events = func(e Event) {
				switch e := e.(type) {
				case TrialDone:
					last = e.Progress
				case ExtraRoundsAdded:
					told = e.Rounds
				}
			}
			spoil(&o, c.arm, c.spoilt)
			if err := Run(t.Context(), o); err != nil || !j.Finished() {
				t.Fatalf("%v, finished is %t", err, j.Finished())
			}
			trials := j.Trials()
			if got := trials[len(trials)-1].Round; got != c.rounds+c.made || j.ExtraRounds() != c.made || told != c.made {
				t.Errorf("%d rounds, %d on record as made up, told of %d; want %d and %d", got, j.ExtraRounds(), told, c.rounds+c.made, c.made)
			}
			if got := validRounds(trials)[c.arm]; got != c.valid {
				t.Errorf("valid rounds of %s: %s, want %s", c.arm, got, c.valid)
			}
			if last.Done != last.Total || last.Left != 0 {
				t.Errorf("at the end %d of %d trials, %v left", last.Done, last.Total, last.Left)
			}
		})
	}
}

// Failures of programs are results, and no extra rounds replace them.
func TestFailuresAreNotMadeUp(t *testing.T) {
	x := expand(&fakeWorkload{run: func(n int) (workload.Result, error) {
		if n == 5 {
			return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
		}
		return good(), nil
	}})
	j := record(t, x)
	if err := Run(t.Context(), options(x, j)); err != nil || len(j.Trials()) != 9 || j.ExtraRounds() != 0 {
		t.Errorf("%v, %d trials, %d rounds made up", err, len(j.Trials()), j.ExtraRounds())
	}
}

// An interrupted run gets as many extra rounds as an uninterrupted one.
func TestMadeUpAfterResume(t *testing.T) {
	run := func(stop int) []string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &fakeWorkload{run: func(n int) (workload.Result, error) {
			if n == stop {
				cancel()
			}
			return good(), nil
		}}
		x := expand(w)
		j := record(t, x)
		for {
			o := options(x, j)
			spoil(&o, "arm", func(round int) bool { return round == 2 })
			err := Run(ctx, o)
			if err == nil {
				return sequence(j.Trials())
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			ctx = t.Context()
			j.Close()
			if j, err = journal.Resume(j.Dir()); err != nil {
				t.Fatal(err)
			}
			defer j.Close()
		}
	}
	whole := run(0)
	if len(whole) != 14 {
		t.Fatalf("%d trials, want 14: four rounds, and two more attempts", len(whole))
	}
	for stop := 4; stop <= 14; stop++ {
		if diff := cmp.Diff(whole, run(stop)); diff != "" {
			t.Errorf("interrupted in trial %d (-whole +resumed):\n%s", stop, diff)
		}
	}
}
