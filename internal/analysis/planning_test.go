package analysis

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/test/slow"
)

var planned = flag.Int("planning.runs", 30, "simulated experiments in each case of TestPlanning…; docs/method.md says of how many its figures are")

// world is a kind of noise: 2 % for every trial, and the noise of the kind.
type world struct {
	name  string
	drift float64 // deviation of the drift, which is AR(1) with 0.9 from trial to trial
	odds  float64 // odds of a trial that takes a fifth longer
}

var worlds = []world{{name: "iid"}, {name: "drift", drift: 0.03}, {name: "spiky", odds: 0.05}}

// bench simulates experiments of a baseline, a control and arms in a world.
type bench struct {
	world
	rng    *rand.Rand
	plan   experiment.Plan
	effect float64 // effect of every arm
	state  float64 // current value of the drift
}

func (w world) bench(rounds, arms int, effect float64, seed uint64) *bench {
	b := &bench{world: w, effect: effect, rng: rand.New(rand.NewPCG(seed, uint64(rounds)))}
	names := make([]string, arms)
	for i := range names {
		names[i] = fmt.Sprint("arm-", i+1)
	}
	b.plan = *testPlan(rounds, slices.Clone(timeOnly), names...)
	b.plan.Equivalence = 0.02
	return b
}

// begin starts a new experiment.
func (b *bench) begin() {
	b.plan.Seed, b.state = b.rng.Uint64(), b.drift*b.rng.NormFloat64()
	b.plan.Looks, b.plan.Fixed = nil, 0
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

// quantiles formats the 10th, 50th and 90th percentile of whole numbers.
func quantiles(x []int) string {
	if len(x) == 0 {
		return "none"
	}
	slices.Sort(x)
	at := func(p float64) int { return x[int(p*float64(len(x)-1)+0.5)] }
	return fmt.Sprintf("%d / %d / %d", at(0.1), at(0.5), at(0.9))
}

func share(k, n int) string { return fmt.Sprintf("%.1f %%", 100*float64(k)/float64(max(n, 1))) }

// TestPlanningRounds takes experiments that are not resolved after 10 rounds. It compares the
// number of rounds that Tare then predicts with the number that resolves 80 % of new experiments,
// and counts the new experiments that the predicted number resolves.
func TestPlanningRounds(t *testing.T) {
	slow.Test(t)
	for _, w := range worlds {
		for _, effect := range []float64{0, 0.01, 0.02} {
			b := w.bench(10, 1, effect, 1)
			var named []int
			unresolved, followed, none, extended := 0, 0, 0, [2]int{}
			var ranges [][2]int
			for range *planned {
				b.begin()
				b.plan.Rounds = 10
				first := slices.Clip(b.rounds(1, 10))
				run, j := judgeRun(tabulate(&b.plan, first, validOnly), first)
				if !run.Valid || resolves(run.Comparisons[0].Verdict) {
					continue
				}
				unresolved++
				x := explainer{Rules: j.Rules, plan: &b.plan}
				var c Comparison
				x.detectable(&c, j.treatments[0])
				if c.Needed == 0 {
					none++
					named = append(named, mostRounds)
					continue
				}
				named, ranges = append(named, c.Needed), append(ranges, *c.NeededRange)
				if r := *c.NeededRange; r[0] < 11 || r[0] > c.Needed || r[1] < c.Needed*3/2 {
					t.Fatalf("%d rounds, in the range %v", c.Needed, r)
				}
				n := min(c.Needed, 400)
				for i, n := range []int{n, n * 4 / 3} {
					b.plan.Looks, b.plan.Fixed = []int{10}, n
					if resolves(Judge(&b.plan, append(first, b.rounds(11, n)...)).Comparisons[0].Verdict) {
						extended[i]++
					}
				}
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
			held := 0
			for _, r := range ranges {
				held += counted(r[0] <= truth && truth <= r[1])
			}
			t.Logf("%-5s %v: not resolved %s, named %s, none %d, in truth %d, resolved by as many new rounds %s, when extended to as many %s, to a third more %s; ranges that hold what it takes in truth %s", w.name, effect,
				share(unresolved, *planned), quantiles(named), none, truth, share(followed, unresolved), share(extended[0], unresolved), share(extended[1], unresolved), share(held, len(ranges)))
		}
	}
}

// enough returns the smallest number of rounds with which 80 % of valid experiments are resolved.
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

// TestPlanningPrecision counts how often a goal of precision is reached, how often the interval
// contains the true value, and how many rounds that takes.
func TestPlanningPrecision(t *testing.T) {
	slow.Test(t)
	for _, w := range worlds {
		for _, goal := range []float64{0.02, 0.01} {
			for _, pilot := range []int{6, 8, 12, 20} {
				b := w.bench(pilot, 1, 0.02, 2)
				b.plan.Precision, b.plan.MaxRounds = quantity.Percent(goal), 2000
				reached, holds, rounds := 0, 0, 0
				for range *planned {
					b.begin()
					trials := b.rounds(1, pilot)
					n, err := NeededRounds(&b.plan, trials)
					if err != nil {
						t.Fatal(err)
					}
					c := Judge(&b.plan, append(trials, b.rounds(pilot+1, n)...)).Comparisons[0]
					rounds += n
					if (math.Log1p(c.Overhead.Hi)-math.Log1p(c.Overhead.Lo))/2 <= math.Log1p(goal)*(1+1e-9) {
						reached++
					}
					if c.Overhead.Lo <= b.effect && b.effect <= c.Overhead.Hi {
						holds++
					}
				}
				t.Logf("%-5s ±%v, pilot of %2d: reached %s, holds the truth %s, mean rounds %.1f", w.name, b.plan.Precision, pilot,
					share(reached, *planned), share(holds, *planned), float64(rounds)/float64(*planned))
				if least := 0.75 - 3*math.Sqrt(0.25/float64(*planned)); w.name == "iid" && float64(reached) < least*float64(*planned) {
					t.Errorf("%s ±%v, pilot of %d: reached in %s", w.name, b.plan.Precision, pilot, share(reached, *planned))
				}
			}
		}
	}
}

// TestPlanningExtension extends runs that are not resolved. It counts false verdicts at the first look, at both
// looks together, and among the extended runs. For comparison, it counts them with a second look that uses the
// whole significance level.
func TestPlanningExtension(t *testing.T) {
	slow.Test(t)
	type count struct{ n, first, extended, second, whole, missed, missedWhole int }
	for _, w := range worlds {
		for _, scale := range []experiment.Scale{experiment.Ratio, experiment.Difference} {
			for _, effect := range []float64{0, 0.02} {
				if effect > 0 && scale == experiment.Difference {
					continue // a plan without margin is skipped
				}
				for _, rounds := range []int{10, 20} {
					for _, factor := range []float64{1.5, 2, 4} {
						b := w.bench(rounds, 1, effect, 3)
						b.plan.Cells[0].Metrics[0].Scale = scale
						wrong := func(v Verdict) bool {
							if effect > 0 {
								return v == Equivalent || v == Gains
							}
							return v == Costs || v == Gains
						}
						var k count
						for range *planned {
							b.begin()
							b.plan.Rounds, b.plan.Looks, b.plan.Fixed = rounds, nil, 0
							trials := b.rounds(1, rounds)
							run := Judge(&b.plan, trials)
							if !run.Valid {
								continue
							}
							k.n++
							if resolves(run.Comparisons[0].Verdict) {
								k.first += counted(wrong(run.Comparisons[0].Verdict))
								continue
							}
							k.extended++
							n := int(factor * float64(rounds))
							trials = append(trials, b.rounds(rounds+1, n)...)
							b.plan.Fixed = n
							run = Judge(&b.plan, trials)
							k.whole += counted(run.Valid && wrong(run.Comparisons[0].Verdict))
							k.missedWhole += counted(!b.holds(run.Comparisons[0]))
							b.plan.Looks = []int{rounds}
							run = Judge(&b.plan, trials)
							k.second += counted(run.Valid && wrong(run.Comparisons[0].Verdict))
							k.missed += counted(!b.holds(run.Comparisons[0]))
						}
						t.Logf("%-5s %-10s effect %v, %d to %2.0f rounds: false at first %s, both %s (second at the whole level %s); of the extended %s (%s), interval holds %s (%s)",
							w.name, scale, effect, rounds, factor*float64(rounds), share(k.first, k.n), share(k.first+k.second, k.n), share(k.first+k.whole, k.n),
							share(k.second, k.extended), share(k.whole, k.extended), share(k.extended-k.missed, k.extended), share(k.extended-k.missedWhole, k.extended))
						if most := 0.08 + 4*math.Sqrt(0.05*0.95/float64(*planned)); float64(k.first+k.second) > most*float64(k.n) {
							t.Errorf("%s, %s, %v, %d rounds ×%v: %s false", w.name, scale, effect, rounds, factor, share(k.first+k.second, k.n))
						}
					}
				}
			}
		}
	}
}

func (b *bench) holds(c Comparison) bool {
	effect := b.effect
	if c.Metric.Scale == experiment.Difference {
		effect *= 100
	}
	return c.Overhead.Lo <= effect && effect <= c.Overhead.Hi
}

func counted(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPlanningOverestimates compares the size of claimed effects with the true size, by the share
// of runs that claim them, and counts how often there is a warning.
func TestPlanningOverestimates(t *testing.T) {
	for _, w := range worlds {
		for _, effect := range []float64{0.01, 0.015, 0.02, 0.03, 0.05} {
			b := w.bench(10, 1, effect, 4)
			b.plan.Equivalence = 0.005 // nothing is equivalent
			claims, told, sum := 0, 0, 0.0
			for range *planned {
				b.begin()
				run, j := judgeRun(tabulate(&b.plan, b.rounds(1, 10), validOnly), nil)
				if c := run.Comparisons[0]; c.Verdict == Costs || c.Verdict == Gains {
					claims++
					sum += math.Abs(c.Overhead.Point)
					_, weak := j.treatments[0].weak(j.Rules)
					told += counted(weak)
				}
			}
			t.Logf("%-5s %.1f %%: claimed by %s, %.2f times as large as it is, told in %s of them", w.name, 100*effect, share(claims, *planned),
				sum/float64(max(claims, 1))/effect, share(told, claims))
		}
	}
}

// TestPlanningDetectable takes the minimum detectable effect of one run as the true effect, and
// counts how many new runs with as many rounds detect it.
func TestPlanningDetectable(t *testing.T) {
	slow.Test(t)
	for _, w := range worlds {
		for _, metrics := range []int{1, 4} {
			for _, rounds := range []int{6, 8, 10, 12, 20, 30} {
				b := w.bench(rounds, 1, 0, 5)
				for i := 1; i < metrics; i++ {
					b.plan.Cells[0].Metrics = append(b.plan.Cells[0].Metrics, headline(fmt.Sprint("other-", i), experiment.Lower))
				}
				told, found, sum := 0, 0, 0.0
				for range *planned {
					b.effect = 0
					b.begin()
					_, j := judgeRun(tabulate(&b.plan, b.rounds(1, rounds), validOnly), nil)
					x := explainer{Rules: j.Rules, plan: &b.plan}
					mde := x.found(j.treatments[0], x.Alpha/float64(metrics), 0.8)
					if mde == 0 {
						continue
					}
					b.effect = mde
					b.begin()
					c := Judge(&b.plan, b.rounds(1, rounds)).Comparisons[0]
					told++
					sum += mde
					found += counted(c.P <= 0.05/float64(metrics) && c.Overhead.Point > 0)
				}
				t.Logf("%-5s %d hypotheses, %2d rounds: told %s, mean %.2f %%, found by %s", w.name, metrics, rounds, share(told, *planned), 100*sum/float64(max(told, 1)), share(found, told))
				if miss := math.Abs(float64(found)/float64(max(told, 1)) - 0.8); w.name == "iid" && miss > 0.06+4*math.Sqrt(0.16/float64(*planned)) {
					t.Errorf("%d hypotheses, %d rounds: found by %s", metrics, rounds, share(found, told))
				}
			}
		}
	}
}
