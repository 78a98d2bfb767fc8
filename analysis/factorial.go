package analysis

import (
	"math"
	"math/bits"

	"tare/analysis/contrast"
	"tare/experiment"
)

// Factorial is what the factors of a factorial design do on the average over the others, and
// what they do together that they do not do one by one (Fisher 1935, The Design of
// Experiments, chapter 6; Box, Hunter and Hunter 2005, Statistics for Experimenters, chapter 5).
//
// Each round that has a value of every combination gives one contrast for each effect (fits.go): the
// logarithms of its values with the signs of the design. Noise of any shape that
// is the same in all arms of a round leaves the contrast of an effect of nothing symmetric about
// zero, since as many values come with a plus as with a minus: that is all that
// the signed-rank test asks. Where one arm is noisier and skewed, only the mean is zero, for which
// t stands. The control takes no part, which would disturb that balance.
//
// An interaction is not halved, as textbooks have it, but is the logarithm of what
// the factors do together over the product of what they do alone: with two factors,
// ln AB − ln A − ln B + ln 1.
type Factorial struct {
	Factors []string `json:"factors"` // of the design, in the order of the plan
	Family  int      `json:"family"`  // effects on headline metrics, which Holm's correction takes together
	Effects []Effect `json:"effects"` // by cell and metric, main effects first
}

// Effect is a main effect or an interaction, in the form of a comparison: the arm is that of
// the factors alone, the overhead what they cost, or cost together beyond the sum of their parts.
type Effect struct {
	// Of names the factors: one for a main effect, several for an interaction.
	Of []string `json:"of"`
	// Over names the factors over whose settings it is an average.
	Over []string `json:"over,omitempty"`
	Comparison
}

// The verdicts of interactions.
const (
	// MoreTogether and LessTogether: together, factors cost more or less than one by one.
	MoreTogether Verdict = "more together"
	LessTogether Verdict = "less together"
	// AddsUp: the interaction is equivalent to none.
	AddsUp Verdict = "adds up"
)

// Interaction says whether the effect is one of several factors.
func (e *Effect) Interaction() bool { return len(e.Of) > 1 }

// effects are hypotheses on the effects of a factorial design; nil: there is no such design.
// The set of factors of each stands beside it, bit by bit.
func (j *judgement) effects(t *table) (list []*hypothesis, sets []int) {
	arms := t.plan.Combination()
	if arms == nil || !t.plan.Paired() {
		return nil, nil
	}
	for c, cell := range t.plan.Cells {
		for _, m := range cell.Metrics {
			for _, set := range effectSets(len(t.plan.Factorial)) {
				h := j.askTogether(t, c, arms[set], arms[0], t.plan.Arms[arms[set]].Name, t.effect(c, arms, set, m))
				h.unplanned = bits.OnesCount(uint(set)) > plannedFactors
				list, sets = append(list, h), append(sets, set)
			}
		}
	}
	decide(list, nil, j.Rules)
	return list, sets
}

// effectSets lists the sets of factors that have an effect: single ones first.
func effectSets(factors int) (sets []int) {
	for size := 1; size <= factors; size++ {
		for set := 1; set < 1<<factors; set++ {
			if bits.OnesCount(uint(set)) == size {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// effect collects the contrasts of one effect: in each round the values of all combinations,
// with a minus for each factor of the set that is off, averaged over the other factors.
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
	if effects != nil { // already taken away, and the test is to know it
		d.Places = make([][3]float64, len(list))
	}
	return d
}

// factorial judges the effects of a factorial design and explains the verdicts; nil: there is
// no such design. A run that gives no verdicts, or is not finished, gives none on effects.
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
				c.Verdict = c.Verdict.ofSum()
			}
		})
		f.Effects = append(f.Effects, Effect{Comparison: c, Of: of, Over: over})
	}
	return f
}

// together puts what was judged of several arms into the form of the result. Their verdict is changed before it
// is withheld, as from a run that gives none, or in which one of the arms is not done.
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

// FewestForEffects is the number of rounds, or of set-ups that rounds share, from which on
// effects of a plan's factorial design can be claimed; 0: it has no such design.
func FewestForEffects(plan *experiment.Plan) int {
	if plan.Effects() == 0 {
		return 0
	}
	return contrast.RulesOf(plan).Fewest(true, false, plan.Effects())
}

// ofSum is a verdict on an interaction.
func (v Verdict) ofSum() Verdict {
	switch v {
	case Costs:
		return MoreTogether
	case Gains:
		return LessTogether
	case Equivalent:
		return AddsUp
	}
	return v
}

// split names the factors of a set, and the others.
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

// leastDone is what is missing of that of several arms which has the fewest rounds; nil:
// none is missing.
func leastDone(plan *experiment.Plan, arms []int, unfinished map[[2]string]Reason, cell string) (least Reason) {
	fewest := math.MaxInt
	for _, a := range arms {
		if r, ok := unfinished[[2]string{cell, plan.Arms[a].Name}].(RoundsMissing); ok && r.Rounds < fewest {
			least, fewest = r, r.Rounds
		}
	}
	return least
}
