package runner

import (
	"errors"
	"slices"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

// A run ends at the first planned look at which everything is decided. It does not look at any other time.
func TestDecidedRunEnds(t *testing.T) {
	for _, c := range []struct{ decides, rounds int }{{6, 6}, {9, 9}, {0, 12}} {
		x := expand(&fakeWorkload{})
		x.Plan.Rounds, x.Plan.DecideAt = 12, []int{6, 9, 12}
		j := record(t, x)
		o := options(x, j)
		var looks []int
		o.Decided = func(_ *experiment.Plan, trials []journal.Trial, rounds int) bool {
			looks = append(looks, rounds)
			if len(trials) != rounds*len(x.Plan.Arms) {
				t.Errorf("%d trials after %d rounds", len(trials), rounds)
			}
			return rounds == c.decides
		}
		if err := Run(t.Context(), o); err != nil || !j.Finished() {
			t.Fatalf("%v, finished: %t", err, j.Finished())
		}
		run, err := journal.Open(j.Dir())
		if err != nil {
			t.Fatal(err)
		}
		want := []int{6, 9}
		if c.decides == 6 {
			want = want[:1]
		}
		if run.Plan.Total() != c.rounds || len(run.Trials) != c.rounds*len(x.Plan.Arms) || !slices.Equal(looks, want) {
			t.Errorf("decided after %d: %d rounds, %d trials, looks after %v", c.decides, run.Plan.Total(), len(run.Trials), looks)
		}
		if err := run.Extendable(20); err == nil {
			t.Error("its looks were planned, and it can be extended")
		}
		if got := analysis.OfRun(run); !got.Finished || got.Rounds != c.rounds || got.Ending != nil {
			t.Errorf("finished: %t, %d rounds, %+v", got.Finished, got.Rounds, got.Ending)
		}
	}
}

// A run that was killed between a look and its note looks again.
func TestDecidedRunResumes(t *testing.T) {
	n := 0
	w := &fakeWorkload{run: func(int) (workload.Result, error) {
		if n++; n == 20 {
			return workload.Result{}, errors.New("killed")
		}
		return good(), nil
	}}
	x := expand(w)
	x.Plan.Rounds, x.Plan.DecideAt = 12, []int{6, 9, 12}
	j := record(t, x)
	o := options(x, j)
	o.Decided = func(_ *experiment.Plan, _ []journal.Trial, rounds int) bool { return rounds == 9 }
	if err := Run(t.Context(), o); err == nil {
		t.Fatal("the run was not cut off")
	}
	if err := Run(t.Context(), o); err != nil || j.Decided() != 9 || len(j.Trials()) != 9*len(x.Plan.Arms) {
		t.Errorf("%v: decided after %d, %d trials", err, j.Decided(), len(j.Trials()))
	}
}
