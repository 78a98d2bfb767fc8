package analysis

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
	"tare/internal/test/slow"
)

// ruled returns a plan whose arms differ in the number of rules.
func ruled(rounds int, metrics []experiment.Metric, levels ...float64) *experiment.Plan {
	p := testPlan(rounds, metrics)
	for _, x := range levels {
		level := factor.Level{Factor: "rules", Value: strconv.FormatFloat(x, 'g', -1, 64)}
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: "seccomp[" + level.String() + "]", Role: experiment.Treatment, Levels: []factor.Level{level}})
	}
	return p
}

// rulesOf reads the level from the name of an arm; -1 for other arms.
func rulesOf(arm string) float64 {
	_, text, found := strings.Cut(arm, "rules=")
	if !found {
		return -1
	}
	v, _ := strconv.ParseFloat(strings.TrimSuffix(text, "]"), 64)
	return v
}

// costing returns values around 100 with the costs of the function cost, drift that all arms of a
// round share, and independent noise.
func costing(r *rand.Rand, cost func(rules float64) float64, drift float64, noise func() float64) func(int, string, string, string) float64 {
	at, common := 0, 0.0
	return func(round int, _, arm, _ string) float64 {
		if round != at {
			at, common = round, drift*r.NormFloat64()
		}
		v := 100.0
		if x := rulesOf(arm); x >= 0 {
			v += 100 * cost(x)
		}
		return v * math.Exp(common+noise())
	}
}

// parted formats a breakdown as a line: its parts, and the level that is off the line.
func parted(b *Breakdown) string {
	var parts []string
	for _, p := range b.Parts {
		parts = append(parts, fmt.Sprintf("%s %s %.3f", p.Part, p.Verdict, 100*p.Overhead.Point))
	}
	text := strings.Join(parts, ", ")
	if b.Miss != nil && b.Miss.Poor {
		text += fmt.Sprintf("; %v rules by %.1f, %.0f %% of the rise, %s", b.Miss.X, 100*b.Miss.By.Point, 100*b.Miss.Off, b.Miss.Bend)
	}
	return text
}

// TestBreakdowns breaks down costs whose parts are known.
func TestBreakdowns(t *testing.T) {
	straight := func(x float64) float64 {
		if x == 0 {
			return 0.01
		}
		return 0.04 + 0.0005*x
	}
	for _, c := range []struct {
		name   string
		levels []float64
		cost   func(float64) float64
		want   []string
	}{
		{"with none", []float64{0, 1, 2, 4, 8, 64}, straight, []string{"installed equivalent 1.000, any costs 3.000, each costs 0.050"}},
		{"without", []float64{1, 2, 4, 8, 64}, straight, []string{"any costs 4.000, each costs 0.050"}},
		{"out of order", []float64{64, 0, 8}, straight, []string{"installed equivalent 1.000, any costs 3.000, each costs 0.050"}},
		{"nothing", []float64{0, 1, 2, 4, 8, 64}, func(float64) float64 { return 0 }, []string{"installed equivalent 0.000, any equivalent 0.000, each equivalent 0.000"}},
		{"gains", []float64{0, 1, 4, 8}, func(x float64) float64 { return -0.05 - 0.01*x }, []string{"installed gains -5.000, any equivalent 0.000, each gains -1.000"}},
		{"more at the end", []float64{0, 1, 2, 4, 8, 64}, func(x float64) float64 {
			if x == 64 {
				return straight(x) + 0.12
			}
			return straight(x)
		}, []string{"installed equivalent 1.000, any costs 2.284, each costs 0.247; 64 rules by 12.0, 79 % of the rise, steeper"}},
		{"flatter", []float64{1, 4, 16, 64}, func(x float64) float64 { return 0.05 * math.Sqrt(x) }, []string{"any costs 7.711, each costs 0.519; 64 rules by -26.0, 74 % of the rise, flatter"}},
		{"two levels", []float64{0, 8}, straight, nil},
		{"far from none", []float64{20, 40, 80}, straight, nil},
		{"no count", []float64{0.5, 1, 2}, straight, nil},
	} {
		rng := rand.New(rand.NewPCG(1, 3))
		plan := ruled(12, timeOnly, c.levels...)
		// The noise is so small that the parts are exact to three decimals.
		trials := testTrials(plan, 12, costing(rng, c.cost, 0.05, func() float64 { return 2e-6 * rng.NormFloat64() }))
		var got []string
		for _, b := range Analyze(plan, trials, nil).Breakdowns {
			got = append(got, parted(&b))
		}
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "-0.000", "0.000")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A part has its amount in the metric's unit beside its share. For metrics compared by differences
// the overhead is that amount; for a rate a decrease is a cost.
func TestBreakdownAmounts(t *testing.T) {
	rate := experiment.Metric{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio}
	plan := ruled(8, []experiment.Metric{headline("time", experiment.Lower), rate, memory}, 0, 1, 2, 4)
	trials := testTrials(plan, 8, func(round int, _, arm, metric string) float64 {
		x, v := rulesOf(arm), 100+float64(round%3)
		sign := 1.0
		if metric == "rate" {
			sign = -1
		}
		if x >= 0 {
			v += sign * (1 + 2*x)
		}
		if x > 0 {
			v += sign * 5
		}
		return v + 1e-7*float64(round*round%7)*(x+2)
	})
	list := Analyze(plan, trials, nil).Breakdowns
	if len(list) != 3 {
		t.Fatalf("%d breakdowns", len(list))
	}
	for i, want := range []string{"1.000/0.010 5.000/0.050 2.000/0.020", "1.000/0.010 5.000/0.050 2.000/0.020", "1.000 5.000 2.000"} {
		var got []string
		for _, p := range list[i].Parts {
			if p.Amount == nil {
				got = append(got, fmt.Sprintf("%.3f", p.Overhead.Point))
			} else {
				got = append(got, fmt.Sprintf("%.3f/%.3f", p.Amount.Point, p.Overhead.Point))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", list[i].Metric.Name, got, want)
		}
	}
	if list[0].Family != 2 || list[1].Family != 2 {
		t.Errorf("a family of %d", list[0].Family)
	}
}

// A round without a value at some level gives no parts. An unfinished or invalid run makes no
// claims.
func TestBreakdownOfPartialRuns(t *testing.T) {
	plan := ruled(10, timeOnly, 0, 1, 2, 4)
	rng := rand.New(rand.NewPCG(1, 3))
	trials := testTrials(plan, 10, costing(rng, func(x float64) float64 { return 0.02 * x }, 0.02, func() float64 { return 1e-3 * rng.NormFloat64() }))
	lost := slices.Clone(trials)
	for i := range lost {
		if lost[i].Round == 3 && rulesOf(lost[i].Arm) == 2 {
			lost[i].Invalid = []journal.Violation{{Rule: "steal"}}
		}
	}
	b := Analyze(plan, lost, nil).Breakdowns[0]
	if !slices.Equal(b.Rounds, []int{1, 2, 4, 5, 6, 7, 8, 9, 10}) || b.Parts[2].Verdict != Costs || b.Parts[2].Rounds != 9 || b.Parts[0].Rounds != 10 {
		t.Errorf("%v, %+v", b.Rounds, b.Parts[2])
	}
	early := slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > 8 })
	for _, p := range Analyze(plan, early, nil).Breakdowns[0].Parts {
		if p.Verdict != Interim || p.Reason != Reason(RoundsMissing{Rounds: 8, Of: 10}) {
			t.Errorf("unfinished: %s %s %v", p.Part, p.Verdict, p.Reason)
		}
	}
	off := slices.Clone(trials)
	for i := range off {
		if off[i].Arm == experiment.ControlName {
			off[i].Values = map[string]float64{"time": off[i].Values["time"] * 1.2}
		}
	}
	for _, p := range Analyze(plan, off, nil).Breakdowns[0].Parts {
		if p.Verdict != Invalid {
			t.Errorf("invalid: %s %s", p.Part, p.Verdict)
		}
	}
	plan.Import = &experiment.Import{Tool: "fio"}
	if list := Analyze(plan, trials, nil).Breakdowns; list != nil {
		t.Errorf("independent samples are broken down: %+v", list)
	}
}

// A missing trial has no position in its round, so its effect of position is not subtracted.
func TestBreakdownWithoutSomeTrials(t *testing.T) {
	plan := ruled(24, []experiment.Metric{headline("time", experiment.Lower)}, 0, 1, 2, 4)
	trials := testTrials(plan, 24, noisy(5, 0.001, nil))
	for i := range trials {
		trials[i].Values["time"] *= 1 + 0.05*float64(trials[i].Position)
	}
	breakRounds(trials, "seccomp[rules=2]", "steal", 3, 9)
	if tabulate(plan, trials, validOnly).orderEffects(0, plan.Cells[0].Metrics[0]) == nil {
		t.Fatal("no effect of places")
	}
	r := Analyze(plan, trials, nil)
	if len(r.Breakdowns) != 1 || len(r.Breakdowns[0].Rounds) != 22 {
		t.Errorf("%+v", r.Breakdowns)
	}
}

// TestBreakdownAgainstR compares with lm, wilcox.test and t.test.
func TestBreakdownAgainstR(t *testing.T) {
	text, err := os.ReadFile("testdata/breakdown.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Plain                            []float64
		Arms                             [][]float64
		Any, Each, AnyAmount, EachAmount []float64
		Deleted                          [][]float64
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	levels := []float64{0, 1, 2, 4, 8, 64}
	plan := ruled(len(want.Plain), timeOnly, levels...)
	trials := testTrials(plan, len(want.Plain), func(round int, _, arm, _ string) float64 {
		if x := rulesOf(arm); x >= 0 {
			return want.Arms[round-1][slices.Index(levels, x)]
		}
		return want.Plain[round-1]
	})
	b := Analyze(plan, trials, nil).Breakdowns[0]
	near := func(what string, got, want []float64) {
		t.Helper()
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9*math.Abs(want[i]) {
				t.Errorf("%s: %v, want %v", what, got, want)
				return
			}
		}
	}
	all := func(i Interval, more ...float64) []float64 { return append([]float64{i.Point, i.Lo, i.Hi}, more...) }
	near("any", all(b.Parts[1].Overhead, b.Parts[1].P), want.Any)
	near("each", all(b.Parts[2].Overhead, b.Parts[2].P), want.Each)
	near("any in s", all(*b.Parts[1].Amount), want.AnyAmount)
	near("each in s", all(*b.Parts[2].Amount), want.EachAmount)
	least := slices.MinFunc(want.Deleted, func(a, b []float64) int { return int(math.Copysign(1, a[3]-b[3])) })
	near("what the line misses", all(b.Miss.By, b.Miss.P), append(slices.Clone(least[:3]), least[3]*5))
	if !b.Miss.Poor {
		t.Errorf("a bent line is fine: %+v", b.Miss)
	}
}

var sweeps = flag.Int("sweeps", 20, "simulated runs in each case of TestBreakdownClaims")

// TestBreakdownClaims simulates sweeps of rules. It counts false claims of parts, intervals that
// contain the true value, and straight lines reported as bent. docs/method.md quotes it from
// -sweeps 300; -v prints it.
func TestBreakdownClaims(t *testing.T) {
	slow.Test(t)
	for k, c := range []struct {
		noise  string
		draw   func(*rand.Rand) float64
		rounds int
		setUps int // rounds per set-up; 0: one set-up for all
		levels []float64
		held   float64 // least share of intervals that contain the true value
		false_ float64 // largest share of runs with a false claim
	}{
		{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }, 12, 0, []float64{0, 1, 2, 4, 8, 64}, 0.945, 0.055},
		{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }, 12, 0, []float64{1, 2, 4, 8}, 0.945, 0.055},
		{"skewed", func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }, 12, 0, []float64{0, 1, 2, 4, 8, 64}, 0.935, 0.06},
		{"skewed", func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }, 40, 0, []float64{0, 1, 2, 4, 8, 64}, 0.90, 0.08},
		{"spiky", func(r *rand.Rand) float64 {
			return min(8, math.Abs(r.NormFloat64()/max(0.02, math.Sqrt(r.ExpFloat64()))))
		}, 12, 0, []float64{0, 1, 2, 4, 8, 64}, 0.93, 0.065},
		{"heavy tails", func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }, 12, 0, []float64{0, 1, 2, 4, 8, 64}, 0.94, 0.055},
		{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }, 24, 2, []float64{0, 1, 2, 4, 8, 64}, 0.94, 0.055},
	} {
		rng := rand.New(rand.NewPCG(uint64(k), 9))
		plan := ruled(c.rounds, timeOnly, c.levels...)
		plan.Equivalence = 1e-6 // otherwise equivalent parts would not count as claims
		noise := func() float64 { return 0.01 * c.draw(rng) }
		claimed, poor, held, heldT, intervals := 0, 0, 0, 0, 0
		run := func(cost func(float64) float64) *Breakdown {
			value := costing(rng, cost, 0.05, noise)
			luck := map[string]float64{}
			trials := testTrials(plan, c.rounds, func(round int, cell, arm, metric string) float64 {
				v := value(round, cell, arm, metric)
				if c.setUps > 0 { // random effect of the set-up
					key := fmt.Sprint(arm, (round-1)/c.setUps)
					if _, drawn := luck[key]; !drawn {
						luck[key] = math.Exp(0.01 * rng.NormFloat64())
					}
					v *= luck[key]
				}
				return v
			})
			for i := range trials {
				trials[i].SetUp = trials[i].Round
				if c.setUps > 0 {
					trials[i].SetUp = (trials[i].Round-1)/c.setUps + 1
				}
			}
			t := tabulate(plan, trials, validOnly)
			run, j := judgeRun(t, trials)
			run.Valid = true // a failed control does not matter here
			x := explainer{Rules: j.Rules, plan: plan, table: t}
			return &x.breakdowns(run, j)[0]
		}
		for range *sweeps {
			b := run(func(float64) float64 { return 0 })
			if slices.ContainsFunc(b.Parts[len(b.Parts)-2:], func(p Part) bool { return p.Verdict == Costs || p.Verdict == Gains }) {
				claimed++
			}
			if b.Miss.Poor {
				poor++
			}
			b = run(func(x float64) float64 { return 0.01 + 0.02*min(x, 1) + 0.001*x })
			any := 0.02
			if c.levels[0] > 0 {
				any = 0.03
			}
			for i, truth := range []float64{any, 0.001} {
				intervals++
				if at := b.Parts[len(b.Parts)-2+i].Overhead; at.Lo <= truth && truth <= at.Hi {
					held++
				}
				if at := b.Parts[len(b.Parts)-2+i].T; at.Lo <= truth && truth <= at.Hi {
					heldT++
				}
			}
			if b.Miss.Poor {
				poor++
			}
		}
		name := fmt.Sprintf("%s noise, %d levels, %d rounds, set-ups of %d", c.noise, len(c.levels), c.rounds, max(c.setUps, 1))
		falsely, holds, bent := float64(claimed)/float64(*sweeps), float64(held)/float64(intervals), float64(poor)/float64(2**sweeps)
		fmt.Fprintf(t.Output(), "%-50s false claims %.1f %% of runs, %.1f %% of intervals hold (t %.1f), %.1f %% of lines said to be none\n", name, 100*falsely, 100*holds, 100*float64(heldT)/float64(intervals), 100*bent)
		slack := func(p float64, n int) float64 { return 4 * math.Sqrt(p*(1-p)/float64(n)) }
		if falsely > c.false_+slack(c.false_, *sweeps) {
			t.Errorf("%s: false claims in %.3f of runs", name, falsely)
		}
		if holds < c.held-slack(c.held, *sweeps) {
			t.Errorf("%s: %.3f of intervals hold the truth", name, holds)
		}
		if bent > 0.012+slack(0.012, *sweeps) {
			t.Errorf("%s: %.3f of lines are said to be none", name, bent)
		}
	}
}

// BenchmarkBreakdown is a sweep of six levels in three kinds of sandbox.
func BenchmarkBreakdown(b *testing.B) {
	plan := ruled(12, timeOnly, 0, 1, 2, 4, 8, 64)
	trials := testTrials(plan, 12, noisy(1, 0.01, nil))
	for b.Loop() {
		Analyze(plan, trials, nil)
	}
}
