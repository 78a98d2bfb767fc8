package analysis

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/test/slow"
)

var designs = flag.Int("designs", 100, "simulated runs in each case of TestFactorialClaims")

// factorialPlan returns a plan whose arms are the combinations of factors.
func factorialPlan(rounds int, metrics []experiment.Metric, factors ...string) *experiment.Plan {
	p := testPlan(rounds, metrics)
	p.Factorial = factors
	for set := 1; set < 1<<len(factors); set++ {
		on, _ := split(factors, set)
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: strings.Join(on, "+"), Role: experiment.Treatment, Factors: on})
	}
	return p
}

// effectTexts formats each effect as a line.
func effectTexts(r *Run) (list []string) {
	for _, e := range r.Factorial.Effects {
		list = append(list, fmt.Sprintf("%s %s: %s", e.Metric.Name, strings.Join(e.Of, " × "), said(e.Comparison)))
	}
	return list
}

// TestEffectsByHand checks effects of values without noise: a takes 1.1 times as long, b 1.2 times,
// and both 1.4 times, which is 1.4 ÷ 1.32 of the product.
func TestEffectsByHand(t *testing.T) {
	plan := factorialPlan(6, []experiment.Metric{headline("time", experiment.Lower), headline("rate", experiment.Higher),
		{Name: "lost", Unit: "B", Better: experiment.Lower, Scale: experiment.Difference}}, "a", "b")
	times := map[string]float64{"a": 1.1, "b": 1.2, "a+b": 1.4}
	trials := testTrials(plan, 6, func(round int, _, arm, metric string) float64 {
		f := times[arm]
		if f == 0 {
			f = 1
		}
		switch drift := float64(round); metric { // all arms of a round share the drift
		case "rate":
			return drift / f
		case "lost":
			return drift + 100*(f-1)
		default:
			return drift * f
		}
	})
	r := Analyze(plan, trials, nil)
	want := map[string]float64{
		"time a": math.Sqrt(1.1*1.4/1.2) - 1, "time b": math.Sqrt(1.2*1.4/1.1) - 1, "time a × b": 1.4/1.32 - 1,
		"rate a": 1 - 1/math.Sqrt(1.1*1.4/1.2), "rate b": 1 - 1/math.Sqrt(1.2*1.4/1.1), "rate a × b": 1 - 1.32/1.4,
		"lost a": (10 + 20.) / 2, "lost b": (20 + 30.) / 2, "lost a × b": 10,
	}
	if len(r.Factorial.Effects) != len(want) || r.Factorial.Family != 6 {
		t.Fatalf("%d effects, of which %d are a family; want %d and 6", len(r.Factorial.Effects), r.Factorial.Family, len(want))
	}
	for _, e := range r.Factorial.Effects {
		name := e.Metric.Name + " " + strings.Join(e.Of, " × ")
		if got := e.Overhead.Point; math.Abs(got-want[name]) > 1e-9 {
			t.Errorf("%s is %v; want %v", name, got, want[name])
		}
		if e.Rounds != 6 || len(e.Overheads) != 6 {
			t.Errorf("%s rests on %d rounds with %d values; want 6", name, e.Rounds, len(e.Overheads))
		}
		if alone := len(e.Of) == 1; alone != (len(e.Over) == 1) || alone == e.Interaction() {
			t.Errorf("%s is of %v over %v", name, e.Of, e.Over)
		}
	}
}

// TestEffectsOfThree checks the signs and averages of three factors.
func TestEffectsOfThree(t *testing.T) {
	plan := factorialPlan(6, []experiment.Metric{headline("time", experiment.Lower)}, "a", "b", "c")
	logs := map[string]float64{"a": 0.1, "b": 0.2, "c": 0.4, "a+b": 0.35, "a+c": 0.5, "b+c": 0.7, "a+b+c": 1}
	trials := testTrials(plan, 6, func(round int, _, arm, _ string) float64 { return float64(round) * math.Exp(logs[arm]) })
	got := map[string]float64{}
	for _, e := range Analyze(plan, trials, nil).Factorial.Effects {
		got[strings.Join(e.Of, " × ")] = math.Log1p(e.Overhead.Point)
	}
	for name, want := range map[string]float64{
		"a":         (0.1 + 0.15 + 0.1 + 0.3) / 4, // with a minus without it: alone, beside b, beside c, beside both
		"b":         (0.2 + 0.25 + 0.3 + 0.5) / 4,
		"c":         (0.4 + 0.4 + 0.5 + 0.65) / 4,
		"a × b":     ((0.35 - 0.1 - 0.2) + (1 - 0.5 - 0.7 + 0.4)) / 2, // without c and with c
		"a × c":     ((0.5 - 0.1 - 0.4) + (1 - 0.35 - 0.7 + 0.2)) / 2,
		"b × c":     ((0.7 - 0.2 - 0.4) + (1 - 0.35 - 0.5 + 0.1)) / 2,
		"a × b × c": (1 - 0.5 - 0.7 + 0.4) - (0.35 - 0.1 - 0.2),
	} {
		if math.Abs(got[name]-want) > 1e-9 {
			t.Errorf("%s is %v; want %v", name, got[name], want)
		}
	}
}

// TestEffectVerdicts checks the verdicts on real effects and on effects of zero.
func TestEffectVerdicts(t *testing.T) {
	plan := factorialPlan(20, []experiment.Metric{headline("time", experiment.Lower)}, "a", "b")
	verdicts := func(sd, together float64) string {
		t.Helper()
		trials := testTrials(plan, 20, noisy(4, sd, map[string]float64{"a": 1.1, "b": 1.05, "a+b": 1.1 * 1.05 * together}))
		var list []string
		for _, e := range Analyze(plan, trials, nil).Factorial.Effects {
			list = append(list, string(e.Verdict))
		}
		return strings.Join(list, ", ")
	}
	for _, c := range []struct {
		sd, together float64
		want         string
	}{
		{0.005, 1, "costs, costs, adds up"},
		{0.005, 0.95, "costs, costs, less together"},
		{0.005, 1.05, "costs, costs, more together"},
		{0.05, 1, "costs, costs, not resolved"},
	} {
		if got := verdicts(c.sd, c.together); got != c.want {
			t.Errorf("noise %v, together %v: %s; want %s", c.sd, c.together, got, c.want)
		}
	}
}

// TestEffectsOfPartialRuns checks that rounds without all arms give no contrast, that failures of
// the program count as missing values, and that nothing is claimed before all rounds are done.
func TestEffectsOfPartialRuns(t *testing.T) {
	plan := factorialPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "a", "b")
	trials := testTrials(plan, 12, noisy(4, 0.005, map[string]float64{"a": 1.1, "b": 1.05, "a+b": 1.3}))
	effect := func(trials []journal.Trial) Effect {
		t.Helper()
		effects := Analyze(plan, trials, nil).Factorial.Effects
		return effects[len(effects)-1]
	}
	lost := append([]journal.Trial(nil), trials...)
	for i := range lost {
		if lost[i].Arm == "b" && lost[i].Round == 3 {
			lost[i].Values, lost[i].Invalid = nil, []journal.Violation{{Rule: "foreign-cpu"}}
			again := lost[i] // the second attempt
			again.Attempt = 2
			lost = append(lost, again)
			break
		}
	}
	if e := effect(lost); e.Rounds != 11 || e.Verdict != MoreTogether {
		t.Errorf("with a trial lost: %d rounds, %s", e.Rounds, said(e.Comparison))
	}
	if e := effect(trials[:len(trials)-15]); e.Verdict != Interim || e.Reason != Reason(RoundsMissing{Rounds: 9, Of: 12}) {
		t.Errorf("three rounds short: %s", said(e.Comparison))
	}
	broken := append([]journal.Trial(nil), trials...)
	for i := range broken {
		if broken[i].Arm == "control" {
			broken[i].Values = map[string]float64{"time": 300 * broken[i].Values["time"]}
		}
	}
	if e := effect(broken); e.Verdict != Invalid {
		t.Errorf("with a control that differs: %s", said(e.Comparison))
	}
	if r := Analyze(testPlan(12, plan.Cells[0].Metrics, "a"), nil, nil); r.Factorial != nil {
		t.Error("a run without a factorial design has effects")
	}
	if diff := cmp.Diff(3, len(Analyze(plan, nil, nil).Factorial.Effects)); diff != "" {
		t.Errorf("effects of a run without trials (-want +got):\n%s", diff)
	}
	for i := range trials { // two set-ups, which are then the units
		trials[i].SetUp = 1 + (trials[i].Round-1)/2
	}
	if e := effect(trials); e.SetUps == nil || e.SetUps.SetUps != 6 || e.SetUps.Rounds != 12 {
		t.Errorf("set-ups that rounds share are not told: %+v", e.SetUps)
	}
}

// TestFactorialClaims simulates designs of two and three factors with skewed noise (in all arms or
// in one), heavy tails, and drift. It counts false claims in families without any effect, and
// intervals that contain the true effect. docs/method.md quotes it from -designs 3000; -v prints
// it.
func TestFactorialClaims(t *testing.T) {
	slow.Test(t)
	noises := map[string]func(*rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() },
		"skewed": func(r *rand.Rand) float64 { return 0.03 * r.ExpFloat64() },
		"heavy": func(r *rand.Rand) float64 { // Student's t with two degrees of freedom
			return 0.02 * r.NormFloat64() / math.Sqrt((r.ExpFloat64()+r.ExpFloat64())/2)
		},
		"together": func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() }, // three times as noisy, and skewed where both factors are on
	}
	for k, c := range []struct {
		noise   string
		factors []string
		rounds  int
		setUps  int // rounds per set-up, whose random effect is as large as the noise; 0: none share one
	}{
		{"normal", []string{"a", "b"}, 12, 0}, {"skewed", []string{"a", "b"}, 12, 0}, {"heavy", []string{"a", "b"}, 12, 0},
		{"normal", []string{"a", "b"}, 5, 0}, {"skewed", []string{"a", "b", "c"}, 12, 0}, {"normal", []string{"a", "b"}, 24, 2},
		{"together", []string{"a", "b"}, 20, 0}, {"together", []string{"a", "b"}, 50, 0},
	} {
		plan := factorialPlan(c.rounds, []experiment.Metric{headline("time", experiment.Lower)}, c.factors...)
		rng, noise := rand.New(rand.NewPCG(uint64(k), 11)), noises[c.noise]
		truth := map[string]float64{}
		effects := map[string]float64{} // effects by arm
		falseClaims, covered, intervals := 0, 0, 0
		run := func() []Effect {
			drift := 0.0
			luck := map[string]float64{}
			trials := testTrials(plan, c.rounds, func(round int, _, arm, _ string) float64 {
				drift += 0.01 * rng.NormFloat64()
				key := arm
				if c.setUps > 0 {
					key = fmt.Sprint(arm, (round-1)/c.setUps)
					if _, known := luck[key]; !known {
						luck[key] = noise(rng)
					}
				}
				own := noise(rng)
				if c.noise == "together" && arm == "a+b" {
					own = 0.09 * (rng.ExpFloat64() - 1)
				}
				return 100 * math.Exp(effects[arm]+drift+luck[key]+own)
			})
			if c.setUps > 0 {
				for i := range trials {
					trials[i].SetUp = 1 + (trials[i].Round-1)/c.setUps
				}
			}
			table := tabulate(plan, trials, validOnly)
			j := judge(table, trials)
			list, sets := j.effects(table)
			out := make([]Effect, len(list))
			for i, h := range list {
				out[i].Comparison = h.comparison(plan)
				out[i].Of, _ = split(plan.Factorial, sets[i])
			}
			return out
		}
		for range *designs { // designs without any effect
			clear(effects)
			for _, e := range run() {
				if (e.Verdict == Costs || e.Verdict == Gains) && e.Grade == Measured {
					falseClaims++
					break
				}
			}
		}
		for _, a := range plan.Arms { // a costs 10 %, b 20 %, and both together 5 % more than the product
			x := 0.0
			for _, f := range a.Factors {
				x += map[string]float64{"a": math.Log(1.1), "b": math.Log(1.2)}[f]
			}
			if strings.HasPrefix(a.Name, "a+b") {
				x += math.Log(1.05)
			}
			effects[a.Name] = x
		}
		half := math.Log(1.05) / 2
		truth["a"], truth["b"], truth["a × b"] = math.Log(1.1)+half, math.Log(1.2)+half, 2*half
		for range *designs {
			for _, e := range run() {
				if e.PointOnly {
					continue
				}
				intervals++
				want := math.Expm1(truth[strings.Join(e.Of, " × ")])
				if e.Overhead.Lo <= want && want <= e.Overhead.Hi {
					covered++
				}
			}
		}
		name := fmt.Sprintf("%s noise, %d factors, %d rounds, set-ups of %d", c.noise, len(c.factors), c.rounds, c.setUps)
		claimed, held := float64(falseClaims)/float64(*designs), float64(covered)/float64(max(intervals, 1))
		t.Logf("%s: false claims %.4f, coverage %.4f of %d intervals", name, claimed, held, intervals)
		slack := func(p float64, n int) float64 { return 4 * math.Sqrt(p*(1-p)/float64(n)) }
		if claimed > 0.055+slack(0.055, *designs) {
			t.Errorf("%s: something is claimed of nothing in %.3f of runs; at most 0.055 may", name, claimed)
		}
		// The intervals of a run use the same values, so they count as one for the slack.
		if intervals < *designs || held < 0.94-slack(0.94, *designs) {
			t.Errorf("%s: %.4f of %d intervals hold the truth; at least 0.94 must", name, held, intervals)
		}
	}
}

// A goal of precision also covers pairs of factors, whose contrast is noisier than a comparison. It
// does not cover three factors, whose contrast has four times that noise.
func TestNeededRoundsOfEffects(t *testing.T) {
	rounds := func(design bool, factors ...string) (needed int) {
		for seed := range uint64(4) {
			p := factorialPlan(20, timeOnly, factors...)
			p.Precision, p.MaxRounds = 0.02, 500
			trials := testTrials(p, 20, noisy(seed, 0.05, nil))
			if !design {
				p.Factorial = nil
			}
			n, err := NeededRounds(p, trials)
			if err != nil {
				t.Fatal(err)
			}
			needed += n
			if !design {
				continue
			}
			p.MaxRounds = 20 // too few for any interaction
			for _, e := range Analyze(p, trials, nil).Factorial.Effects {
				warned := slices.ContainsFunc(e.Warnings, func(f Finding) bool { _, wide := f.(Imprecise); return wide })
				if pair := len(e.Of) == 2; len(e.Of) == 3 && warned || len(factors) == 2 && pair && !warned {
					t.Errorf("%v: the warning that the goal is not reached: %v", e.Of, warned)
				}
			}
		}
		return needed
	}
	arms, pairs, three := rounds(false, "a", "b"), rounds(true, "a", "b"), rounds(true, "a", "b", "c")
	if float64(pairs) < 1.3*float64(arms) || float64(three) > 1.8*float64(arms) {
		t.Errorf("%d rounds for arms, %d with effects of two factors, %d of three", arms, pairs, three)
	}
}
