package analysis

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// NeededRounds returns the number of rounds, pilot included, that the plan's precision needs (the second stage of
// Stein's rule), at most plan.MaxRounds. Headline intervals of treatments, or else of the control, then have
// half-widths of at most ln(1 + precision), with a chance of 90 %. Trials after the pilot are ignored. NeededRounds
// fails if no arm has two valid pairs on a headline metric.
func NeededRounds(plan *experiment.Plan, trials []journal.Trial) (int, error) {
	n, _, err := neededRounds(tabulate(plan, trials, validOnly))
	return n, err
}

// plannedFactors is the largest number of factors in an interaction that counts for a run's precision. Each further
// factor needs four times as many rounds.
const plannedFactors = 2

// precisionAssurance is the probability with which the planned rounds reach the precision.
const precisionAssurance = 0.9

// neededRounds does the work of NeededRounds for sorted trials. The result capped reports whether MaxRounds has limited
// the number.
func neededRounds(t *table) (rounds int, capped bool, err error) {
	t = t.pilot()
	plan := t.plan
	rounds = plan.Rounds
	half := math.Log1p(float64(plan.Precision))
	most := max(plan.MaxRounds, plan.Rounds)
	base := role(plan, experiment.Baseline)
	wanted := experiment.Treatment
	if role(plan, wanted) < 0 {
		wanted = experiment.Control
	}
	asked := 0
	ask := func(p contrast.Data, of string) error {
		contrasts, _, pilot := p.Units()
		each := p.RoundsEach()
		if pilot > 2 && p.LastShort() {
			pilot-- // without the last set-up, which gets further rounds after the pilot
		}
		if pilot < 2 {
			return nil
		}
		n, cut, err := stats.PrecisionRounds(contrasts[:pilot], half, float64(plan.Confidence), precisionAssurance, max(most/each, pilot))
		if err != nil {
			return fmt.Errorf("%s of %s: %w", p.Metric.Name, of, err)
		}
		asked++
		rounds, capped = max(rounds, min(n*each, most)), capped || cut
		return nil
	}
	for c, cell := range plan.Cells {
		for _, m := range cell.Metrics {
			if base < 0 || !m.Headline {
				continue
			}
			for a, arm := range plan.Arms {
				if arm.Role != wanted {
					continue
				}
				if err := ask(t.pair(c, a, base, m), arm.Name+" in "+cell.ID); err != nil {
					return 0, false, err
				}
			}
			for _, set := range effectSets(plan.Combination()) {
				if bits.OnesCount(uint(set)) > plannedFactors {
					break
				}
				of, _ := split(plan.Factorial, set)
				if err := ask(t.effect(c, plan.Combination(), set, m), strings.Join(of, " and ")+" in "+cell.ID); err != nil {
					return 0, false, err
				}
			}
		}
	}
	if asked == 0 {
		return 0, false, fmt.Errorf("no %s has two valid pairs with the baseline on a headline metric in the pilot of %d rounds", wanted, plan.Rounds)
	}
	return rounds, capped, nil
}

// pilot returns the table as it was when the pilot's rounds were done.
func (t *table) pilot() *table {
	p := *t
	last, _ := slices.BinarySearch(t.rounds, t.plan.Rounds+1)
	p.positionEffects, p.rounds = map[[2]string]*PositionEffects{}, t.rounds[:last]
	return &p
}

// totalRounds returns the number of rounds that the run will have, as far as known: until the pilot is complete, the
// pilot's number.
func totalRounds(t *table) (rounds int, capped bool) {
	rounds = t.plan.Rounds
	if t.plan.Import != nil {
		return len(t.rounds), false
	}
	if n := cmp.Or(t.plan.Decided, t.plan.Ended); n > 0 {
		return n, false
	}
	fixed := t.plan.Fixed // number of rounds, set by the pilot or an extension during the run; 0: not set
	if t.plan.Precision == 0 || t.final < rounds || !t.complete(rounds) {
		return max(rounds, fixed), false
	}
	n, capped, err := neededRounds(t)
	if err != nil {
		return max(rounds, fixed), false
	}
	if fixed > 0 {
		return fixed, capped && fixed >= t.plan.MaxRounds
	}
	return n, capped
}

// FewestRounds returns the smallest number of rounds (or shared set-ups, or values per arm) for any headline claim. The
// smallest p-value is 2 in 3^rounds with a control, and 2 in 2^rounds without.
func FewestRounds(plan *experiment.Plan) int {
	controlled := plan.Import == nil && role(plan, experiment.Control) >= 0
	return contrast.RulesOf(plan).Fewest(plan.Paired(), controlled, max(plan.HeadlineFamily(), 1))
}

// unitEffects caches the results of unitEffect, since computing one takes longer than the rest of a comparison.
var unitEffects sync.Map

type unitCase struct {
	n            int // number of independent pairs, or of the baseline's values if there are no pairs
	treated      int // number of values of the arm; 0: the values are pairs, and n counts the pairs
	alpha, power float64
	ranks        bool
	control      bool // the arm is compared with baseline and control together
}

// unitEffect returns the minimum detectable effect at a standard deviation of 1; 0: too few values. For pairs by ranks,
// the unsure deviation raises it.
func unitEffect(h *hypothesis, alpha, power float64) (v float64) {
	c := unitCase{n: h.Size(), alpha: alpha, power: power, ranks: contrast.Ranks(h.Method) && h.grade != Normal}
	switch {
	case !h.Paired:
		c.n, c.treated = len(h.Baseline), len(h.Treated)
	case c.ranks:
		c.control = h.MostlyControlled()
	}
	if known, ok := unitEffects.Load(c); ok {
		return known.(float64)
	}
	switch {
	case c.treated > 0 && c.ranks:
		v = stats.RankSumDetectableEffect(1, c.n, c.treated, alpha, power)
	case c.treated > 0:
		v = stats.WelchDetectableEffect(1, 1, c.n, c.treated, alpha, power)
	case c.ranks:
		chance := stats.SignedRankPower
		if c.control {
			chance = stats.AlignedRankPower
		}
		v = stats.AssuredEffect(power, float64(c.n-1), func(effect float64) float64 { return chance(effect, 1, c.n, alpha) })
	default:
		v = stats.DetectableEffect(1, c.n, alpha, power)
	}
	v = contrast.Finite(v)
	unitEffects.Store(c, v)
	return v
}

// deviation returns the standard deviation of a contrast. Independent samples get a common one that keeps the standard
// error of their difference.
func deviation(h *hypothesis) float64 {
	if h.Paired {
		return h.SD
	}
	m, n := float64(len(h.Baseline)), float64(len(h.Treated))
	return math.Hypot(h.Spread[0]*math.Sqrt(n), h.Spread[1]*math.Sqrt(m)) / math.Sqrt(m+n)
}

// needed returns the rounds (or values per arm) that a new run with values like these needs for a verdict with
// probability power; 0: over the maximum, or unknown.
func (x explainer) needed(h *hypothesis, alpha, power float64) int {
	each := h.RoundsEach()
	b := stats.BeliefOf(h.Main.At, x.Confidence, h.Freedom())
	a := stats.Aim{Alpha: alpha, Shown: x.Alpha, Assurance: power, Limit: mostRounds / each, Seed: x.plan.Seed}
	if a.Margin = x.MarginOf(&h.Data); a.Margin > 0 {
		a.Reach = mostMargins * a.Margin
	}
	if n := resamples / h.family; h.Metric.Headline && !h.Means && n >= fewestResamples {
		a.Resamples = min(n, mostResamples)
	}
	contrasts, _, _ := h.Units()
	rounds, aligned := h.Aligned()
	n := 0
	switch base, arm := h.Scaled(); {
	case h.Derived():
		n = stats.SizeForVerdict(h.Size(), b, a)
	case !h.Paired:
		n = stats.ValuesForVerdict(base, arm, b, a)
	case aligned:
		n = stats.RoundsForVerdict(rounds, b, a)
	default:
		n = stats.PairsForVerdict(contrasts, b, a)
	}
	if n == 0 {
		return 0
	}
	return max(n, h.Size()+1) * each
}

// Limits of simulated runs, drawn from observed values: resamples for all headline comparisons, mostResamples for one.
// Below fewestResamples, noise counts as normal.
const (
	resamples       = 4000
	mostResamples   = 400
	fewestResamples = 100
)
