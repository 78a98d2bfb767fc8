package analysis

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// Factorial holds the effects of a factorial design: main effects, averaged over the other factors, and interactions
// (Fisher 1935, The Design of Experiments, chapter 6; Box, Hunter and Hunter 2005, Statistics for Experimenters,
// chapter 5).
//
// Each round with a value of every combination of factors gives one contrast for each effect (fits.go): a sum of
// logarithms with the design's signs. If noise has the same distribution in all arms, the contrast of a zero effect is
// symmetric about zero. The signed-rank test assumes only this symmetry. If one arm's noise is wider and skewed, the t
// test applies. The control takes no part, since it would disturb the balance of plus and minus.
//
// An interaction is the logarithm of the joint effect divided by the product of the single effects: with two factors,
// ln AB − ln A − ln B + ln 1. Textbooks halve an interaction; Tare does not.
type Factorial struct {
	Factors []string `json:"factors"` // factors of the design, in the order of the plan
	Family  int      `json:"family"`  // number of effects on headline metrics, which Holm's method corrects together
	Effects []Effect `json:"effects"` // effects by cell and metric, main effects first
}

// Effect is a main effect (the cost of one factor) or an interaction (the joint cost of several factors beyond the sum
// of their single costs). Its arm has exactly these factors on.
type Effect struct {
	// Of names the effect's factors: one for a main effect, several for an interaction.
	Of []string `json:"of"`
	// Over names the other factors of the design. The effect is the average over these factors turned on and off.
	Over []string `json:"over,omitempty"`
	Comparison
}

// The verdicts of interactions.
const (
	// MoreTogether and LessTogether: layers together cost more, or less, than the sum of what each layer costs alone.
	MoreTogether Verdict = "more together"
	LessTogether Verdict = "less together"
	// AddsUp: the interaction is equivalent to zero.
	AddsUp Verdict = "adds up"
)

// Interaction reports whether the effect involves several factors.
func (e *Effect) Interaction() bool { return len(e.Of) > 1 }

// effects returns, for each effect of a factorial design, its hypothesis and its set of factors as bits; nil: the plan
// has no factorial design.
func (j *judgement) effects(t *table) (list []*hypothesis, sets []int) {
	arms := t.plan.Combination()
	if arms == nil || !t.plan.Paired() {
		return nil, nil
	}
	for c, cell := range t.plan.Cells {
		for _, m := range cell.Metrics {
			for _, set := range effectSets(arms) {
				h := j.newJointHypothesis(t, c, arms[set], arms[0], t.plan.Arms[arms[set]].Name, t.effect(c, arms, set, m))
				h.unplanned = bits.OnesCount(uint(set)) > plannedFactors
				list, sets = append(list, h), append(sets, set)
			}
		}
	}
	decide(list, nil, j.Rules)
	return list, sets
}

// effectSets returns the factors of each effect as bits, small sets first. The bits are the index of the arm with only
// these factors on.
func effectSets(arms []int) (sets []int) {
	for set := 1; set < len(arms); set++ {
		sets = append(sets, set)
	}
	slices.SortStableFunc(sets, func(a, b int) int { return bits.OnesCount(uint(a)) - bits.OnesCount(uint(b)) })
	return sets
}

// effect sums the signed values of each round for one set of factors. Minus: an odd number of the set's factors are
// off. Other factors are averaged.
func (t *table) effect(c int, arms []int, set int, m experiment.Metric) contrast.Data {
	of, others := bits.OnesCount(uint(set)), bits.OnesCount(uint(len(arms)-1))-bits.OnesCount(uint(set))
	weight := math.Ldexp(1, -others)
	signs := make([]int, len(arms))
	for on := range signs {
		signs[on] = 1 - 2*((of-bits.OnesCount(uint(on&set)))%2)
	}
	var missing contrast.Missing
	list := t.completeRounds([]int{c}, arms, m, func(who []bool) {
		more, less := false, false
		for k, broke := range who {
			more, less = more || broke && signs[k] > 0, less || broke && signs[k] < 0
		}
		missing.Add(less, more)
	})
	rounds, effects := t.setOf(list, 0), t.orderEffects(c, m)
	sums, moved := make([]float64, len(list)), make([]int, len(list))
	for i, r := range list {
		for k, v := range r.values {
			sums[i] += float64(signs[k]) * weight * (contrast.Scaled(v, m) - effects.of(r.trials[k]))
			moved[i] += signs[k] * r.trials[k].Position
		}
		sums[i] = contrast.Bounded(sums[i])
	}
	d := rounds.data(m, sums)
	d.Means, d.Margin, d.Missing, d.Moved = m.Scale == experiment.Difference, t.margin(c, m), missing, moved
	if effects != nil { // a test must know of the removal above; the entries are 0: nothing is removed twice
		d.PositionEffects = make([][3]float64, len(list))
	}
	return d
}

// factorial returns the effects of a factorial design with verdicts and explanations; nil: no such design. An
// unfinished arm or an invalid run withholds verdicts.
func (x explainer) factorial(run *Run, j *judgement) *Factorial {
	list, sets := j.effects(x.table)
	if list == nil {
		return nil
	}
	f := &Factorial{Factors: x.plan.Factorial, Family: claims(list)}
	unfinished := x.table.unfinished()
	for i, h := range list {
		of, over := split(x.plan.Factorial, sets[i])
		c := x.together(h, run, x.plan.Combination(), unfinished, func(c *Comparison) {
			if len(of) > 1 {
				c.Verdict = cmp.Or(map[Verdict]Verdict{Costs: MoreTogether, Gains: LessTogether, Equivalent: AddsUp}[c.Verdict], c.Verdict)
			}
		})
		f.Effects = append(f.Effects, Effect{Comparison: c, Of: of, Over: over})
	}
	return f
}

// together returns the comparison for a hypothesis about several arms, adapted by change. An invalid run or an
// unfinished arm withholds the verdict.
func (x explainer) together(h *hypothesis, run *Run, arms []int, unfinished map[[2]string]Reason, change func(*Comparison)) Comparison {
	c := h.comparison(x.plan)
	x.complete(&c, h)
	change(&c)
	if !run.Valid {
		c.Withhold(InvalidRuns{})
	} else if why := leastDone(x.plan, arms, unfinished, h.Cell); why != nil {
		c.Suspend(why)
	}
	for _, a := range arms {
		run.WithholdGains(&c, x.plan.Arms[a].Name)
	}
	return c
}

// FewestForEffects returns the smallest number of rounds, or of shared set-ups, with which an effect can be claimed; 0:
// no factorial design.
func FewestForEffects(plan *experiment.Plan) int {
	if plan.Effects() == 0 {
		return 0
	}
	return contrast.RulesOf(plan).Fewest(true, false, plan.Effects())
}

func split(factors []string, set int) (of, over []string) {
	for i, name := range factors {
		if set>>i&1 == 1 {
			of = append(of, name)
		} else {
			over = append(over, name)
		}
	}
	return of, over
}

// leastDone returns why the arms are unfinished: the reason of the arm that has done the fewest rounds. It returns nil
// if all arms are finished.
func leastDone(plan *experiment.Plan, arms []int, unfinished map[[2]string]Reason, cell string) (least Reason) {
	fewest := math.MaxInt
	for _, a := range arms {
		if r, ok := unfinished[[2]string{cell, plan.Arms[a].Name}].(RoundsMissing); ok && r.Rounds < fewest {
			least, fewest = r, r.Rounds
		}
	}
	return least
}
