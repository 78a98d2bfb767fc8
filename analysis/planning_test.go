package analysis

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/journal"
)

var planned = flag.Int("planning.runs", 60, "simulated experiments in each case of TestPlanning…; docs/method.md has the figures of 2000")

// world is a kind of noise: every trial 2 %, and what the kind adds.
type world struct {
	name  string
	drift float64 // deviation of what drifts, AR(1) with 0.9 from trial to trial
	odds  float64 // of a trial that takes a fifth longer
}

var worlds = []world{{name: "iid"}, {name: "drift", drift: 0.03}, {name: "spiky", odds: 0.05}}

// bench carries experiments of a baseline, a control and arms out in a world.
type bench struct {
	world
	rng    *rand.Rand
	plan   experiment.Plan
	effect float64 // of every arm
	state  float64 // of the drift
}

func (w world) bench(rounds, arms int, effect float64, seed uint64) *bench {
	b := &bench{world: w, effect: effect, rng: rand.New(rand.NewPCG(seed, uint64(rounds)))}
	names := make([]string, arms)
	for i := range names {
		names[i] = fmt.Sprint("arm-", i+1)
	}
	b.plan = *testPlan(rounds, timeOnly, names...)
	b.plan.Equivalence = 0.02
	return b
}

// begin starts a new experiment.
func (b *bench) begin() {
	b.plan.Seed, b.state = b.rng.Uint64(), b.drift*b.rng.NormFloat64()
}

// rounds carries out the rounds from first to last.
func (b *bench) rounds(first, last int) (trials []journal.Trial) {
	for round := first; round <= last; round++ {
		for i, step := range b.plan.Order(round) {
			x := 0.02*b.rng.NormFloat64() + b.state
			b.state = 0.9*b.state + b.drift*math.Sqrt(1-0.9*0.9)*b.rng.NormFloat64()
			if b.rng.Float64() < b.odds {
				x += math.Log(1.2)
			}
			arm := b.plan.Arms[step.Arm]
			if arm.Role == experiment.Treatment {
				x += math.Log1p(b.effect)
			}
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i + 1, Session: 1, Cell: b.plan.Cells[0].ID, Arm: arm.Name,
				Values: map[string]float64{"time": 100 * math.Exp(x)}})
		}
	}
	return trials
}

func resolves(v Verdict) bool { return v == Costs || v == Gains || v == Equivalent }

// quantiles are the 10th, 50th and 90th percentile of whole numbers.
func quantiles(x []int) string {
	slices.Sort(x)
	at := func(p float64) int { return x[int(p*float64(len(x)-1)+0.5)] }
	return fmt.Sprintf("%d / %d / %d", at(0.1), at(0.5), at(0.9))
}

func share(k, n int) string { return fmt.Sprintf("%.1f %%", 100*float64(k)/float64(max(n, 1))) }

// TestPlanningRounds says of experiments that are not resolved after 10 rounds how many
// rounds Tare then names, how many resolve 80 % of new experiments in truth, and how
// many are resolved by a new experiment of as many rounds as were named.
func TestPlanningRounds(t *testing.T) {
	for _, w := range worlds {
		for _, effect := range []float64{0, 0.01, 0.02, 0.04} {
			b := w.bench(10, 1, effect, 1)
			var named []int
			unresolved, followed, none := 0, 0, 0
			for range *planned {
				b.begin()
				b.plan.Rounds = 10
				run := Analyze(&b.plan, b.rounds(1, 10), nil)
				c := run.Comparisons[0]
				if !run.Valid || resolves(c.Verdict) {
					continue
				}
				unresolved++
				if c.Needed == 0 {
					none++
					named = append(named, mostRounds)
					continue
				}
				named = append(named, c.Needed)
				n := min(c.Needed, 400)
				b.begin()
				b.plan.Rounds = n
				if resolves(Judge(&b.plan, b.rounds(1, n)).Comparisons[0].Verdict) {
					followed++
				}
			}
			truth := 0
			if *planned >= 500 {
				truth = b.enough()
			}
			t.Logf("%-5s %v: not resolved %s, named %s, none %d, in truth %d, resolved when followed %s", w.name, effect,
				share(unresolved, *planned), quantiles(named), none, truth, share(followed, unresolved))
		}
	}
}

// enough is the smallest number of rounds by which 80 % of valid experiments are resolved.
func (b *bench) enough() int {
	few, many := 6, 6
	ok := func(n int) bool {
		b.rng = rand.New(rand.NewPCG(9, uint64(n)))
		got, valid := 0, 0
		for range *planned / 2 {
			b.begin()
			b.plan.Rounds = n
			run := Judge(&b.plan, b.rounds(1, n))
			if run.Valid {
				valid++
				if resolves(run.Comparisons[0].Verdict) {
					got++
				}
			}
		}
		return float64(got) >= 0.8*float64(valid)
	}
	for !ok(many) {
		few, many = many, many+max(1, many/4)
	}
	for many-few > 1 {
		if mid := (few + many) / 2; ok(mid) {
			many = mid
		} else {
			few = mid
		}
	}
	return many
}

var _ quantity.Percent
