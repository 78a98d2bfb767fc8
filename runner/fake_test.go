package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/journal"
	"tare/layer"
	"tare/machine"
	"tare/testbed"
	"tare/workload"
)

// fakeLayer is a layer that records what is done with it.
type fakeLayer struct {
	log   *[]string
	name  string
	upErr error
	proof func() []layer.Check // of Before
	cpu   time.Duration        // used between two questions for it
	used  time.Duration
}

func (*fakeLayer) Needs() experiment.Needs { return experiment.Needs{} }

func (l *fakeLayer) Up(context.Context, testbed.Site) (layer.Active, error) {
	*l.log = append(*l.log, "up "+l.name)
	return fakeActive{l}, l.upErr
}

func (l *fakeLayer) ProveOff(context.Context, testbed.Site) ([]layer.Check, error) {
	return []layer.Check{{Layer: l.name, Name: "off", OK: true}}, nil
}

type fakeActive struct{ l *fakeLayer }

func (a fakeActive) Proofs() []layer.Check {
	return []layer.Check{{Layer: a.l.name, Name: "once", OK: true}}
}

func (a fakeActive) Before(context.Context, testbed.Site) ([]layer.Check, error) {
	if a.l.proof != nil {
		return a.l.proof(), nil
	}
	return []layer.Check{{Layer: a.l.name, Name: "on", OK: true}}, nil
}

func (a fakeActive) After(_ context.Context, did layer.Did) ([]layer.Check, error) {
	return []layer.Check{{Layer: a.l.name, Name: "through", Observed: fmt.Sprint(did.Sent), OK: did.Sent > 0}}, nil
}

func (a fakeActive) CPU() (time.Duration, bool, error) {
	a.l.used += a.l.cpu
	return a.l.used, true, nil
}

func (a fakeActive) Down(context.Context) error {
	*a.l.log = append(*a.l.log, "down "+a.l.name)
	return nil
}

// fakeWorkload is a workload whose trials are given by a function.
type fakeWorkload struct {
	run   func(n int) (workload.Result, error)
	count int
	bound time.Duration
}

func (*fakeWorkload) Needs() experiment.Needs { return experiment.Needs{} }
func (*fakeWorkload) Metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: "speed", Unit: "op/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		{Name: "loss", Better: experiment.Lower, Scale: experiment.Difference},
		{Name: "rtt", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true},
	}
}
func (*fakeWorkload) Expect() time.Duration { return time.Millisecond }
func (w *fakeWorkload) Bound() time.Duration {
	if w.bound > 0 {
		return w.bound
	}
	return time.Minute
}

func (w *fakeWorkload) Prepare(context.Context, testbed.Site, workload.Raw) (workload.Measured, error) {
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

// fakeSampler gives the conditions of one trial after the other.
type fakeSampler struct{ foreign []float64 }

func (*fakeSampler) Start(context.Context, testbed.Site) error { return nil }
func (s *fakeSampler) Stop(context.Context, time.Duration) (testbed.Sample, error) {
	var c machine.Conditions
	if len(s.foreign) > 0 {
		c.ForeignCPU, s.foreign = s.foreign[0], s.foreign[1:]
	}
	return testbed.Sample{Conditions: c}, nil
}

// expand makes an expansion with a baseline, a control and one arm.
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
		Cells: []experiment.Cell{{ID: "fake", Workload: "fake", Kind: "fake", Metrics: w.Metrics(), Expected: w.Expect()}},
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
	j, err := journal.Create(filepath.Join(t.TempDir(), "run"), []byte("name: fake\n"), &x.Plan, &machine.Environment{Schema: machine.EnvironmentSchema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func options(x *experiment.Expansion, j *journal.Journal) Options {
	return Options{Expansion: x, Testbed: fakeBed{}, Journal: j, Sampler: &fakeSampler{}}
}
