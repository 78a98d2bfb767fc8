package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// mendedSite is a site that breaks. The function mend returns the result of the nth check.
type mendedSite struct {
	fakeSite
	looks int
	mend  func(n int) error
}

func (s *mendedSite) Mend(context.Context) error {
	s.looks++
	return s.mend(s.looks)
}

type mendedBed struct {
	fakeBed
	site *mendedSite
}

func (b mendedBed) Open(context.Context, testbed.Request) (testbed.Site, error) { return b.site, nil }

// A lost site makes the trial invalid, and does not end the run.
func TestLostSite(t *testing.T) {
	gone := &testbed.Disturbance{What: "pod a/client on node n cannot be reached", Err: errors.New("the pod is gone")}
	const detail = "pod a/client on node n cannot be reached: the pod is gone"
	tests := []struct {
		name string
		mend func(n int) error                    // result of the nth check before a trial
		run  func(n int) (workload.Result, error) // result of the nth trial
		runs int                                  // trials that reached the workload
	}{
		{"during the trial", func(int) error { return nil }, func(n int) (workload.Result, error) {
			if n == 2 {
				return workload.Result{}, fmt.Errorf("iperf3 client: %w", gone)
			}
			return good(), nil
		}, 9},
		{"before the trial", func(n int) error {
			if n == 2 {
				return gone
			}
			return nil
		}, nil, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &fakeWorkload{run: tt.run}
			x := expand(w)
			j := record(t, x)
			o := options(x, j)
			site := &mendedSite{mend: tt.mend}
			o.Testbed = mendedBed{site: site}
			finish(t, o)
			trials := j.Trials()
			if len(trials) != 9 || site.looks != 9 || w.count != tt.runs {
				t.Fatalf("%d trials, %d looks, %d runs; want 9, 9, %d", len(trials), site.looks, w.count, tt.runs)
			}
			for i, trial := range trials {
				switch {
				case i == 1 && (len(trial.Invalid) != 1 || trial.Invalid[0].Rule != workload.RuleLost || trial.Invalid[0].Detail != detail && trial.Invalid[0].Detail != "iperf3 client: "+detail):
					t.Errorf("trial 2 broke %+v; want the rule %s with %q", trial.Invalid, workload.RuleLost, detail)
				case i != 1 && !trial.Valid():
					t.Errorf("trial %d broke %+v", i+1, trial.Invalid)
				}
			}
		})
	}
}

// A site that can never be mended ends the run, with the reason.
func TestSiteThatIsGone(t *testing.T) {
	x := expand(&fakeWorkload{})
	j := record(t, x)
	o := options(x, j)
	o.Testbed = mendedBed{site: &mendedSite{mend: func(n int) error {
		if n == 3 {
			return errors.New("node n is gone")
		}
		return nil
	}}}
	err := Run(t.Context(), o)
	if err == nil || !strings.HasSuffix(err.Error(), "round 1: node n is gone") {
		t.Errorf("got %v; want the reason", err)
	}
	if n := len(j.Trials()); n != 2 {
		t.Errorf("%d trials on record, want the 2 before", n)
	}
}

// anewBed counts how often each arm is opened.
type anewBed struct {
	fakeBed
	opened map[string]int
}

func (b anewBed) Open(_ context.Context, want testbed.Request) (testbed.Site, error) {
	b.opened[want.Name]++
	return anewSite{}, nil
}

type anewSite struct{ fakeSite }

func (anewSite) Close() error { return nil }

// twoTreatments is an expansion with a second arm beside the arm with layers.
func twoTreatments(w *fakeWorkload, layers ...*fakeLayer) *experiment.Expansion {
	x := expand(w, layers...)
	x.Plan.Arms = append(x.Plan.Arms, experiment.PlannedArm{Name: "other", Role: experiment.Treatment})
	x.Layers = append(x.Layers, nil)
	return x
}

// If a proof fails in an arm, the arm is set up anew before its next trial, and the run continues.
func TestSetUpAnew(t *testing.T) {
	proofs, log := 0, []string(nil)
	l := &fakeLayer{log: &log, name: "l", proof: func() []layer.Check {
		proofs++
		return []layer.Check{{Layer: "l", Name: "on", Expected: "there", Observed: "gone", OK: proofs != 2}}
	}}
	x := expand(&fakeWorkload{}, l)
	x.Plan.SetUps = experiment.SetUpsOnce
	j := record(t, x)
	o := options(x, j)
	bed := anewBed{opened: map[string]int{}}
	o.Testbed = bed
	finish(t, o)
	if want := []string{"up l", "down l", "up l", "down l"}; !slices.Equal(log, want) {
		t.Errorf("%v, want %v", log, want)
	}
	if want := map[string]int{"plain": 1, "control": 1, "arm": 2}; !maps.Equal(bed.opened, want) {
		t.Errorf("opened %v, want %v", bed.opened, want)
	}
	if n := len(j.Trials()); n != 10 || !j.Finished() {
		t.Errorf("%d trials, finished is %t; want one invalid trial more than 9", n, j.Finished())
	}
}

// An arm that cannot be set up anew is left out, and the other arms continue. A resumed session tries the arm again.
// The arm gets its missed rounds at the end, together with all other arms.
func TestArmIsLeftOut(t *testing.T) {
	proofs, log := 0, []string(nil)
	l := &fakeLayer{log: &log, name: "l"}
	l.proof = func() []layer.Check {
		if proofs++; proofs == 2 {
			l.upErr = errors.New("no such device")
		}
		return []layer.Check{{Layer: "l", Name: "on", Expected: "there", Observed: "gone", OK: proofs != 2}}
	}
	w := &fakeWorkload{}
	x := twoTreatments(w, l)
	j := record(t, x)
	o := options(x, j)
	o.Testbed = anewBed{opened: map[string]int{}}
	err := Run(t.Context(), o)
	var dropped *DroppedError
	if !errors.As(err, &dropped) || !slices.Equal(dropped.Arms, []string{"arm"}) || j.Finished() {
		t.Fatalf("%v, finished is %t; want a run without arm", err, j.Finished())
	}
	if want := "the run went on without arm: cannot be set up anew (l: on: expected there, observed gone): layer l: no such device"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if got := validRounds(j.Trials()); got["arm"] != "1" || got["plain"] != "1 2 3" || got["other"] != "1 2 3" {
		t.Errorf("valid trials by arm: %v", got)
	}
	dir := j.Dir()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		err  error // of the layer
		want map[string]string
	}{
		{"it cannot be set up either", errors.New("no such device"), map[string]string{"arm": "1", "plain": "1 2 3"}},
		{"it can", nil, map[string]string{"arm": "1 4 5", "plain": "1 2 3 4 5", "control": "1 2 3 4 5", "other": "1 2 3 4 5"}},
	} {
		if j, err = journal.Resume(dir); err != nil {
			t.Fatal(err)
		}
		o.Journal, l.upErr, proofs = j, c.err, 2
		var last Progress
		o.Events = func(e Event) {
			if e, ok := e.(TrialDone); ok {
				last = e.Progress
			}
		}
		if err := Run(t.Context(), o); (err != nil) != (c.err != nil) || errors.As(err, &dropped) != (c.err != nil) || j.Finished() != (c.err == nil) {
			t.Errorf("%s: %v, finished is %t", c.name, err, j.Finished())
		}
		got := validRounds(j.Trials())
		for arm, want := range c.want {
			if got[arm] != want {
				t.Errorf("%s: rounds of %s: %s, want %s", c.name, arm, got[arm], want)
			}
		}
		if c.err == nil && (last.Done != last.Total || last.Left != 0) {
			t.Errorf("%s: at the end %d of %d trials, %v left", c.name, last.Done, last.Total, last.Left)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// validRounds lists the rounds of the valid trials, by arm.
func validRounds(trials []journal.Trial) map[string]string {
	rounds := map[string]string{}
	for i := range trials {
		if t := &trials[i]; t.Valid() {
			rounds[t.Arm] = strings.TrimSpace(rounds[t.Arm] + " " + strconv.Itoa(t.Round))
		}
	}
	return rounds
}

// The run ends if the baseline or the control is lost.
func TestBaselineIsNotLeftOut(t *testing.T) {
	for _, arm := range []string{"plain", "control"} {
		x := twoTreatments(&fakeWorkload{})
		j := record(t, x)
		o := options(x, j)
		o.Testbed = brokenBed{broken: arm}
		var dropped *DroppedError
		if err := Run(t.Context(), o); err == nil || errors.As(err, &dropped) || !strings.HasSuffix(err.Error(), "the node is gone") {
			t.Errorf("%s: %v, want the reason alone", arm, err)
		}
	}
}

// brokenBed has a site that cannot be mended.
type brokenBed struct {
	fakeBed
	broken string
}

func (b brokenBed) Open(_ context.Context, want testbed.Request) (testbed.Site, error) {
	return &mendedSite{mend: func(int) error {
		if want.Name == b.broken {
			return errors.New("the node is gone")
		}
		return nil
	}}, nil
}
