package compare

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// wireguard describes a run with one treatment of the given cost factor.
func wireguard(name string, factor float64, seed uint64) made {
	return made{name: name, arms: []string{"wireguard"}, factors: map[string]float64{"wireguard": factor}, seed: seed}
}

func comparing(t *testing.T, o Options, in ...Input) *Result {
	t.Helper()
	r, err := Runs(in, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// steady are occasions that hardly differ. An overhead is compared with the earlier overhead,
// whatever the level of the machine.
var steady = Options{Occasions: func(string, string, string) (float64, int) { return 1e-6, 20 }}

func TestChangeOfOverhead(t *testing.T) {
	later := wireguard("b", 1.08, 3)
	later.level, later.start = 250, february
	r := comparing(t, steady, wireguard("a", 1.05, 1).run(t), later.run(t))
	if len(r.Changes) != 1 || len(r.Floors) != 1 || r.Family.Changes != 1 {
		t.Fatalf("%d changes, %d floors, family of %d", len(r.Changes), len(r.Floors), r.Family.Changes)
	}
	c := r.Changes[0]
	if math.Abs(c.Overhead.Lo-0.024) > 0.002 || math.Abs(c.Overhead.Hi-0.032) > 0.001 || !c.Observational || *c.Versus != (analysis.Versus{Run: 1}) || c.Verdict != analysis.Costs || c.Method != contrast.MethodTwoSample+contrast.MethodOccasions || c.Paired {
		t.Errorf("%+v", c)
	}
	if truth := 1.08/1.05 - 1; c.Overhead.Lo > truth || c.Overhead.Hi < truth {
		t.Errorf("[%v, %v] does not hold %v", c.Overhead.Lo, c.Overhead.Hi, truth)
	}
	if c.From.Run != 1 || c.To.Run != 2 || c.From.Verdict != analysis.Costs || math.Abs(c.To.Overhead.Point-0.08) > 0.01 {
		t.Errorf("from %+v to %+v", c.From, c.To)
	}
	if c.Floor == 0 || r.Floors[0].Arm != experiment.ControlName {
		t.Errorf("floor %v of %+v", c.Floor, r.Floors)
	}
	if o := r.Observation; len(o.Starts) != 2 || !o.Starts[1].Equal(february) || o.Machines != machinesAlike || o.Within != nil {
		t.Errorf("%+v", o)
	}
}

// The sign is that of a cost for a metric of which more is better, too.
func TestChangeOfBandwidth(t *testing.T) {
	metrics := []experiment.Metric{bandwidth}
	a, b := wireguard("a", 0.95, 1), wireguard("b", 0.90, 2)
	a.metrics, b.metrics = metrics, metrics
	c := comparing(t, steady, a.run(t), b.run(t)).Changes[0]
	if c.Verdict != analysis.Costs || math.Abs(c.Overhead.Point-(1-0.90/0.95)) > 0.005 {
		t.Errorf("%+v", c)
	}
	back := comparing(t, Options{Reference: reference{Run: 2, Arm: "plain"}, Occasions: steady.Occasions}, a.run(t), b.run(t)).Changes[0]
	if back.Verdict != analysis.Gains || *back.Versus != (analysis.Versus{Run: 2}) || back.From.Run != 2 {
		t.Errorf("the other way round: %+v", back)
	}
}

// Amounts are compared as amounts: a trial drops 10 more than before.
func TestChangeOfAmount(t *testing.T) {
	a, b := wireguard("a", 1, 1), wireguard("b", 2, 2)
	a.metrics, b.metrics = []experiment.Metric{drops}, []experiment.Metric{drops}
	c := comparing(t, steady, a.run(t), b.run(t)).Changes[0]
	if c.Verdict != analysis.Costs || c.Overhead.Lo < 5 || c.Overhead.Hi > 15 || c.Metric != drops {
		t.Errorf("%+v", c)
	}
}

var pairsOfRuns = flag.Int("compare.n", 250, "pairs of runs that TestChangesCover simulates")

// Over many pairs of runs, the intervals contain the true change about as often as their
// confidence, and there are few false claims, for paired and imported trials.
func TestChangesCover(t *testing.T) {
	times := *pairsOfRuns
	for _, foreign := range []bool{false, true} {
		held, claimed := 0, 0
		for i := range times {
			a, b := wireguard("a", 1.05, uint64(2*i)), wireguard("b", 1.05, uint64(2*i+1))
			a.rounds, b.rounds, b.level, b.start = 12, 16, 170, february
			a.foreign, b.foreign = foreign, foreign
			a.change = func(p *experiment.Plan, _ *machine.Environment) { p.Equivalence = 0 } // otherwise "equivalent" would hide claims
			c := comparing(t, steady, a.run(t), b.run(t)).Changes[0]
			if c.Overhead.Lo <= 0 && c.Overhead.Hi >= 0 {
				held++
			}
			if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
				claimed++
			}
		}
		t.Logf("imported %v: of %d, %d intervals hold the truth and %d claim a change", foreign, times, held, claimed)
		if held < times*92/100 || claimed > times*8/100 {
			t.Errorf("imported %v: of %d, %d intervals hold the truth and %d claim a change", foreign, times, held, claimed)
		}
	}
}

// TestOccasions compares two runs of an unchanged layer whose overhead differs by 1 % from occasion
// to occasion. It counts claims of a change, and intervals that contain no change. With -compare.n
// 4000, docs/compare.md quotes it.
func TestOccasions(t *testing.T) {
	times := *pairsOfRuns
	rng := rand.New(rand.NewPCG(4, 1))
	held, claimed, alone := 0, 0, 0
	for i := range times {
		overhead := func() float64 { return 1.05 * math.Exp(0.01*rng.NormFloat64()) }
		var contrasts []float64
		factor := overhead()
		for k := range 5 { // the first of the runs is compared
			of := factor
			if k > 0 {
				of = overhead()
			}
			contrasts = append(contrasts, math.Log(of)+0.0016*rng.NormFloat64())
		}
		a, b := wireguard("a", factor, uint64(2*i)), wireguard("b", overhead(), uint64(2*i+1))
		a.rounds, b.rounds, b.start = 12, 12, february
		a.change = func(p *experiment.Plan, _ *machine.Environment) { p.Equivalence = 0 }
		in := []Input{a.run(t), b.run(t)}
		c := comparing(t, Options{Occasions: func(string, string, string) (float64, int) { return contrast.Deviation(contrasts), len(contrasts) }}, in...).Changes[0]
		if c.Overhead.Lo <= 0 && c.Overhead.Hi >= 0 {
			held++
		}
		if c.Verdict == analysis.Invalid { // a control failed
			continue
		} else if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
			claimed++
		} else if c.Reason.Kind() != (Occasions{}).Kind() || c.MDE != 0 || c.Needed != 0 {
			t.Fatalf("%s: %+v", c.Verdict, c.Reason)
		}
		c = comparing(t, Options{}, in...).Changes[0]
		if c.Verdict != analysis.Invalid && (c.Verdict != analysis.NotResolved || c.Reason != analysis.Reason(Occasions{})) || c.Overhead.Lo >= c.Overhead.Hi || c.Needed != 0 {
			t.Fatalf("two occasions alone: %s, %T, needed %d, %+v", c.Verdict, c.Reason, c.Needed, c.Overhead)
		}
		if c.Overhead.Lo > 0 || c.Overhead.Hi < 0 {
			alone++
		}
	}
	t.Logf("of %d, %d intervals hold that nothing changed and %d claim a change; %d intervals of two occasions alone exclude it", times, held, claimed, alone)
	if held < times*92/100 || claimed > times*8/100 || alone < times/5 {
		t.Errorf("of %d, %d intervals hold that nothing changed and %d claim a change; %d of two occasions alone exclude it", times, held, claimed, alone)
	}
}

func TestChangeOfImported(t *testing.T) {
	a, b := wireguard("a", 1.05, 1), wireguard("b", 1.20, 2)
	a.foreign, b.foreign, a.rounds, b.rounds = true, true, 40, 40
	b.start, b.change = february, func(p *experiment.Plan, _ *machine.Environment) {
		p.Import.Arms[0].Facts = map[string][]string{"kernel": {"6.8"}}
	}
	r := comparing(t, steady, a.run(t), b.run(t))
	c := r.Changes[0]
	if c.Method != contrast.MethodWelchSum+contrast.MethodOccasions || c.Verdict != analysis.Costs || math.Abs(c.Overhead.Point-(1.20/1.05-1)) > 0.03 {
		t.Errorf("%+v", c)
	}
	if c.Baseline.N != 0 || len(r.Floors) != 0 {
		t.Errorf("summary %+v, floors %+v", c.Baseline, r.Floors)
	}
	mixed := comparing(t, steady, wireguard("c", 1.05, 3).run(t), b.run(t)).Changes[0]
	if mixed.Method != contrast.MethodWelchSum+contrast.MethodOccasions || mixed.Verdict != analysis.Costs {
		t.Errorf("paired against unpaired: %+v", mixed)
	}
	if want := []Property{{Group: imported, Path: "kernel", Values: []string{"5.15", "6.8"}}}; !sameProperties(r.Differences, want) {
		t.Errorf("differences %+v", r.Differences)
	}
	if o := r.Observation; o.Machines != MachinesUnknown || len(o.Within) != 1 || !slices.Equal(o.Within[0].Runs, []int{1, 2}) {
		t.Errorf("%+v", o)
	}
}

func sameProperties(got, want []Property) bool {
	plain := func(list []Property) string { return fmt.Sprint(paths3(list)) }
	return plain(got) == plain(want)
}

func paths3(list []Property) (out [][]string) {
	for _, p := range list {
		out = append(out, append([]string{string(p.Group), p.Path}, p.Values...))
	}
	return out
}

// Two versions in one run are compared with each other by rounds. In two runs, their overheads are
// compared.
func TestMatch(t *testing.T) {
	match := []match{{Old: "release-1.1", New: "release-1.2"}}
	both := made{name: "a", arms: []string{"release-1.1", "release-1.2"}, factors: map[string]float64{"release-1.1": 1.10, "release-1.2": 1.15}, seed: 1}
	r := comparing(t, Options{Matches: match}, both.run(t))
	c := r.Changes[0]
	if !c.Direct || !c.Paired || c.Method != "signed-rank" || c.Verdict != analysis.Costs || math.Abs(c.Overhead.Lo-0.043) > 0.001 || math.Abs(c.Overhead.Hi-0.050) > 0.001 || c.Observational || *c.Versus != (analysis.Versus{Arm: "release-1.1"}) {
		t.Errorf("%+v", c)
	}
	if r.Observation != nil || len(r.Floors) != 0 {
		t.Errorf("observation %+v, floors %v", r.Observation, r.Floors)
	}
	old := made{name: "b", arms: []string{"release-1.1"}, factors: map[string]float64{"release-1.1": 1.10}, seed: 2}
	recent := made{name: "c", arms: []string{"release-1.2"}, factors: map[string]float64{"release-1.2": 1.15}, seed: 3, start: february}
	recent.change = func(p *experiment.Plan, _ *machine.Environment) {
		p.Arms[2].Layers[0].Config = map[string]any{"implementation": "kernel", "version": "1.2"}
	}
	r = comparing(t, Options{Matches: match}, old.run(t), recent.run(t))
	if c = r.Changes[0]; c.Direct || c.Overhead.Point < 0 || *c.Versus != (analysis.Versus{Arm: "release-1.1", Run: 1}) || len(r.Floors) != 1 {
		t.Errorf("%+v, %d floors", c, len(r.Floors))
	}
	if want := []Property{{Group: layers, Path: "release-1.1 as release-1.2: wireguard.version", Values: []string{"", "1.2"}}}; !sameProperties(r.Differences, want) {
		t.Errorf("differences %v", paths3(r.Differences))
	}
	// One of three runs has both versions: there the two are compared directly.
	r = comparing(t, Options{Matches: match}, old.run(t), both.run(t), recent.run(t))
	var got []string
	for _, c := range r.Changes {
		got = append(got, fmt.Sprintf("%s in %d against %s in %d", c.To.Arm, c.To.Run, c.From.Arm, c.From.Run))
	}
	want := []string{"release-1.1 in 2 against release-1.1 in 1", "release-1.2 in 3 against release-1.2 in 2",
		"release-1.2 in 2 against release-1.1 in 2", "release-1.2 in 3 against release-1.1 in 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// In the reference's run, levels use its own comparisons; other runs are independent samples.
func TestLevels(t *testing.T) {
	a, b, c := wireguard("a", 1.05, 1), wireguard("b", 1.05, 2), wireguard("c", 1.05, 3)
	b.level, b.start, c.level, c.start = 120, february, 80, february.AddDate(0, 1, 0)
	in := []Input{a.run(t), b.run(t), c.run(t)}
	r := comparing(t, Options{}, in...)
	var got []string
	for _, l := range r.Levels {
		text := "the reference"
		if l.Against != nil {
			text = fmt.Sprintf("%s, paired %v", l.Against.Verdict, l.Against.Paired)
		}
		got = append(got, fmt.Sprintf("%s of %d: %s", l.Arm, l.Run, text))
	}
	want := []string{"plain of 1: the reference", "wireguard of 1: costs, paired true", "plain of 2: costs, paired false", "wireguard of 2: costs, paired false",
		"plain of 3: gains, paired false", "wireguard of 3: gains, paired false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if own := &in[0].Run.Comparisons[0]; r.Levels[1].Against != own || r.Family.Levels != 4 {
		t.Errorf("%+v, want %+v; family of %d", r.Levels[1].Against, own, r.Family.Levels)
	}
	// The reference may be a treatment or the control, which is otherwise not among the levels.
	r = comparing(t, Options{Reference: reference{Run: 2, Arm: "wireguard"}}, in...)
	for _, l := range r.Levels {
		switch {
		case l.Run == 2 && l.Arm == "plain" && (l.Against.Verdict != analysis.Gains || !l.Against.Paired || l.Against.Observational):
			t.Errorf("plain against wireguard in one run: %+v", l.Against)
		case l.Run == 1 && !l.Against.Observational:
			t.Errorf("across runs: %+v", l.Against)
		}
	}
	r = comparing(t, Options{Reference: reference{Run: 1, Arm: experiment.ControlName}}, in[0])
	if r.Levels[1].Arm != experiment.ControlName || r.Levels[1].Against != nil || r.Levels[0].Against.Verdict != analysis.Equivalent {
		t.Errorf("the control as reference: %+v", r.Levels)
	}
}

// Runs without verdicts and unfinished runs give no verdicts here.
func TestInvalidAndUnfinished(t *testing.T) {
	broken := wireguard("b", 1.08, 2)
	broken.factors[experiment.ControlName] = 1.05
	in := []Input{wireguard("a", 1.05, 1).run(t), broken.run(t)}
	in[0].Run.Finished = false
	r := comparing(t, Options{}, in...)
	for _, c := range r.Changes {
		if c.Verdict != analysis.Invalid || !reflect.DeepEqual(c.Reason, analysis.InvalidRuns{Runs: []int{2}}) {
			t.Errorf("%s: %+v", c.Verdict, c.Reason)
		}
	}
	for _, l := range r.Levels {
		if l.Run == 2 && l.Against.Verdict != analysis.Invalid {
			t.Errorf("level of %s in run 2: %+v", l.Arm, l.Against)
		}
	}
	unfinished, invalid := UnfinishedRun{Run: 1, Unfinished: analysis.Unfinished{Done: 60, Planned: 60}}, InvalidRun{Run: 2, Reasons: in[1].Run.Reasons}
	if len(r.Warnings) < 2 || r.Warnings[0] != unfinished || !reflect.DeepEqual(r.Warnings[1], invalid) {
		t.Errorf("warnings %+v", r.Warnings)
	}
	in[1] = wireguard("b", 1.08, 2).run(t)
	r = comparing(t, Options{}, in...)
	for _, c := range r.Changes {
		if c.Verdict != analysis.Interim || !reflect.DeepEqual(c.Reason, analysis.UnfinishedRuns{Runs: []int{1}}) {
			t.Errorf("%s: %+v", c.Verdict, c.Reason)
		}
	}
	for _, l := range r.Levels {
		if l.Run == 2 && l.Against.Verdict != analysis.Interim {
			t.Errorf("level of %s in run 2: %+v", l.Arm, l.Against)
		}
	}
}

// Controls that each pass but differ between runs withhold the verdicts.
func TestFloorFails(t *testing.T) {
	a, b := wireguard("a", 1.05, 1), wireguard("b", 1.08, 2)
	a.factors[experiment.ControlName], b.factors[experiment.ControlName] = 0.985, 1.015
	a.rounds, b.rounds = 40, 40
	in := []Input{a.run(t), b.run(t)}
	if !in[0].Run.Valid || !in[1].Run.Valid {
		t.Fatalf("the runs are not valid by themselves: %v, %v", in[0].Run.Reasons, in[1].Run.Reasons)
	}
	r := comparing(t, Options{}, in...)
	if c := r.Changes[0]; c.Verdict != analysis.Invalid || c.Reason != (analysis.ControlChanged{}) {
		t.Errorf("%s: %+v", c.Verdict, c.Reason)
	}
	if len(r.Warnings) != 1 {
		t.Fatalf("warnings %+v", r.Warnings)
	}
	if changed := r.Warnings[0].(ChangedControl); changed.From != 1 || changed.To != 2 || changed.Metric.Name != "latency" || changed.Cell != "network.tcp" || changed.Overhead.Lo < 0.02 {
		t.Errorf("%+v", changed)
	}
}

// Some runs cannot be compared.
func TestRefusals(t *testing.T) {
	a := wireguard("a", 1.05, 1).run(t)
	other := wireguard("other", 1.05, 2)
	other.change = func(p *experiment.Plan, _ *machine.Environment) { p.Cells[0].ID = "storage.read" }
	unit := wireguard("unit", 1.05, 3)
	unit.metrics = []experiment.Metric{{Name: "latency", Unit: "ms", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}}
	copied := a
	copied.Name = "copy of a"
	for _, c := range []struct {
		name string
		in   []Input
		want error
		text string
	}{
		{"none", nil, ErrNothingToCompare, "there is only one run: name another one, or two arms of it"},
		{"one", []Input{a}, ErrNothingToCompare, "there is only one run: name another one, or two arms of it"},
		{"twice", []Input{a, copied}, ErrSameRun, "a run cannot be compared with itself: runs 1 (a) and 2 (copy of a) hold the same trials"},
		{"other cells", []Input{a, other.run(t)}, ErrNothingInCommon, "the runs have no cell in common with the same metric: run 1 (a) has network.tcp; run 2 (other) has storage.read"},
		{"other unit", []Input{a, unit.run(t)}, ErrNothingInCommon, "the runs have no cell in common with the same metric: run 1 (a) has network.tcp; run 2 (unit) has network.tcp"},
		{"no plan", []Input{a, {Name: "b"}}, nil, "run 2 (b) has no plan"},
	} {
		_, err := Runs(c.in, Options{})
		if err == nil || err.Error() != c.text || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.text)
		}
	}
}

// Arms, cells and metrics that only some runs have are listed.
func TestApart(t *testing.T) {
	a, b := wireguard("a", 1.05, 1), made{name: "b", arms: []string{"ipsec"}, factors: map[string]float64{"ipsec": 1.2}, seed: 2}
	b.metrics = []experiment.Metric{latency, bandwidth}
	b.change = func(p *experiment.Plan, _ *machine.Environment) {
		p.Cells = append(p.Cells, experiment.Cell{ID: "network.udp", Workload: "network", Metrics: p.Cells[0].Metrics})
	}
	r := comparing(t, Options{}, a.run(t), b.run(t))
	var got []string
	for _, one := range r.Apart {
		got = append(got, fmt.Sprintln(one.What, one.Name, one.Runs, one.Other))
	}
	want := []string{"metric bandwidth in network.tcp [2] []\n", "cell network.udp [2] []\n", "arm wireguard [1] []\n", "arm ipsec [2] []\n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if len(r.Changes) != 0 {
		t.Errorf("changes of arms of different names: %+v", r.Changes)
	}
}

// In sweeps, a parameter that differs between cells is no difference between runs.
func TestSweptCells(t *testing.T) {
	swept := func(mtus ...int) func(*experiment.Plan, *machine.Environment) {
		return func(p *experiment.Plan, _ *machine.Environment) {
			one := p.Cells[0]
			p.Cells = nil
			for i, mtu := range mtus {
				one.ID = fmt.Sprintf("network.%d", i)
				one.Levels = []factor.Level{{Factor: "mtu", Value: fmt.Sprint(mtu)}}
				one.Testbed = map[string]any{"link": map[string]any{"mtu": mtu, "rate": "1Gbit"}}
				p.Cells = append(p.Cells, one)
			}
		}
	}
	a, b := wireguard("a", 1.05, 1), wireguard("b", 1.05, 2)
	a.change, b.change = swept(1500, 9000), swept(1500, 8896)
	r := comparing(t, Options{}, a.run(t), b.run(t))
	if want := []Property{{Group: testbeds, Path: "network.1: link.mtu", Values: []string{"9000", "8896"}}}; !sameProperties(r.Differences, want) {
		t.Errorf("differences %v", paths3(r.Differences))
	}
}

// A number of rounds from a pilot gives a finding.
func TestPilotIsToldOf(t *testing.T) {
	b := wireguard("b", 1.05, 2)
	b.change = func(p *experiment.Plan, _ *machine.Environment) {
		p.Precision, p.MaxRounds, p.Equivalence = 0.02, 20, 0.03
	}
	r := comparing(t, Options{}, wireguard("a", 1.05, 1).run(t), b.run(t))
	if !slices.Contains(r.Warnings, analysis.Finding(PilotRounds{Run: 2})) || !slices.Contains(r.Warnings, analysis.Finding(OtherRules{Run: 2, Reference: 1})) {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// Without a valid trial on one side there is no estimate, no panic and no invalid JSON.
func TestEmptyArm(t *testing.T) {
	b := wireguard("b", 1.05, 2)
	b.spoil = func(trials []journal.Trial) {
		for i := range trials {
			if trials[i].Arm == "wireguard" {
				trials[i].Values, trials[i].Invalid = nil, []journal.Violation{{Rule: "proof"}}
			}
		}
	}
	r := comparing(t, Options{}, wireguard("a", 1.05, 1).run(t), b.run(t))
	if c := r.Changes[0]; c.Verdict != analysis.NotResolved || c.To.Known {
		t.Errorf("%+v", c)
	}
}
