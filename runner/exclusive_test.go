package runner

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/workload"
)

// exclusiveLayer is a fake layer that is switched for each trial.
type exclusiveLayer struct{ fakeLayer }

func (l *exclusiveLayer) Up(ctx context.Context, site testbed.Site) (layer.Active, error) {
	_, err := l.fakeLayer.Up(ctx, site)
	return exclusiveActive{fakeActive{&l.fakeLayer}}, err
}

type exclusiveActive struct{ fakeActive }

func (exclusiveActive) Exclusive() bool { return true }

func (a exclusiveActive) On(context.Context) error {
	*a.l.log = append(*a.l.log, "on "+a.l.name)
	return nil
}

func (a exclusiveActive) Off(context.Context) error {
	*a.l.log = append(*a.l.log, "off "+a.l.name)
	return nil
}

// An exclusive layer is on in the trials of its own arm, and in no other.
func TestExclusiveLayerIsSwitched(t *testing.T) {
	var log []string
	w := &fakeWorkload{}
	x := expand(w)
	on := &exclusiveLayer{fakeLayer{log: &log, name: "switch"}}
	x.Layers[2] = append(x.Layers[2], experiment.LayerItem{Kind: "switch", Config: on})
	x.Plan.Arms[2].Layers = append(x.Plan.Arms[2].Layers, experiment.PlannedLayer{Kind: "switch", Config: "switch"})
	w.run = func(int) (workload.Result, error) {
		log = append(log, "trial")
		return good(), nil
	}
	j := record(t, x)
	if err := Run(t.Context(), options(x, j)); err != nil {
		t.Fatal(err)
	}
	state, n := "off", 0
	for _, line := range log {
		switch line {
		case "on switch", "off switch":
			state = strings.Fields(line)[0]
		case "trial":
			want := "off"
			if j.Trials()[n].Arm == "arm" {
				want = "on"
			}
			if state != want {
				t.Errorf("trial %d, of arm %s: the layer is %s", n+1, j.Trials()[n].Arm, state)
			}
			n++
		}
	}
	if n != 9 || slices.Index(log, "up switch") != 0 || log[len(log)-1] != "down switch" {
		t.Errorf("%d trials: %v", n, log)
	}
}

// What runs in pods beside the programs under test is the layers', and told by
// name; observed components become metrics of the trial.
func TestSampleOfPods(t *testing.T) {
	w := &fakeWorkload{run: func(int) (workload.Result, error) {
		r := good()
		r.Used = map[string]testbed.Usage{"client": {User: time.Second}, "server": {System: 2 * time.Second}}
		return r, nil
	}}
	x := expand(w)
	x.Plan.Rounds = 1
	j := record(t, x)
	o := options(x, j)
	o.Sampler = podSampler{testbed.Sample{Beside: map[string]testbed.Usage{
		"istio-proxy": {User: time.Second, System: 500 * time.Millisecond, MaxRSS: 3000}, "logger": {User: 500 * time.Millisecond, MaxRSS: 1000},
	}, Observed: map[string]testbed.Observed{
		"istiod": {CPU: time.Second, Wall: 4 * time.Second, Memory: 1 << 20},
	}}}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	trial := j.Trials()[0]
	if got := trial.Used["layer"]; got.CPU() != 2*time.Second || got.System != 500*time.Millisecond || got.MaxRSS != 4000 {
		t.Errorf("beside the programs: %+v", got)
	}
	if got := trial.Used["sidecar:istio-proxy"]; got.CPU() != 1500*time.Millisecond || got.MaxRSS != 3000 || len(trial.Used) != 5 {
		t.Errorf("by part: %+v", trial.Used)
	}
	if trial.Values["cpu-istiod"] != 0.25 || trial.Values["memory-istiod"] != 1<<20 || trial.Values["speed"] != 5 {
		t.Errorf("values: %v", trial.Values)
	}
}

// podSampler gives the same sample for every trial.
type podSampler struct{ sample testbed.Sample }

func (podSampler) Start(context.Context, testbed.Site) error { return nil }
func (s podSampler) Stop(context.Context, time.Duration) (testbed.Sample, error) {
	return s.sample, nil
}

// What a testbed cannot tell is missing in a trial and breaks no rule.
func TestMetricThatIsNotTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		untold []string
		rule   string
	}{{"not told", []string{"speed"}, ""}, {"missing", nil, workload.RuleMetric}} {
		w := &fakeWorkload{run: func(int) (workload.Result, error) {
			r := good()
			delete(r.Values, "speed")
			r.Untold = c.untold
			return r, nil
		}}
		x := expand(w)
		x.Plan.Rounds = 1
		j := record(t, x)
		err := Run(t.Context(), options(x, j))
		rule := ""
		if broken := j.Trials()[0].Invalid; len(broken) > 0 {
			rule = broken[0].Rule
		}
		if rule != c.rule || c.rule == "" && err != nil {
			t.Errorf("%s: rule %q, error %v, want rule %q", c.name, rule, err, c.rule)
		}
	}
}
