package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// fakeLayer is a layer that records the calls of its methods.
type fakeLayer struct {
	log      *[]string
	name     string
	upErr    error
	proof    func() []layer.Check  // of Before
	costs    []layer.Cost          // used between two questions for it
	switched *layer.Switch         // records too
	change   func(a *layer.Active) // of what Up gives
	beside   bool                  // it can tell beside a layer of the same kind
	own      bool                  // that one's proof tells
	owes     bool                  // it notes something in the run's ledger
	used     int                   // questions for costs
}

func (l *fakeLayer) Declare() experiment.Declaration {
	return experiment.Declaration{ProvesBeside: l.beside, OwnProves: l.own}
}

func (l *fakeLayer) note(what string) { *l.log = append(*l.log, what+" "+l.name) }

func (l *fakeLayer) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	l.note("up")
	if l.owes {
		if err := s.Ledger().NoteUndo(layer.Undo{Layer: l.name, Key: l.name, To: "off"}); err != nil {
			return nil, err
		}
	}
	if l.upErr != nil {
		return nil, l.upErr
	}
	a := &layer.Active{
		Proofs: []layer.Check{{Layer: l.name, Name: "once", OK: true}},
		Before: func(context.Context, testbed.Site) ([]layer.Check, error) {
			if l.proof != nil {
				return l.proof(), nil
			}
			return []layer.Check{{Layer: l.name, Name: "on", OK: true}}, nil
		},
		Costs: func() (costs []layer.Cost, err error) {
			l.used++
			for _, c := range l.costs {
				costs = append(costs, layer.Cost{Part: c.Part, CPU: c.CPU * time.Duration(l.used), Memory: c.Memory})
			}
			return costs, nil
		},
		After: func(_ context.Context, did layer.Did) ([]layer.Check, error) {
			return []layer.Check{{Layer: l.name, Name: "through", Observed: fmt.Sprint(did.Sent), OK: did.Sent > 0}}, nil
		},
		Down:   func(context.Context) error { l.note("down"); return nil },
		Switch: l.switched,
	}
	if l.change != nil {
		l.change(a)
	}
	return a, nil
}

func (l *fakeLayer) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	if own, _ := s.Own.(*fakeLayer); own != nil {
		return []layer.Check{{Layer: l.name, Name: "off beside " + own.name, OK: true}}, nil
	}
	return []layer.Check{{Layer: l.name, Name: "off", OK: true}}, nil
}

// fakeWorkload is a workload whose trials are given by a function.
type fakeWorkload struct {
	run   func(n int) (workload.Result, error)
	count int
	bound time.Duration
	cost  *experiment.Cost
	clear func(context.Context) error
	seeds []uint64 // of the trials so far
}

func (*fakeWorkload) Declare() experiment.Declaration { return experiment.Declaration{} }

func (w *fakeWorkload) Measures() experiment.Measures {
	return experiment.Measures{Expected: time.Millisecond, Limit: cmp.Or(w.bound, time.Minute), Cost: w.cost, Metrics: []experiment.Metric{
		{Name: "speed", Unit: "op/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		{Name: "loss", Better: experiment.Lower, Scale: experiment.Difference},
		{Name: "rtt", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true},
	}}
}

func (w *fakeWorkload) Prepare(_ context.Context, t *workload.Trial) (workload.Measured, error) {
	t.Clear, w.seeds = w.clear, append(w.seeds, t.Seed)
	return func(ctx context.Context) (workload.Result, error) {
		w.count++
		if w.run != nil {
			return w.run(w.count)
		}
		return good(), nil
	}, nil
}

func good() workload.Result {
	return workload.Result{Values: map[string]float64{"speed": 5, "loss": 0}, Sent: 1}
}

// fakeBed is a testbed whose sites cannot do anything.
type fakeBed struct{}

func (fakeBed) Open(context.Context, testbed.Request) (testbed.Site, error) {
	return fakeSite{}, nil
}
func (fakeBed) Close() error { return nil }

type fakeSite struct{}

func (fakeSite) Start(context.Context, testbed.Place, testbed.Command) (testbed.Process, error) {
	return nil, fmt.Errorf("a fake site starts nothing")
}

// fakeSampler returns the given conditions, one for each trial.
type fakeSampler struct{ foreign []float64 }

func (*fakeSampler) Start(context.Context, testbed.Site) error { return nil }
func (s *fakeSampler) Stop(context.Context, time.Duration) (testbed.Sample, error) {
	var c machine.Conditions
	if len(s.foreign) > 0 {
		c.ForeignCPU, s.foreign = s.foreign[0], s.foreign[1:]
	}
	return testbed.Sample{Conditions: c}, nil
}

// expand returns an expansion with a baseline, a control and one arm.
func expand(w *fakeWorkload, layers ...*fakeLayer) *experiment.Expansion {
	foreign := quantity.Percent(0.2)
	zero := quantity.Percent(0)
	plan := experiment.Plan{
		Schema: experiment.PlanSchema, Name: "fake", Testbed: "local", Seed: 1, Rounds: 3, Attempts: 3,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8,
		Limits: experiment.Limits{ForeignCPU: &foreign, Errors: &zero},
		Arms: []experiment.PlannedArm{
			{Name: "plain", Role: experiment.Baseline}, {Name: "control", Role: experiment.Control}, {Name: "arm", Role: experiment.Treatment},
		},
		Cells: []experiment.Cell{{ID: "fake", Workload: "fake", Kind: "fake", Metrics: w.Measures().All(), Expected: w.Measures().Expected}},
	}
	items := []experiment.LayerItem{}
	for _, l := range layers {
		items = append(items, experiment.LayerItem{Kind: l.name, Config: l})
		plan.Arms[2].Layers = append(plan.Arms[2].Layers, experiment.PlannedLayer{Kind: l.name, Config: l.name})
	}
	return &experiment.Expansion{
		Plan: plan, Layers: [][]experiment.LayerItem{nil, nil, items},
		Cells: []experiment.CellSetup{{Workload: w, Testbed: experiment.Testbed{Local: &experiment.Local{}}}},
	}
}

// record makes a run directory for an expansion.
func record(t *testing.T, x *experiment.Expansion) *journal.Journal {
	t.Helper()
	j, err := journal.Create(filepath.Join(t.TempDir(), "run"), []byte("name: fake\n"), nil, &x.Plan, &machine.Environment{Schema: machine.EnvironmentSchema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.Close()
		if _, _, err := journal.Verify(j.Dir()); err != nil { // the trials are in order, even after an error
			t.Error(err)
		}
	})
	return j
}

func options(x *experiment.Expansion, j *journal.Journal) Options {
	return Options{Expansion: x, Testbed: fakeBed{}, Journal: j, Sampler: &fakeSampler{}}
}

// finish carries out a run to its end.
func finish(t *testing.T, o Options) {
	t.Helper()
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// finished returns the record of a run with the usual options, which a function may change.
func finished(t *testing.T, x *experiment.Expansion, change ...func(*Options)) *journal.Journal {
	t.Helper()
	j := record(t, x)
	o := options(x, j)
	for _, c := range change {
		c(&o)
	}
	finish(t, o)
	return j
}
