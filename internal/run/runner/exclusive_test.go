package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// switched is a fake layer that is switched for each trial.
func switched(log *[]string, name string, settling time.Duration) *fakeLayer {
	l := &fakeLayer{log: log, name: name}
	l.switched = &layer.Switch{
		On:       func(context.Context) error { l.note("on"); return nil },
		Off:      func(context.Context) error { l.note("off"); return nil },
		Settling: settling,
	}
	return l
}

// A layer with a switch is on only in the trials of its own arm. The trial after a switch waits for the settling
// time.
func TestSwitchedLayer(t *testing.T) {
	const settling = time.Hour
	synctest.Test(t, func(t *testing.T) {
		var log []string
		w := &fakeWorkload{}
		l := switched(&log, "switch", settling)
		x := expand(w, l)
		var turned time.Time
		for _, step := range []*func(context.Context) error{&l.switched.On, &l.switched.Off} {
			turn := *step
			*step = func(ctx context.Context) error { turned = time.Now(); return turn(ctx) }
		}
		var rested []time.Duration // time since the layer was last switched, by trial
		w.run = func(int) (workload.Result, error) {
			log = append(log, "trial")
			rested = append(rested, time.Since(turned))
			return good(), nil
		}
		j := finished(t, x)
		state, n, turning := "off", 0, false
		for _, line := range log {
			switch line {
			case "on switch", "off switch":
				state, turning = strings.Fields(line)[0], true
			case "trial":
				if got := j.Trials()[n].Switched; got != turning || turning && rested[n] < settling {
					t.Errorf("trial %d: switched is %t, and the layer was turned: %t, %v ago", n+1, got, turning, rested[n])
				}
				turning = false
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
	})
}

// A switch is off before any layer is taken down, since Down may restore its state from before the run.
func TestSwitchesAreOffBeforeAnyIsTakenDown(t *testing.T) {
	var log []string
	at := func(name string) *armSite {
		active, err := switched(&log, name, 0).Up(t.Context(), new(layer.Run).At(fakeSite{}))
		if err != nil {
			t.Fatal(err)
		}
		return &armSite{layers: []activeLayer{{name, active}}}
	}
	first, second := at("first"), at("second")
	s := &sites{list: []*armSite{first, second}}
	if switched, err := s.enter(t.Context(), second); err != nil || !switched {
		t.Fatal(switched, err)
	}
	if switched, err := s.enter(t.Context(), second); err != nil || switched {
		t.Errorf("the same site again: switched is %t (%v)", switched, err)
	}
	log = nil
	if err := s.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"off second", "down first", "down second"}; !slices.Equal(log, want) {
		t.Errorf("got %v, want %v", log, want)
	}
}

// A layer of another arm is shown to be off beside the arm's own layer of this kind, or else a check says that this
// was not examined.
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
		beside bool
		want   layer.Check
	}{
		{true, layer.Check{Layer: "other", Name: "off beside own", OK: true}},
		{false, layer.Check{Layer: "kind", Name: "the layer of arm arm", Expected: "not on", Observed: "not looked for", OK: true,
			Caveat: "this arm has a layer kind of its own: the absence of another arm's layer kind is not proved"}},
	} {
		x := expand(&fakeWorkload{})
		kinds(x, 0, own)
		kinds(x, 2, &fakeLayer{log: &log, name: "other", beside: test.beside})
		off := absentLayers(x, 0)
		if len(off) != 1 {
			t.Fatalf("absent: %+v", off)
		}
		got, err := off[0].prove(t.Context(), new(layer.Run).At(fakeSite{}))
		if err != nil || !slices.Equal(got, []layer.Check{test.want}) {
			t.Errorf("got %+v (%v), want %+v", got, err, test.want)
		}
		if plain := absentLayers(x, 1); len(plain) != 2 || plain[0].own != nil {
			t.Errorf("absent in an arm without one: %+v", plain)
		}
		x.Layers[2][0].Config.(*fakeLayer).own = true
		if off, plain := absentLayers(x, 0), absentLayers(x, 1); len(off) != 0 || len(plain) != 2 {
			t.Errorf("shown by the arm's own: %+v; absent in an arm without one: %+v", off, plain)
		}
	}
}

// offAfter is a layer whose absence shows only after a trial.
type offAfter struct{ *fakeLayer }

func (l offAfter) ProveOffAfter(_ context.Context, s *layer.Session, did layer.Did) ([]layer.Check, error) {
	check := layer.Check{Layer: l.name, Name: "off after", Expected: "its own"}
	return did.CheckConnections("kind", check, s.Own != nil, func(c string) bool { return c != "clear" }), nil
}

// The proof after a trial shows that a layer of another arm was off.
func TestOffAfter(t *testing.T) {
	l, own := offAfter{&fakeLayer{name: "other"}}, &fakeLayer{name: "own"}
	for _, test := range []struct {
		absent absentLayer
		want   []layer.Check
	}{
		{absentLayer{kind: "other", l: l}, []layer.Check{{Layer: "other", Name: "off after", Expected: "not its own", Observed: "clear", OK: true}}},
		{absentLayer{kind: "other", l: l, own: own, beside: true}, []layer.Check{{Layer: "other", Name: "off after", Expected: "its own", Observed: "clear"}}},
		{absentLayer{kind: "other", l: l, own: own}, nil},
		{absentLayer{kind: "own", l: own}, nil},
	} {
		p := &armSite{run: new(layer.Run), site: fakeSite{}, absent: []absentLayer{test.absent}}
		got, err := p.after(t.Context(), "kind", workload.Result{Connections: []string{"clear"}})
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("got %+v (%v), want %+v", got, err, test.want)
		}
	}
}

// Changes that layers must undo are noted in the run directory.
func TestLayersOwe(t *testing.T) {
	var log []string
	x := expand(&fakeWorkload{}, &fakeLayer{log: &log, name: "l", owes: true})
	j := finished(t, x)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := journal.OpenUndos(j.Dir())
	if err != nil || u == nil {
		t.Fatalf("%v, %v", u, err)
	}
	defer u.Close()
	if got := u.List(); len(got) != 1 || got[0].Key != "l" {
		t.Errorf("%+v", got)
	}
}

// Work and proofs that need the complete site come once, after Up.
func TestLayerSettles(t *testing.T) {
	for _, c := range []struct {
		name  string
		check layer.Check
		err   error
		want  string // error of the run
	}{
		{"shown", layer.Check{Layer: "l", Name: "in the pods", OK: true}, nil, ""},
		{"not on", layer.Check{Layer: "l", Name: "in the pods", Expected: "there", Observed: "gone"}, nil, "arm arm: layer l: it is not on: in the pods: expected there, observed gone"},
		{"fails", layer.Check{}, errors.New("no pods"), "arm arm: layer l: no pods"},
	} {
		var log []string
		l := &fakeLayer{log: &log, name: "l"}
		l.change = func(a *layer.Active) {
			a.Settle = func(context.Context) ([]layer.Check, error) {
				l.note("settled")
				return []layer.Check{c.check}, c.err
			}
		}
		x := expand(&fakeWorkload{}, l)
		j := record(t, x)
		err := Run(t.Context(), options(x, j))
		if c.want != "" {
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: error %v, want %s", c.name, err, c.want)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if want := []string{"up l", "settled l", "down l"}; !slices.Equal(log, want) {
			t.Errorf("%s: %v, want %v", c.name, log, want)
		}
		c.check.Once = true
		for _, trial := range j.Trials() {
			if slices.Contains(trial.Checks, c.check) != (trial.Arm == "arm") {
				t.Errorf("%s: arm %s has %v", c.name, trial.Arm, trial.Checks)
			}
		}
	}
}

// A layer without proofs is refused; a layer with proofs only after trials is accepted.
func TestLayerWithoutProof(t *testing.T) {
	var log []string
	x := expand(&fakeWorkload{}, &fakeLayer{log: &log, name: "l", change: func(a *layer.Active) { a.Before, a.After = nil, nil }})
	err := Run(t.Context(), options(x, record(t, x)))
	if want := "arm arm: layer l: it cannot be run: it has no proof before or after a trial"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if want := []string{"up l", "down l"}; !slices.Equal(log, want) {
		t.Errorf("%v, want %v", log, want)
	}
	check := layer.Check{Layer: "l", Name: "by the trial", OK: true}
	x = expand(&fakeWorkload{}, &fakeLayer{log: &log, name: "l", change: func(a *layer.Active) {
		a.Before, a.After = nil, func(context.Context, layer.Did) ([]layer.Check, error) { return []layer.Check{check}, nil }
	}})
	for _, trial := range finished(t, x).Trials() {
		if slices.Contains(trial.Checks, check) != (trial.Arm == "arm") {
			t.Errorf("arm %s has %v", trial.Arm, trial.Checks)
		}
	}
}

// Programs in pods beside the programs under test count as the layers' and are listed by name. Observed components
// become metrics of the trial.
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
	finish(t, o)
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

// Values that the testbed does not know are missing in a trial, which breaks no rule.
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
