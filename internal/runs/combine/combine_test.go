package combine

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/runs/compare"
	"tare/internal/test/slow"
	"tare/internal/workload"
)

var runs = flag.Int("runs", 30, "simulated combinations behind each share of TestCombinationsCover")

// made describes a run of "layer" beside "plain" and its control.
type made struct {
	cost    float64 // cost of the layer, on the log scale
	control float64 // difference of the control
	noise   float64
	rounds  int
	missing int // number of missing rounds
	seed    uint64
	change  func(p *experiment.Plan)
}

func (m made) input(name string) compare.Input {
	p := &experiment.Plan{Name: "disk", Testbed: "local", Rounds: m.rounds, Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1, Seed: m.seed,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: "control", Role: experiment.Control},
			{Name: "layer", Role: experiment.Treatment, Layers: []experiment.PlannedLayer{{Kind: "env", Config: map[string]any{"set": "on"}}}}},
		Cells: []experiment.Cell{{ID: "disk.1", Workload: "disk", Kind: "command", Config: map[string]any{"size": "4KiB"}, Testbed: map[string]any{},
			Metrics: []experiment.Metric{{Name: "time", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
				{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio}}}}}
	if m.change != nil {
		m.change(p)
	}
	random := rand.New(rand.NewPCG(m.seed, 9))
	at := time.Date(2026, 1, 5, 2, 0, 0, 0, time.UTC).AddDate(0, 0, int(m.seed))
	var trials []journal.Trial
	for round := 1; round <= m.rounds-m.missing; round++ {
		for i, arm := range p.Arms {
			level := m.noise * random.NormFloat64()
			switch arm.Role {
			case experiment.Treatment:
				level += m.cost
			case experiment.Control:
				level += m.control
			}
			trials = append(trials, journal.Trial{Seq: len(trials) + 1, Session: 1, Round: round, Attempt: 1, Position: i + 1, Cell: "disk.1", Arm: arm.Name,
				Start: at.Add(time.Duration(len(trials)) * time.Second), Wall: time.Second,
				Values: map[string]float64{"time": math.Exp(level), "rate": math.Exp(-level)}})
		}
	}
	r := analysis.Analyze(p, trials, nil)
	r.Finished = m.missing == 0
	return compare.Input{Name: name, Run: r, Trials: trials}
}

// several returns runs with the given costs, on the log scale.
func several(change func(i int, m *made), costs ...float64) []compare.Input {
	var in []compare.Input
	for i, cost := range costs {
		m := made{cost: cost, noise: 0.01, rounds: 12, seed: uint64(i + 1)}
		if change != nil {
			change(i, &m)
		}
		in = append(in, m.input(fmt.Sprintf("runs/%d", i+1)))
	}
	return in
}

func only(t *testing.T, in []compare.Input, metric string) (*Result, Comparison) {
	t.Helper()
	r, err := Runs(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Comparisons {
		if c.Metric.Name == metric {
			return r, c
		}
	}
	t.Fatalf("no comparison on %s", metric)
	return nil, Comparison{}
}

func TestRunsAreJoined(t *testing.T) {
	r, c := only(t, several(nil, 0.05, 0.09, 0.07, 0.11, 0.06), "time")
	if c.Verdict != analysis.Costs || c.Method != contrast.MethodRandomEffects || c.Rounds != 5 || r.Family != 1 {
		t.Errorf("%s by %s of %d runs in a family of %d", c.Verdict, c.Method, c.Rounds, r.Family)
	}
	mean := math.Expm1((0.05 + 0.09 + 0.07 + 0.11 + 0.06) / 5)
	if math.Abs(c.Overhead.Point-mean) > 0.01 || c.Overhead.Lo > mean || c.Overhead.Hi < mean {
		t.Errorf("mean %+v, want about %v", c.Overhead, mean)
	}
	if c.Spread.Lo > 0.024 || c.Spread.Point < 0.01 || c.Spread.Point > 0.04 || c.Spread.Hi < 0.024 || c.PSpread > 0.001 {
		t.Errorf("spread %+v, p %v, want about 0.024", c.Spread, c.PSpread)
	}
	if c.Prediction.Lo > c.Overhead.Lo || c.Prediction.Hi < c.Overhead.Hi || c.Prediction.Lo > 0.05 {
		t.Errorf("another run: %+v, mean %+v", c.Prediction, c.Overhead)
	}
	sum := 0.0
	for _, o := range c.Occasions {
		sum += o.Weight
	}
	if math.Abs(sum-1) > 1e-9 || len(c.Occasions) != 5 {
		t.Errorf("occasions %+v", c.Occasions)
	}
	if p := c.Exceeds(0); p > 0.01 {
		t.Errorf("p of no cost: %v", p)
	}
	if _, rate := only(t, several(nil, 0.05, 0.09, 0.07, 0.11, 0.06), "rate"); rate.Verdict != analysis.Costs || rate.Spread.Point < 0.01 || rate.Prediction.Lo > rate.Prediction.Hi {
		t.Errorf("the rate: %+v", rate)
	}
}

func TestEquivalent(t *testing.T) {
	if _, c := only(t, several(nil, 0.001, -0.002, 0.003, 0, 0.001), "time"); c.Verdict != analysis.Equivalent {
		t.Errorf("%s, %+v", c.Verdict, c.Overhead)
	}
}

// Unusable runs are left out by name.
func TestLeftOut(t *testing.T) {
	in := several(func(i int, m *made) {
		switch i {
		case 1:
			m.missing = 4
		case 2:
			m.control = 0.2 // the control fails
		}
	}, 0.05, 0.9, 0.9, 0.06)
	r, c := only(t, in, "time")
	if c.Rounds != 2 || c.Overhead.Point > 0.1 {
		t.Errorf("%d runs, %+v", c.Rounds, c.Overhead)
	}
	if why, ok := r.Runs[1].LeftOut.(NotFinished); !ok || why.Done != 24 || why.Planned != 36 {
		t.Errorf("run 2 left out: %+v", r.Runs[1].LeftOut)
	}
	if why, ok := r.Runs[2].LeftOut.(analysis.NoVerdicts); !ok || len(why.Reasons) == 0 {
		t.Errorf("run 3 left out: %+v", r.Runs[2].LeftOut)
	}
	if c.Occasions[1].Weight != 0 || c.Occasions[1].LeftOut == nil || c.Occasions[0].Weight == 0 {
		t.Errorf("occasions %+v", c.Occasions)
	}
	kinds := ""
	for _, w := range r.Warnings {
		kinds += w.Kind() + " "
	}
	if kinds != "left-out left-out few-occasions " {
		t.Errorf("warnings %s", kinds)
	}
	// A single remaining run tells nothing about occasions.
	_, c = only(t, in[:3], "time")
	if _, few := c.Reason.(analysis.TooFewValues); c.Verdict != analysis.NotResolved || !few || c.Exceeds(0) != 1 {
		t.Errorf("%s, %+v", c.Verdict, c.Reason)
	}
}

// A control that differs a little in every run, undetected there, withholds the verdicts of the
// combination.
func TestControlOverOccasions(t *testing.T) {
	r, c := only(t, several(func(_ int, m *made) {
		m.control, m.noise = 0.012, 0.02
		m.change = func(p *experiment.Plan) { p.Equivalence = 0.005 }
	}, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3), "time")
	if len(r.Warnings) == 0 || c.Verdict != analysis.Invalid {
		t.Errorf("%s, %d warnings; control %+v", c.Verdict, len(r.Warnings), r.Controls[0].Overhead)
	}
}

func TestSameQuestion(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *experiment.Plan)
		want   string // expected text of the error; "": no error
	}{
		{"rounds", func(p *experiment.Plan) { p.Rounds++; p.Rounds-- }, ""},
		{"version", func(p *experiment.Plan) { p.Version = "v2" }, ""},
		{"layer", func(p *experiment.Plan) { p.Arms[2].Layers[0].Config = map[string]any{"set": "off"} }, "layer: env.set is on in run 1, off in run 2"},
		{"workload", func(p *experiment.Plan) { p.Cells[0].Config = map[string]any{"size": "8KiB"} }, "size is 4KiB in run 1, 8KiB in run 2"},
		{"margin", func(p *experiment.Plan) { p.Equivalence = 0.05 }, "equivalence margin is 2% in run 1, 5% in run 2"},
		{"guess", func(p *experiment.Plan) { p.Cells[0].Config.(map[string]any)["expect"] = "40ms" }, ""},
		{"time limit", func(p *experiment.Plan) { p.Cells[0].Config.(map[string]any)["timeout"] = "40m" }, ""},
		{"slices", func(p *experiment.Plan) { p.Slices = 4 }, ""},
		{"cluster", func(p *experiment.Plan) {
			p.Cells[0].Testbed = map[string]any{"context": "b", "timeouts": map[string]any{"ready": "5m"}}
		}, ""},
		{"link", func(p *experiment.Plan) { p.Cells[0].Testbed = map[string]any{"link": map[string]any{"rate": "1Gbit"}} }, "link.rate is unset in run 1, 1Gbit in run 2"},
		{"metric", func(p *experiment.Plan) { p.Cells[0].Metrics = p.Cells[0].Metrics[:1] }, "metric rate in disk.1 is not the same in every run"},
	} {
		_, err := Runs(several(func(i int, m *made) {
			if i == 1 {
				m.change = c.change
			}
		}, 0.05, 0.06))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.Is(err, ErrOtherQuestion) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Runs(several(nil, 0.05)); err == nil || err.Error() != "there is only one run" {
		t.Errorf("one run: %v", err)
	}
	in := several(nil, 0.05, 0.06)
	in[1] = in[0]
	if _, err := Runs(in); !errors.Is(err, compare.ErrSameRun) {
		t.Errorf("a copy: %v", err)
	}
}

// Properties that are not part of the question, but may affect the result, give a warning: slices
// always, and time limits if trials failed.
func TestOtherConduct(t *testing.T) {
	for _, failed := range []bool{false, true} {
		in := several(func(i int, m *made) {
			if i == 1 {
				m.change = func(p *experiment.Plan) {
					p.Slices = 4
					p.Cells[0].Config.(map[string]any)["timeout"], p.Cells[0].Config.(map[string]any)["expect"] = "40m", "1s"
				}
			}
		}, 0.05, 0.06)
		if failed {
			for i := range in {
				for k := range in[i].Trials[:3] {
					if one := &in[i].Trials[k]; one.Arm == "layer" {
						one.Values, one.Invalid = nil, []journal.Violation{{Rule: workload.RuleExit}}
					}
				}
				in[i].Run = analysis.Analyze(in[i].Run.Plan, in[i].Trials, nil)
				in[i].Run.Finished = true
			}
		}
		r, err := Runs(in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range r.Warnings {
			if w, ok := w.(OtherConduct); ok {
				got = append(got, w.Path)
			}
		}
		if want := map[bool]string{false: "slices", true: "slices disk: timeout"}[failed]; strings.Join(got, " ") != want {
			t.Errorf("failed %t: warnings of %q, want %q", failed, got, want)
		}
	}
}

// TestCombinationsCover goes from trials to the combination. It counts intervals of the mean that
// contain it, predictions that contain the next run's result, and false claims. go test ./internal/runs/combine
// -run Cover -v -runs 2000
func TestCombinationsCover(t *testing.T) {
	slow.Test(t)
	for _, k := range []int{3, 5, 10} {
		for _, spread := range []float64{0, 0.01, 0.05} {
			random := rand.New(rand.NewPCG(uint64(k), uint64(1000*spread)))
			var held, next, claims, all int
			for i := range *runs {
				var costs []float64
				for range k {
					costs = append(costs, spread*random.NormFloat64())
				}
				in := several(func(j int, m *made) { m.seed, m.noise = uint64(i*100+j+1), 0.02 }, costs...)
				for j := range in { // one in twenty A/A runs is invalid by design
					in[j].Run.Valid = true
				}
				_, c := only(t, in, "time")
				if c.Verdict == analysis.Invalid {
					continue
				}
				all++
				held += count(c.Overhead.Lo <= 0 && 0 <= c.Overhead.Hi)
				claims += count(c.Verdict == analysis.Costs || c.Verdict == analysis.Gains)
				another := made{cost: spread * random.NormFloat64(), noise: 0.02, rounds: 12, seed: uint64(1_000_000 + i)}.input("next").Run.Comparison("disk.1", "layer", "time")
				next += count(c.Prediction.Lo <= another.Overhead.Point && another.Overhead.Point <= c.Prediction.Hi)
			}
			share := func(n int) float64 { return float64(n) / float64(all) }
			t.Logf("%2d runs, spread %g %%: the interval of the mean holds it in %.1f %%, another run is as predicted in %.1f %%, claims %.1f %%, of %d",
				k, 100*spread, 100*share(held), 100*share(next), 100*share(claims), all)
			band := 4 * math.Sqrt(0.05*0.95/float64(all))
			if share(held) < 0.945-band || share(next) < 0.945-band || share(claims) > 0.055+band {
				t.Errorf("%d runs, spread %v: not as promised", k, spread)
			}
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Failures are counted over the runs, and withhold the verdicts that depend on them.
func TestFailures(t *testing.T) {
	failsIn := func(arm string, every int, cost float64) []compare.Input {
		var in []compare.Input
		for i := range 5 {
			m := made{cost: cost, noise: 0.01, rounds: 40, seed: uint64(i + 1)}
			one := m.input(fmt.Sprintf("runs/%d", i+1))
			for k := range one.Trials {
				if one.Trials[k].Arm == arm && one.Trials[k].Round%every == 0 {
					one.Trials[k].Values, one.Trials[k].Invalid = nil, []journal.Violation{{Rule: workload.RuleExit}}
				}
			}
			finished := one.Run.Finished
			one.Run = analysis.Analyze(one.Run.Plan, one.Trials, nil)
			one.Run.Finished = finished
			in = append(in, one)
		}
		return in
	}
	fails := func(every int) []compare.Input { return failsIn("layer", every, 0) }
	r, c := only(t, fails(41), "time")
	if c.Verdict != analysis.Equivalent || r.Failures != nil || r.Executed("disk.1", "layer").Of != 200 {
		t.Errorf("none fails: %s, %+v", c.Verdict, r.Failures)
	}
	r, c = only(t, fails(4), "time")
	missing, ok := c.Reason.(analysis.MissingTrials)
	if c.Verdict != analysis.NotResolved || !ok || missing.Missing != 50 || missing.Without != analysis.Equivalent {
		t.Errorf("a quarter fails: %s, %+v", c.Verdict, c.Reason)
	}
	if f := r.FailuresOf("disk.1", "layer"); f == nil || f.Failed.Count != 50 || f.Failed.Of != 200 || f.Baseline.Of != 200 || len(f.Shown) != 5 || f.PAdjusted > 0.01 {
		t.Errorf("a quarter fails: %+v", f)
	}
	r, c = only(t, fails(40), "time")
	if f := r.FailuresOf("disk.1", "layer"); f == nil || f.Failed.Count != 5 || len(f.Shown) != 0 || c.Verdict != analysis.NotResolved {
		t.Errorf("one in forty fails: %s, %+v", c.Verdict, f)
	}
	for _, k := range []struct {
		arm   string
		every int
		cost  float64
		want  analysis.Verdict
		worst int
	}{
		{"layer", 4, 0.3, analysis.Costs, 0},
		{"plain", 20, 0.3, analysis.Costs, 10}, // every run by itself has this verdict
		{"plain", 2, 0.3, analysis.NotResolved, 100},
		{"layer", 20, -0.3, analysis.Gains, 10},
		{"layer", 2, -0.3, analysis.NotResolved, 100},
		{"plain", 4, -0.3, analysis.Gains, 0},
	} {
		_, c := only(t, failsIn(k.arm, k.every, k.cost), "time")
		if missing, _ := c.Reason.(analysis.MissingTrials); c.Verdict != k.want || missing.Worst != k.worst {
			t.Errorf("%s fails in every %d: %s, %+v, want %s", k.arm, k.every, c.Verdict, c.Reason, k.want)
		}
	}
}
