package runner

import (
	"context"
	"fmt"
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
type exclusiveLayer struct {
	fakeLayer
	settling time.Duration
}

func (l *exclusiveLayer) Up(ctx context.Context, site testbed.Site) (layer.Active, error) {
	_, err := l.fakeLayer.Up(ctx, site)
	return exclusiveActive{fakeActive{&l.fakeLayer}, l.settling}, err
}

type exclusiveActive struct {
	fakeActive
	settling time.Duration
}

func (a exclusiveActive) Settling() time.Duration {
	*a.l.log = append(*a.l.log, "settle "+a.l.name)
	return a.settling
}

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
	on := &exclusiveLayer{fakeLayer{log: &log, name: "switch"}, time.Millisecond}
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
	state, n, turned, settled := "off", 0, false, false
	for _, line := range log {
		switch line {
		case "on switch", "off switch":
			state, turned, settled = strings.Fields(line)[0], true, false
		case "settle switch":
			settled = true
		case "trial":
			if switched := j.Trials()[n].Switched; switched != turned || turned && !settled {
				t.Errorf("trial %d: switched is %t, and the layer was turned: %t, and settled: %t", n+1, switched, turned, settled)
			}
			turned = false
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

// What puts a switch back as it was found must be the last to turn it: it is off
// before any layer is taken down.
func TestExclusiveLayersAreOffBeforeAnyIsTakenDown(t *testing.T) {
	var log []string
	at := func(name string) *place {
		return &place{active: []layer.Active{exclusiveActive{fakeActive{&fakeLayer{log: &log, name: name}}, 0}}}
	}
	first, second := at("first"), at("second")
	s := &sites{opened: []*place{first, second}}
	if switched, err := s.enter(t.Context(), second); err != nil || !switched {
		t.Fatal(switched, err)
	}
	if switched, err := s.enter(t.Context(), second); err != nil || switched {
		t.Errorf("the same place again: switched is %t (%v)", switched, err)
	}
	log = nil
	if err := s.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"off second", "down first", "down second"}; !slices.Equal(log, want) {
		t.Errorf("got %v, want %v", log, want)
	}
}

// A layer of the same kind as the arm's own is disproved beside that one, or the
// checks say that it is not.
func TestAbsentBesideOwn(t *testing.T) {
	var log []string
	kinds := func(x *experiment.Expansion, arm int, configs ...layer.Layer) {
		for i, c := range configs {
			x.Layers[arm] = append(x.Layers[arm], experiment.LayerItem{Kind: "kind", Config: c})
			x.Plan.Arms[arm].Layers = append(x.Plan.Arms[arm].Layers, experiment.PlannedLayer{Kind: "kind", Config: fmt.Sprint(arm, i)})
		}
	}
	own := &fakeLayer{log: &log, name: "own"}
	for _, test := range []struct {
		other layer.Layer
		want  layer.Check
	}{
		{&disprover{fakeLayer{log: &log, name: "other"}}, layer.Check{Layer: "other", Name: "off beside own", OK: true}},
		{&fakeLayer{log: &log, name: "other"}, layer.Check{Layer: "kind", Name: "the layer of arm arm", Expected: "not on", Observed: "not looked for", OK: true,
			Caveat: "this arm has a layer kind of its own: that nothing of the one of arm arm is on here is not shown"}},
	} {
		x := expand(&fakeWorkload{})
		kinds(x, 0, own)
		kinds(x, 2, test.other)
		off := absentLayers(x, 0)
		if len(off) != 1 {
			t.Fatalf("absent: %+v", off)
		}
		got, err := off[0].prove(t.Context(), fakeSite{})
		if err != nil || !slices.Equal(got, []layer.Check{test.want}) {
			t.Errorf("got %+v (%v), want %+v", got, err, test.want)
		}
		if plain := absentLayers(x, 1); len(plain) != 2 || plain[0].own != nil {
			t.Errorf("absent in an arm without one: %+v", plain)
		}
	}
}

type disprover struct{ fakeLayer }

func (d *disprover) DisproveBeside(_ context.Context, _ testbed.Site, own layer.Layer) ([]layer.Check, error) {
	return []layer.Check{{Layer: d.name, Name: "off beside " + own.(*fakeLayer).name, OK: true}}, nil
}

// Only a run that goes on tells its layers so.
func TestResumedRunTellsItsLayers(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		var log []string
		x := expand(&fakeWorkload{})
		l := &resuming{fakeLayer{log: &log, name: "l"}}
		x.Layers[2] = append(x.Layers[2], experiment.LayerItem{Kind: "l", Config: l})
		x.Plan.Arms[2].Layers = append(x.Plan.Arms[2].Layers, experiment.PlannedLayer{Kind: "l", Config: "l"})
		if _, err := openSites(t.Context(), x, fakeBed{}, resumed, func(Event) {}); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{false: "up l", true: "resume l"}[resumed]; log[0] != want {
			t.Errorf("resumed %t: %v", resumed, log)
		}
	}
}

type resuming struct{ fakeLayer }

func (r *resuming) Resume() { *r.log = append(*r.log, "resume "+r.name) }

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
	o.Sampler = podSampler{testbed.Sample{Sidecars: map[string]testbed.Usage{
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
		name        string
		unavailable []string
		rule        string
	}{{"not told", []string{"speed"}, ""}, {"missing", nil, workload.RuleMetric}} {
		w := &fakeWorkload{run: func(int) (workload.Result, error) {
			r := good()
			delete(r.Values, "speed")
			r.Unavailable = c.unavailable
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
