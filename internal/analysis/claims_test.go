package analysis

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/test/slow"
)

var simulated = flag.Int("runs", 100, "simulated runs in each case of TestStallClaims, TestFailureClaims and TestNormalClaims")

// drawn returns values around 100 times a random factor of the arm.
func drawn(r *rand.Rand, arms map[string]func(*rand.Rand) float64) func(int, string, string, string) float64 {
	return func(_ int, _, arm, _ string) float64 {
		draw, ok := arms[arm]
		if !ok {
			draw = arms[""]
		}
		return 100 * draw(r)
	}
}

// logNormal returns noise of deviation sd, where a share of the trials takes factor times as long.
func logNormal(sd, share, factor float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		v := math.Exp(sd * r.NormFloat64())
		if r.Float64() < share {
			v *= factor
		}
		return v
	}
}

// within checks a share of runs against bounds from a large simulation, give or take four standard
// errors.
func within(t *testing.T, what string, count int, least, most float64) {
	t.Helper()
	n := float64(*simulated)
	share := float64(count) / n
	band := func(p float64) float64 { return 4 * math.Sqrt(p*(1-p)/n) }
	if share < least-band(least)-1e-9 || share > most+band(most)+1e-9 {
		t.Errorf("%s: %.3f, want %v to %v", what, share, least, most)
	}
}

// TestStallClaims simulates arms in which few trials stall. It counts how often they are called
// equivalent within ±2 %, by ranks alone and with the mean, and how often the stalls are found.
// docs/method.md quotes it; -v prints it.
func TestStallClaims(t *testing.T) {
	slow.Test(t)
	quiet := logNormal(0.02, 0, 1)
	exponential := func(r *rand.Rand) float64 { return (0.92 + 0.08*r.ExpFloat64()) * math.Exp(0.0002) }
	for k, c := range []struct {
		name        string
		others, arm func(*rand.Rand) float64
		n           int
		mean        float64    // the true overhead of the mean
		equivalent  [2]float64 // share of runs that call them equivalent
		covered     float64    // least share of the mean's intervals that contain the true value
		found       [2]float64 // share of runs with the finding
	}{
		{"alike", quiet, quiet, 12, 0, [2]float64{0.5, 0.66}, 0.94, [2]float64{0, 0.01}},
		{"alike", quiet, quiet, 20, 0, [2]float64{0.84, 0.96}, 0.94, [2]float64{0, 0.01}},
		{"alike", quiet, quiet, 50, 0, [2]float64{0.98, 1}, 0.94, [2]float64{0, 0.01}},
		{"5 % of the arm's twice as long", quiet, logNormal(0.02, 0.05, 2), 20, 0.05, [2]float64{0.2, 0.4}, 0.5, [2]float64{0, 0.2}},
		{"5 % of the arm's twice as long", quiet, logNormal(0.02, 0.05, 2), 50, 0.05, [2]float64{0, 0.15}, 0.8, [2]float64{0.1, 0.6}},
		{"10 % of the arm's twice as long", quiet, logNormal(0.02, 0.1, 2), 20, 0.10, [2]float64{0.05, 0.2}, 0.8, [2]float64{0.1, 0.6}},
		{"10 % of the arm's twice as long", quiet, logNormal(0.02, 0.1, 2), 50, 0.10, [2]float64{0, 0.02}, 0.94, [2]float64{0.7, 1}},
		{"15 % of the arm's half as long again", quiet, logNormal(0.02, 0.15, 1.5), 50, 0.075, [2]float64{0, 0.02}, 0.94, [2]float64{0.9, 1}},
		{"5 % of all arms' a fifth longer", logNormal(0.02, 0.05, 1.2), logNormal(0.02, 0.05, 1.2), 50, 0, [2]float64{0.3, 0.6}, 0.94, [2]float64{0, 0.01}},
		{"5 % of all arms' twice as long", logNormal(0.02, 0.05, 2), logNormal(0.02, 0.05, 2), 50, 0, [2]float64{0, 0.1}, 0.92, [2]float64{0, 0.05}},
		{"arm exponential, means alike", quiet, exponential, 20, 0, [2]float64{0, 0.3}, 0.9, [2]float64{0, 0.1}},
		{"arm exponential, means alike", quiet, exponential, 50, 0, [2]float64{0, 0.4}, 0.92, [2]float64{0, 0.2}},
	} {
		r := rand.New(rand.NewPCG(uint64(k), 5))
		plan := testPlan(c.n, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
		verdicts := map[Verdict]int{}
		ranks, covered, found, gainsAlone := 0, 0, 0, 0
		for range *simulated {
			trials := testTrials(plan, c.n, drawn(r, map[string]func(*rand.Rand) float64{"": c.others, "layer": c.arm}))
			got := Analyze(plan, trials, nil).Comparisons[0]
			verdicts[got.Verdict]++
			switch {
			case got.Verdict == Equivalent, got.Reason == Reason(MeanNotShown{}):
				ranks++
			case got.Verdict == Gains && got.Mean.Lo <= 0 && got.Mean.Hi >= 0:
				gainsAlone++
			}
			if got.Mean.Lo <= c.mean && c.mean <= got.Mean.Hi {
				covered++
			}
			for _, w := range got.Warnings {
				if _, ok := w.(Stalling); ok {
					found++
				}
			}
		}
		percent := func(n int) float64 { return 100 * float64(n) / float64(*simulated) }
		fmt.Fprintf(t.Output(), "%-38s %3d rounds: equivalent %5.1f %% (ranks alone %5.1f), costs %5.1f, gains %5.1f (mean undecided %5.1f); mean covered %5.1f, stalls found %5.1f\n",
			c.name, c.n, percent(verdicts[Equivalent]), percent(ranks), percent(verdicts[Costs]), percent(verdicts[Gains]), percent(gainsAlone), percent(covered), percent(found))
		what := fmt.Sprintf("%s, %d rounds", c.name, c.n)
		within(t, what+", equivalent", verdicts[Equivalent], c.equivalent[0], c.equivalent[1])
		within(t, what+", covered", covered, c.covered, 1)
		within(t, what+", found", found, c.found[0], c.found[1])
	}
}

// TestFailureClaims counts claims of a difference in failures: for any of three arms that fail as
// often as the baseline, and for an arm that fails more often.
func TestFailureClaims(t *testing.T) {
	slow.Test(t)
	for k, c := range []struct {
		others, arm float64 // shares of trials that fail
		n           int
		claimed     [2]float64
		setUps      int     // number of set-ups that rounds share; 0: none
		broken      float64 // share of the set-ups of each arm in which every trial fails
	}{
		{0, 0, 20, [2]float64{0, 0}, 0, 0}, {0.05, 0.05, 20, [2]float64{0, 0.05}, 0, 0}, {0.3, 0.3, 20, [2]float64{0, 0.05}, 0, 0}, {0.3, 0.3, 50, [2]float64{0, 0.05}, 0, 0},
		{0, 0.3, 20, [2]float64{0.5, 1}, 0, 0}, {0, 0.3, 50, [2]float64{0.98, 1}, 0, 0}, {0.05, 0.2, 50, [2]float64{0.2, 0.8}, 0, 0}, {0.2, 0.05, 50, [2]float64{0.2, 0.8}, 0, 0},
		{0, 0, 50, [2]float64{0, 0.05}, 10, 0.15}, {0, 0, 24, [2]float64{0, 0.05}, 6, 0.3}, {0.1, 0.1, 50, [2]float64{0, 0.05}, 10, 0},
		{0, 0.3, 50, [2]float64{0.9, 1}, 10, 0}, {0.05, 0.2, 50, [2]float64{0.1, 0.8}, 10, 0},
	} {
		r := rand.New(rand.NewPCG(uint64(k), 6))
		plan := testPlan(c.n, []experiment.Metric{headline("time", experiment.Lower)}, "layer", "second", "third")
		plan.Attempts = 1
		claimed, others, held := 0, 0, 0
		for range *simulated {
			trials := testTrials(plan, c.n, drawn(r, map[string]func(*rand.Rand) float64{"": logNormal(0.02, 0, 1)}))
			broken := map[string]bool{} // arms and set-ups in which every trial fails
			for i := range trials {
				share := c.others
				if trials[i].Arm == "layer" {
					share = c.arm
				}
				if c.setUps > 0 {
					trials[i].SetUp = 1 + (trials[i].Round-1)*c.setUps/c.n
					key := fmt.Sprint(trials[i].Arm, trials[i].SetUp)
					if _, known := broken[key]; !known {
						broken[key] = r.Float64() < c.broken
					}
					if broken[key] {
						share = 1
					}
				}
				if r.Float64() < share {
					trials[i].Values, trials[i].Invalid = nil, []journal.Violation{{Rule: "exit-status"}}
				}
			}
			layer, other, holds := false, false, true
			for _, f := range Judge(plan, trials).Failures {
				if truth := c.arm - c.others; f.Arm == "layer" {
					holds = f.Difference.Lo <= truth && truth <= f.Difference.Hi
				}
				claim := f.Verdict == Fails || f.Verdict == Gains
				layer, other = layer || claim && f.Arm == "layer", other || claim && f.Arm != "layer"
			}
			if layer || other && c.others == c.arm {
				claimed++
			}
			if other {
				others++
			}
			if holds {
				held++
			}
		}
		percent := func(n int) float64 { return 100 * float64(n) / float64(*simulated) }
		what := fmt.Sprintf("%v and %v, %d rounds in %d set-ups, %v of them broken", c.others, c.arm, c.n, c.setUps, c.broken)
		fmt.Fprintf(t.Output(), "%s: claimed in %.1f %% of runs, of other arms in %.1f %%; the interval of the difference holds it in %.1f %%\n", what, percent(claimed), percent(others), percent(held))
		within(t, what, claimed, c.claimed[0], c.claimed[1])
		within(t, what+", other arms", others, 0, 0.05)
		within(t, what+", difference", held, 0.94, 1)
	}
}

// TestNormalClaims counts false claims of grade normal among twelve comparisons of three or five
// values each, by kind of noise.
func TestNormalClaims(t *testing.T) {
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	for k, c := range []struct {
		name  string
		noise func(*rand.Rand) float64
		wide  bool // the arms' spreads lie between 0.0002 and 0.33
		n     int
	}{
		{"normal", normal, false, 3}, {"normal", normal, false, 5}, {"spreads from 0.0002 to 0.33", normal, true, 3}, {"spreads from 0.0002 to 0.33", normal, true, 5},
		{"t with 3 degrees of freedom", func(r *rand.Rand) float64 {
			a, b, d := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return r.NormFloat64() / math.Sqrt((a*a+b*b+d*d)/3)
		}, false, 3},
		{"5 % outliers", func(r *rand.Rand) float64 {
			if r.Float64() < 0.05 {
				return 10 * r.NormFloat64()
			}
			return r.NormFloat64()
		}, false, 3},
	} {
		r := rand.New(rand.NewPCG(uint64(k), 7))
		var metrics []experiment.Metric
		for i := range 4 {
			metrics = append(metrics, headline(fmt.Sprint("m", i), experiment.Lower))
		}
		arms := []string{"a", "b", "c", "d"}
		plan := importedPlan(metrics, arms...)
		claimed := 0
		for range *simulated {
			var trials []journal.Trial
			for _, arm := range arms {
				spread := map[string]float64{}
				for _, m := range metrics {
					if spread[m.Name] = 0.02; c.wide {
						spread[m.Name] = 0.0002 * math.Pow(0.33/0.0002, r.Float64())
					}
				}
				for i := range c.n {
					trial := journal.Trial{Round: i + 1, Attempt: 1, Cell: "randread", Arm: arm, Values: map[string]float64{}}
					for _, m := range metrics {
						trial.Values[m.Name] = 100 * math.Exp(spread[m.Name]*c.noise(r))
					}
					trials = append(trials, trial)
				}
			}
			any := false
			for _, got := range Judge(plan, trials).Comparisons {
				any = any || got.Verdict == Costs || got.Verdict == Gains
				if got.Verdict.Claims() && got.Grade != Normal {
					t.Fatalf("%s, %d values: %s without a grade", c.name, c.n, said(got))
				}
			}
			if any {
				claimed++
			}
		}
		fmt.Fprintf(t.Output(), "%-30s %d values of each arm: any false claim in %.1f %% of runs\n", c.name, c.n, 100*float64(claimed)/float64(*simulated))
		within(t, fmt.Sprintf("%s, %d values", c.name, c.n), claimed, 0, 0.05)
	}
}
