package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// inTurn is an experiment whose arms are up in turn. The bed counts the open sites.
func inTurn(w *fakeWorkload, layers ...*fakeLayer) (*experiment.Expansion, *countedBed) {
	bed := newCountedBed()
	for _, l := range layers {
		l.log = bed.log
	}
	x := twoTreatments(w, layers...)
	x.Plan.SetUps = experiment.SetUpsEveryTrial
	return x, bed
}

// oneAtATime checks that no two sites were open at the same time, and that all layers were taken down. It returns the
// order in which arms were up.
func oneAtATime(t *testing.T, log []string) (arms []string) {
	t.Helper()
	open, up := "", 0
	for _, did := range log {
		switch what, name, _ := strings.Cut(did, " "); what {
		case "open":
			if open != "" {
				t.Errorf("%s is opened while %s is up: %q", name, open, log)
			}
			open, arms = name, append(arms, name)
		case "close":
			open = ""
		case "up":
			up++
		case "down":
			up--
		}
	}
	if up != 0 {
		t.Errorf("%d layers are still up: %q", up, log)
	}
	return arms
}

// Each trial has a site of its own, and the order of the arms is the plan's. Before the first trial, every arm is set up
// once.
func TestArmsInTurn(t *testing.T) {
	x, bed := inTurn(&fakeWorkload{}, &fakeLayer{name: "l"})
	inspected := 0
	j := finished(t, x, func(o *Options) {
		o.Testbed = bed
		o.Inspect = func(context.Context) error {
			inspected++
			if len(bed.open) != 1 {
				t.Errorf("%d sites are open during the inspection", len(bed.open))
			}
			return nil
		}
		o.Ready = func(context.Context) error {
			if inspected != 4 || len(bed.open) > 0 {
				t.Errorf("%d sites inspected and %d open before the first trial", inspected, len(bed.open))
			}
			return nil
		}
	})
	want := []string{"plain", "control", "arm", "other"}
	for round := 1; round <= 3; round++ {
		for _, step := range x.Plan.Order(round) {
			want = append(want, x.Plan.Arms[step.Arm].Name)
		}
	}
	if diff := cmp.Diff(want, oneAtATime(t, *bed.log)); diff != "" {
		t.Errorf("arms in the order of their set-ups (-want +got):\n%s", diff)
	}
	if len(bed.open) > 0 {
		t.Errorf("%d sites are open after the run", len(bed.open))
	}
	if got, want := setUps(j.Trials()), "1:1 2:2 3:3"; got != want {
		t.Errorf("set-ups by round: %s, want %s", got, want)
	}
	for _, trial := range j.Trials() {
		if on := slices.ContainsFunc(trial.Checks, func(c layer.Check) bool { return c.Name == "on" && c.OK }); on != (trial.Arm == "arm") {
			t.Errorf("arm %s: the proof that the layer is on: %t", trial.Arm, on)
		}
	}
}

// A layer that acts on all arms is off, and a service ended, when the next arm is set up. A failed proof needs no further
// set-up: the repeat has one of its own.
func TestLayersInTurn(t *testing.T) {
	x, bed := inTurn(&fakeWorkload{})
	failed := false
	l := switched(bed.log, "l", 0)
	l.proof = func() []layer.Check {
		ok := failed
		failed = true
		return []layer.Check{{Layer: "l", Name: "on", OK: ok}}
	}
	x.Plan.Arms[2].Layers = []experiment.PlannedLayer{{Kind: "l", Config: "l"}}
	x.Layers[2] = []experiment.LayerItem{{Kind: "l", Config: l}}
	w := &fakeResident{log: bed.log, shared: "server"}
	x.Cells[0].Workload = w
	x.Plan.Rounds = 1
	j := finished(t, x, func(o *Options) { o.Testbed = bed })
	arms := oneAtATime(t, *bed.log)
	var of []string // by the sites of the arm with the layer
	for at := slices.Index(*bed.log, "open arm"); at < len(*bed.log); at++ {
		if did := (*bed.log)[at]; strings.HasSuffix(did, " arm") || strings.HasSuffix(did, " l") {
			of = append(of, did)
		}
	}
	once := []string{"open arm", "up l", "down l", "close arm"}
	trial := []string{"open arm", "up l", "on l", "off l", "down l", "close arm"}
	if diff := cmp.Diff(slices.Concat(once, trial, trial), of); diff != "" {
		t.Errorf("the arm with the layer (-want +got):\n%s", diff)
	}
	starts, ends := 0, 0
	for _, did := range *bed.log {
		switch did {
		case "set up server":
			starts++
		case "take down server":
			ends++
		}
	}
	if starts != len(arms) || ends != starts || len(j.Trials()) != 5 || len(w.seen) != 4 {
		t.Errorf("%d services began and %d ended at %d sites, %d trials, %d of them with the service", starts, ends, len(arms), len(j.Trials()), len(w.seen))
	}
}

// A session that was interrupted leaves no layer up, and the next one goes on with the trials that are missing.
func TestResumeInTurn(t *testing.T) {
	for _, c := range []struct {
		stop int // trial in which the first session is interrupted
		want string
	}{
		{1, "1:1 2:2 3:3"}, {3, "1:1 1:2 2:3 3:4"}, {4, "1:1 1:2 2:3 3:4"}, {5, "1:1 2:2 3:3"}, {6, "1:1 2:2 2:3 3:4"}, {100, "1:1 2:2 3:3"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		x, bed := inTurn(&fakeWorkload{run: func(n int) (workload.Result, error) {
			if n == c.stop {
				cancel()
			}
			return good(), nil
		}}, &fakeLayer{name: "l"})
		j := record(t, x)
		o := options(x, j)
		o.Testbed = bed
		if err := Run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		oneAtATime(t, *bed.log)
		if len(bed.open) > 1 {
			t.Errorf("interrupted in trial %d: %d sites are open", c.stop, len(bed.open))
		}
		clear(bed.open) // the caller closes the testbed
		*bed.log = nil
		j.Close()
		again, err := journal.Resume(j.Dir())
		if err != nil {
			t.Fatal(err)
		}
		o.Journal = again
		finish(t, o)
		oneAtATime(t, *bed.log)
		if got := setUps(again.Trials()); got != c.want || len(again.Trials()) != 12 || len(bed.open) > 0 {
			t.Errorf("interrupted in trial %d: set-ups by round %s, want %s; %d trials, %d sites open", c.stop, got, c.want, len(again.Trials()), len(bed.open))
		}
		again.Close()
		cancel()
	}
}

// An arm that can never be set up is an error before the first trial. An arm that fails later is left out from this round
// on; without the baseline, the session ends.
func TestSetUpFailsInTurn(t *testing.T) {
	for _, c := range []struct {
		arm  string
		from int    // number of the first set-up that fails, counted over all arms
		left string // arm that is left out; "": the session ends
		want string // rounds of the arm other
	}{
		{"arm", 1, "", ""}, {"plain", 1, "", ""},
		{"arm", 9, "arm", "1 2 3"}, {"plain", 9, "", "1"}, {"control", 9, "", "1"},
	} {
		x, bed := inTurn(&fakeWorkload{}, &fakeLayer{name: "l"})
		bed.fail = func(name string, n int) error {
			if name == c.arm && n >= c.from {
				return errors.New("no node has room")
			}
			return nil
		}
		j := record(t, x)
		o := options(x, j)
		o.Testbed = bed
		err := Run(t.Context(), o)
		var dropped *DroppedError
		if errors.As(err, &dropped) != (c.left != "") || err == nil || !strings.HasSuffix(err.Error(), "arm "+c.arm+": no node has room") || j.Finished() {
			t.Errorf("%s: %v, finished is %t", c.arm, err, j.Finished())
		}
		got := validRounds(j.Trials())
		if c.left != "" && (got["arm"] != "1" || got["other"] != c.want) || c.from == 1 && len(j.Trials()) > 0 {
			t.Errorf("%s, from set-up %d on: valid trials by arm: %v", c.arm, c.from, got)
		}
		oneAtATime(t, *bed.log)
		if len(bed.open) > 0 {
			t.Errorf("%s: %d sites are open", c.arm, len(bed.open))
		}
	}
}

// stuckSite is a site that cannot be closed.
type stuckSite struct{ fakeSite }

func (stuckSite) Close() error { return errors.New("pods are still there") }

type stuckBed struct {
	*countedBed
	arm  string
	from int
}

func (b stuckBed) Open(ctx context.Context, want testbed.Request) (testbed.Site, error) {
	if b.n+1 >= b.from && want.Name == b.arm {
		return stuckSite{}, nil
	}
	return b.countedBed.Open(ctx, want)
}

// If an arm cannot be taken down, the session ends: no other arm is set up beside it.
func TestTakenDownInTurn(t *testing.T) {
	x, bed := inTurn(&fakeWorkload{})
	j := record(t, x)
	o := options(x, j)
	o.Testbed = stuckBed{bed, "arm", 5}
	err := Run(t.Context(), o)
	if want := "arm arm cannot be taken down, and no other arm may be up beside it: pods are still there"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if trials := j.Trials(); len(trials) == 0 || trials[len(trials)-1].Arm != "arm" {
		t.Errorf("trials after the arm that stays up: %v", trials)
	}

	x, _ = inTurn(&fakeWorkload{})
	if err := Run(t.Context(), options(x, record(t, x))); err == nil || !strings.Contains(err.Error(), "design.setups: every-trial: the sites of this testbed cannot be taken down") {
		t.Errorf("sites that cannot be taken down: %v", err)
	}
}

// siteSampler gives conditions only at a site that is up.
type siteSampler struct {
	fakeSampler
	bed *countedBed
}

func (s *siteSampler) Start(_ context.Context, site testbed.Site) error {
	if _, ok := site.(*countedSite); !ok || len(s.bed.open) != 1 {
		return fmt.Errorf("site %v, %d open", site, len(s.bed.open))
	}
	return nil
}

// An arm is up while the run waits for a quiet machine, whose load is measured at the arm's site.
func TestWaitInTurn(t *testing.T) {
	x, bed := inTurn(&fakeWorkload{})
	x.Plan.Attempts, x.Plan.Rounds = 1, 3
	foreign := slices.Repeat([]float64{0.9}, 9)
	foreign = append(foreign, slices.Repeat([]float64{0}, 40)...)
	waited := false
	finished(t, x, func(o *Options) {
		o.Testbed, o.Sampler = bed, &siteSampler{fakeSampler{foreign}, bed}
		o.Pause, o.Patience = 1, 40
		o.Events = func(e Event) {
			if _, ok := e.(Waiting); ok {
				waited = true
			}
		}
	})
	oneAtATime(t, *bed.log)
	if !waited || len(bed.open) > 0 {
		t.Errorf("waited is %t, %d sites are open", waited, len(bed.open))
	}
}

// A try in turn takes each arm down before the next.
func TestTryInTurn(t *testing.T) {
	x, bed := inTurn(&fakeWorkload{}, &fakeLayer{name: "l"})
	tried, err := Try(t.Context(), x, bed, func(Event) {})
	if err != nil || len(tried) != 4 || len(tried[2].Layers) != 1 || tried[2].Layers[0].Checks[0].Name != "once" {
		t.Errorf("%+v, %v", tried, err)
	}
	if got, want := oneAtATime(t, *bed.log), []string{"plain", "control", "arm", "other"}; !slices.Equal(got, want) || len(bed.open) > 0 {
		t.Errorf("tried %v, want %v; %d sites are open", got, want, len(bed.open))
	}
}
