package analysis

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/stats"
)

// NeededRounds is the second stage of Stein's rule: from the trials of the pilot
// (the plan's rounds) it gives the total number of rounds, the pilot's included,
// after which a treatment's interval on a headline metric has the half-width of the
// plan's precision, on the log scale: ln(1 + precision), with a chance of 90 %. It is
// capped at the plan's MaxRounds and never under the pilot. Later trials are
// ignored, so that asking again gives the same answer. In a plan without
// treatments, which asks for the noise, the control stands for them. It is an
// error when no such arm has two valid pairs on a headline metric.
func NeededRounds(plan *experiment.Plan, trials []journal.Trial) (int, error) {
	n, _, err := neededRounds(tabulate(plan, trials, validOnly))
	return n, err
}

// plannedFactors is of how many factors an interaction may be for a goal of precision to be
// about it: what a pair costs together is a question of every such design, and a larger
// set takes four times the rounds for each factor more.
const plannedFactors = 2

// plannedSets are the effects of a factorial design that a goal of precision is about.
func plannedSets(plan *experiment.Plan) []int {
	if plan.Combination() == nil {
		return nil
	}
	return slices.DeleteFunc(effectSets(len(plan.Factorial)), func(set int) bool { return bits.OnesCount(uint(set)) > plannedFactors })
}

// precisionAssurance is the chance with which a goal of precision is to be reached.
const precisionAssurance = 0.9

// neededRounds also says whether the cap cut the number.
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
			pilot-- // a set-up that the pilot's end divides is none of the pilot's in the end
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
			for _, set := range plannedSets(plan) {
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

// pilot is what the pilot's rounds tell, as it was when they were done: effects of places
// within the round are those of its rounds, too.
func (t *table) pilot() *table {
	p := *t
	last, _ := slices.BinarySearch(t.rounds, t.plan.Rounds+1)
	p.moved, p.rounds = nil, t.rounds[:last]
	return &p
}

// totalRounds is the number of rounds that the run is to have, as far as it is
// known: the pilot's until the pilot is complete.
func totalRounds(t *table) (rounds int, capped bool) {
	rounds = t.plan.Rounds
	if t.plan.Import != nil {
		return len(t.rounds), false
	}
	if n := cmp.Or(t.plan.Decided, t.plan.Ended); n > 0 {
		return n, false
	}
	fixed := t.plan.Fixed // by the rule of the Tare that ran it, where the journal tells
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

// FewestRounds is the smallest number of rounds at which any claim on a headline
// metric is possible at all: the smallest p that the exact test within rounds can
// give, 2 in 3^rounds with a control and 2 in 2^rounds without, must be at most alpha over
// the number of hypotheses. Where several rounds share a set-up, it is the number of set-ups. Of a
// plan whose trials are independent samples it is the number of values of each
// arm, by the rank-sum test.
func FewestRounds(plan *experiment.Plan) int {
	controlled := plan.Import == nil && role(plan, experiment.Control) >= 0
	return contrast.RulesOf(plan).Fewest(plan.Paired(), controlled, max(plan.HeadlineFamily(), 1))
}

// unitEffects remembers the minimum detectable effects for a deviation of 1, by their unitCase: each
// takes longer to work out than all the rest of a comparison, and many runs of one design ask for the same.
var unitEffects sync.Map

type unitCase struct {
	n            int // independent values of pairs, or values of the baseline
	treated      int // values of the arm; 0: pairs
	alpha, power float64
	ranks        bool
	control      bool // the reference is baseline and control together
}

// effect is 0 where so few pairs can claim nothing. Of pairs that are judged by ranks it allows
// for the deviation being estimated from as few values, so that power is that of the effect
// as it is told.
func (c unitCase) effect() (v float64) {
	if known, ok := unitEffects.Load(c); ok {
		return known.(float64)
	}
	switch {
	case c.treated > 0 && c.ranks:
		v = stats.RankSumDetectableEffect(1, c.n, c.treated, c.alpha, c.power)
	case c.treated > 0:
		v = stats.WelchDetectableEffect(1, 1, c.n, c.treated, c.alpha, c.power)
	case c.ranks:
		power := stats.SignedRankPower
		if c.control {
			power = stats.AlignedRankPower
		}
		v = stats.AssuredEffect(c.power, float64(c.n-1), func(effect float64) float64 { return power(effect, 1, c.n, c.alpha) })
	default:
		v = stats.DetectableEffect(1, c.n, c.alpha, c.power)
	}
	v = contrast.Finite(v)
	unitEffects.Store(c, v)
	return v
}

func unitOf(h *hypothesis, alpha, power float64) unitCase {
	c := unitCase{n: h.Size(), alpha: alpha, power: power, ranks: contrast.Ranks(h.Method) && h.grade != Normal}
	switch {
	case !h.Paired:
		c.n, c.treated = len(h.Baseline), len(h.Treated)
	case c.ranks:
		c.control = h.MostlyControlled()
	}
	return c
}

// deviation is that of one contrast. Of independent samples it is the deviation
// that gives the difference of both the standard error it has, if both had it:
// the smaller sample's counts for more.
func deviation(h *hypothesis) float64 {
	if h.Paired {
		return h.SD
	}
	m, n := float64(len(h.Baseline)), float64(len(h.Treated))
	return math.Hypot(h.Spread[0]*math.Sqrt(n), h.Spread[1]*math.Sqrt(m)) / math.Sqrt(m+n)
}

// needed is the number of rounds, or of values of each arm, with which a new run
// gets a verdict of any kind with the chance power, given what is observed; 0 if over
// the most or if that cannot be said. Where several rounds share a set-up, set-ups are
// what is looked for, and told as rounds.
func (x explainer) needed(h *hypothesis, alpha, power float64) int {
	each := h.RoundsEach()
	b := stats.BeliefOf(h.Main.At, x.Confidence, h.Freedom())
	a := stats.Aim{Alpha: alpha, Shown: x.Alpha, Assurance: power, Limit: mostRounds / each, Seed: x.plan.Seed}
	if a.Margin = x.MarginOf(&h.Data); a.Margin > 0 {
		a.Reach = reach * a.Margin
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

// How often new runs are drawn from what was observed, to say how many rounds they
// need: of all headline comparisons together, so that many cost no more time than a
// few, and of one. With fewer the noise is taken for normal.
const (
	resamples       = 4000
	mostResamples   = 400
	fewestResamples = 100
)
