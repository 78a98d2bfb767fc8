package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
)

var memory = experiment.Metric{Name: "memory-istiod", Unit: "B", Better: experiment.Lower, Scale: experiment.Difference}

// sweepPlan returns a plan of a workload at levels of the factor objects.
func sweepPlan(rounds int, levels []string, metrics []experiment.Metric, treatments ...string) *experiment.Plan {
	p := testPlan(rounds, metrics, treatments...)
	p.Cells = nil
	for _, l := range levels {
		p.Cells = append(p.Cells, experiment.Cell{ID: "churn.objects=" + l, Workload: "churn", Kind: "churn",
			Levels: []factor.Level{{Factor: "objects", Value: l}}, Metrics: metrics})
	}
	return p
}

// objectsOf reads the level from a cell's name.
func objectsOf(cell string) float64 {
	_, text, _ := strings.Cut(cell, "objects=")
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

// TestScalingAgainstR compares with lm, t.test and wilcox.test.
func TestScalingAgainstR(t *testing.T) {
	text, err := os.ReadFile("testdata/scaling.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		Values          [][]float64
		Slopes, T, Rank []float64
		P               float64
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	plan := sweepPlan(8, []string{"100", "300", "1000"}, []experiment.Metric{memory}, "mesh")
	levels := map[string]int{"churn.objects=100": 0, "churn.objects=300": 1, "churn.objects=1000": 2}
	trials := testTrials(plan, 8, func(round int, cell, arm, _ string) float64 {
		if arm == experiment.ControlName {
			arm = "plain"
		}
		return want[arm].Values[round-1][levels[cell]]
	})
	run := Analyze(plan, trials, nil)
	if len(run.Scaling) != 1 {
		t.Fatalf("%d lines, want 1", len(run.Scaling))
	}
	s := run.Scaling[0]
	near := func(what string, got, want []float64) {
		t.Helper()
		for i := range want {
			if len(got) != len(want) || math.Abs(got[i]-want[i]) > 1e-8*math.Abs(want[i]) {
				t.Errorf("%s: %v, want %v", what, got, want)
				return
			}
		}
	}
	three := func(i Interval) []float64 { return []float64{i.Point, i.Lo, i.Hi} }
	both := func(rank, t []float64) []float64 {
		return []float64{rank[0], min(rank[1], t[1]), max(rank[2], t[2])}
	}
	for _, a := range s.Arms {
		if r, ok := want[a.Arm]; ok {
			near("slopes of "+a.Arm, a.Slopes, r.Slopes)
			want := both(r.Rank, r.T) // or 1.8 times t over the means of quarters of the run, if that is wider
			var means []float64
			for k := range 4 {
				means = append(means, (r.Slopes[2*k]+r.Slopes[2*k+1])/2)
			}
			half := 1.8 * contrast.Deviation(means) / 2 * 3.182446305284263
			near("slope of "+a.Arm, three(a.Slope), []float64{want[0], min(want[1], want[0]-half), max(want[2], want[0]+half)})
		}
	}
	mesh := s.Arms[2]
	near("difference", three(mesh.Difference.Interval), both(want["difference"].Rank, want["difference"].T))
	if p := mesh.Difference.P; math.Abs(p-want["difference"].P) > 1e-12 { // the p of the rank test, which is the larger one
		t.Errorf("p %v, want %v", p, want["difference"].P)
	}
	if text := fmt.Sprintf("%.1f [%.1f %.1f]", mesh.Difference.Point/1e3, mesh.Difference.Lo/1e3, mesh.Difference.Hi/1e3); text != "0.9 [0.6 1.2]" {
		t.Errorf("difference %s", text)
	}
	few := sweepPlan(5, []string{"100", "300", "1000"}, []experiment.Metric{memory}, "mesh")
	s = Analyze(few, slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > 5 }), nil).Scaling[0]
	if s.Arms[2].Method != "t" || s.Arms[2].Difference.Method != "t" {
		t.Errorf("five rounds: methods %s and %s", s.Arms[2].Method, s.Arms[2].Difference.Method)
	}
}

// TestScalingCoverage simulates lines whose rounds share drift and whose noise grows with the
// level, as times under load do.
func TestScalingCoverage(t *testing.T) {
	const runs, rounds = 400, 8
	const slope, more = 0.25, 0.05
	exact := 0.9609 // confidence of the signed-rank interval with eight rounds
	rng := rand.New(rand.NewPCG(17, 5))
	plan := sweepPlan(rounds, []string{"100", "300", "1000"}, []experiment.Metric{memory}, "mesh")
	base, arm, difference, straight := 0, 0, 0, 0
	for range runs {
		drift := map[int]float64{}
		trials := testTrials(plan, rounds, func(round int, cell, arm, _ string) float64 {
			if _, ok := drift[round]; !ok {
				drift[round] = 40 * rng.NormFloat64()
			}
			x, b := objectsOf(cell), slope
			if arm == "mesh" {
				b += more
			}
			spiky := rng.ExpFloat64() - rng.ExpFloat64()
			return 100 + drift[round] + b*x + 0.03*x*spiky
		})
		s := scalings(tabulate(plan, trials, validOnly))[0]
		holds := func(i Interval, truth float64) int {
			if i.Lo <= truth && truth <= i.Hi {
				return 1
			}
			return 0
		}
		base += holds(s.Arms[0].Slope, slope)
		arm += holds(s.Arms[2].Slope, slope+more)
		difference += holds(s.Arms[2].Difference.Interval, more)
		for _, a := range s.Arms {
			if !a.Fit.Poor {
				straight++
			}
		}
	}
	for name, hits := range map[string]int{"the baseline's slope": base, "the arm's slope": arm, "the difference": difference} {
		share := float64(hits) / runs
		if band := 4 * math.Sqrt(exact*(1-exact)/runs); share < exact-band || share > exact+band && name == "the difference" {
			t.Errorf("%s is in %v of its intervals, want %v ± %.3f", name, share, exact, band)
		}
		fmt.Fprintf(t.Output(), "%s: %.1f %% of %d intervals\n", name, 100*share, runs)
	}
	poor := 1 - float64(straight)/(3*runs)
	fmt.Fprintf(t.Output(), "straight lines said to be poor: %.1f %% of %d\n", 100*poor, 3*runs)
	if poor > 0.01+4*math.Sqrt(0.01*0.99/(3*runs)) {
		t.Errorf("%.1f %% of straight lines are said to be poor", 100*poor)
	}
}

func TestScalingFit(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []string
		curve  func(x float64) float64
		bend   string
		off    string // distance and level; "": the line fits
	}{
		{"straight", []string{"100", "300", "1000"}, func(x float64) float64 { return 5 * x }, "", ""},
		{"flat", []string{"100", "300", "1000"}, func(float64) float64 { return 5 }, "", ""},
		{"square", []string{"100", "300", "1000"}, func(x float64) float64 { return x * x / 1000 }, "steeper",
			"9 % below at 300"},
		{"root", []string{"100", "200", "400", "800", "1600"}, func(x float64) float64 { return 100 * math.Sqrt(x) }, "flatter",
			"8 % below at 100"},
		{"step", []string{"100", "200", "300", "400", "500", "600"}, func(x float64) float64 { return 1000 * math.Floor(x/301) }, "",
			"37 % above at 400"},
		{"a little", []string{"100", "300", "1000"}, func(x float64) float64 { return 5*x + x*x/2000 }, "", ""},
	} {
		rng := rand.New(rand.NewPCG(3, 3))
		plan := sweepPlan(10, c.levels, []experiment.Metric{memory})
		trials := testTrials(plan, 10, func(_ int, cell, _, _ string) float64 { return c.curve(objectsOf(cell)) + rng.NormFloat64() })
		f := scalings(tabulate(plan, trials, validOnly))[0].Arms[0].Fit
		off := ""
		if f.Poor {
			off = fmt.Sprintf("%.0f %% %s at %v", 100*f.Off, map[bool]string{true: "below", false: "above"}[f.Below], f.At)
		}
		if f.Bend != c.bend || off != c.off {
			t.Errorf("%s: %+v, want %q", c.name, f, c.off)
		}
	}
}

func TestLadders(t *testing.T) {
	cell := func(workload string, levels ...string) experiment.Cell {
		c := experiment.Cell{ID: workload + strings.Join(levels, "."), Workload: workload}
		for i := 0; i < len(levels); i += 2 {
			c.Levels = append(c.Levels, factor.Level{Factor: levels[i], Value: levels[i+1]})
		}
		return c
	}
	for _, c := range []struct {
		name  string
		cells []experiment.Cell
		want  []string
	}{
		{"out of order", []experiment.Cell{cell("a", "objects", "1000"), cell("a", "objects", "100"), cell("a", "objects", "300")}, []string{"objects per  [100 300 1000] of [1 2 0]"}},
		{"two levels", []experiment.Cell{cell("a", "objects", "1"), cell("a", "objects", "2")}, nil},
		{"words", []experiment.Cell{cell("a", "mode", "x"), cell("a", "mode", "y"), cell("a", "mode", "z")}, nil},
		{"a word among numbers", []experiment.Cell{cell("a", "n", "1"), cell("a", "n", "2"), cell("a", "n", "all")}, nil},
		{"two workloads", []experiment.Cell{cell("a", "n", "1"), cell("a", "n", "2"), cell("b", "n", "3")}, nil},
		{"the same twice", []experiment.Cell{cell("a", "n", "1"), cell("a", "n", "1.0"), cell("a", "n", "2")}, nil},
		{"two factors", []experiment.Cell{
			cell("a", "rate", "10/s", "churn", "0%"), cell("a", "rate", "20/s", "churn", "0%"), cell("a", "rate", "60/min", "churn", "0%"),
			cell("a", "rate", "10/s", "churn", "50%"), cell("a", "rate", "20/s", "churn", "50%"), cell("a", "rate", "60/min", "churn", "50%"),
		}, []string{"rate per 1/s [1 10 20] of [2 0 1] at churn=0%", "rate per 1/s [1 10 20] of [5 3 4] at churn=50%"}},
		{"percent", []experiment.Cell{cell("a", "churn", "0%"), cell("a", "churn", "25%"), cell("a", "churn", "50%")}, []string{"churn per % [0 25 50] of [0 1 2]"}},
		{"sizes", []experiment.Cell{cell("a", "size", "4KiB"), cell("a", "size", "64KiB"), cell("a", "size", "1MiB")}, []string{"size per KiB [4 64 1024] of [0 1 2]"}},
		{"durations", []experiment.Cell{cell("a", "delay", "0s"), cell("a", "delay", "5ms"), cell("a", "delay", "1s")}, []string{"delay per s [0 0.005 1] of [0 1 2]"}},
		{"rates", []experiment.Cell{cell("a", "link", "10Mbit"), cell("a", "link", "1Gbit"), cell("a", "link", "100Mbit")}, []string{"link per Mbit/s [10 100 1000] of [0 2 1]"}},
		{"unlimited", []experiment.Cell{cell("a", "link", "10Mbit"), cell("a", "link", "1Gbit"), cell("a", "link", "unlimited")}, nil},
		{"numbers of another kind", []experiment.Cell{cell("a", "n", "0x10"), cell("a", "n", "Inf"), cell("a", "n", "NaN")}, nil},
	} {
		var got []string
		for _, l := range sweepsOf(len(c.cells), func(i int) (string, []factor.Level) { return c.cells[i].Workload, c.cells[i].Levels }) {
			text := fmt.Sprintf("%s per %s %v of %v", l.factor, l.unit, l.x, l.indices)
			if l.held != nil {
				text += fmt.Sprintf(" at %v", l.held[0])
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScalingLeavesOut(t *testing.T) {
	other := memory
	other.Name = "other"
	plan := sweepPlan(6, []string{"1", "2", "3"}, []experiment.Metric{memory, other}, "mesh")
	plan.Cells[1].Metrics = []experiment.Metric{memory} // one cell lacks the metric other
	trials := testTrials(plan, 6, func(_ int, cell, _, _ string) float64 { return objectsOf(cell) })
	for i := range trials {
		tr := &trials[i]
		switch {
		case tr.Arm == "mesh" && tr.Round == 2 && tr.Cell == "churn.objects=2":
			tr.Invalid = []journal.Violation{{Rule: "late"}}
		case tr.Arm == "plain" && tr.Round == 5:
			delete(tr.Values, "memory-istiod")
		}
	}
	list := Analyze(plan, trials, nil).Scaling
	if len(list) != 1 || list[0].Metric.Name != "memory-istiod" {
		t.Fatalf("lines %+v", list)
	}
	var got []string
	for _, a := range list[0].Arms {
		line := fmt.Sprintf("%s %v %.2f point %v", a.Arm, a.Rounds, a.Slope.Point, a.PointOnly)
		if d := a.Difference; d != nil {
			line += fmt.Sprintf("; %d %.2f point %v", d.Rounds, math.Abs(d.Point), d.PointOnly)
		}
		got = append(got, line)
	}
	want := []string{
		"plain [1 2 3 4 6] 1.00 point true",
		"control [1 2 3 4 5 6] 1.00 point false; 5 0.00 point true",
		"mesh [1 3 4 5 6] 1.00 point true; 4 0.00 point true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	plan.Import = &experiment.Import{Tool: "fio"}
	if list := Analyze(plan, trials, nil).Scaling; list != nil {
		t.Errorf("independent samples have lines: %+v", list)
	}
}
