package analysis

import (
	"math"

	"tare/experiment"
	"tare/stats"
)

// reason says why a comparison is not resolved.
type reason int

const (
	plain       reason = iota // neither a difference nor equivalence is shown
	noPairs                   // fewer than two pairs
	noSpread                  // too few pairs for ranks, and no spread for a t interval
	notByHolm                 // by itself a difference, but not among the family
	underBias                 // a difference no larger than the control's
	tooFew                    // fewer pairs than any claim of the family takes
	noControl                 // the control arm has no estimate to stand against
	thinControl               // it has one of so few pairs that it could hardly differ
	straddling                // p is small, but ties leave 0 in the interval
)

// hypothesis is one comparison on its way to a verdict.
type hypothesis struct {
	estimate
	adjusted      float64 // p after Holm; p itself for an exploratory metric
	equivAdjusted float64
	control       *hypothesis // the A/A comparison on the same metric; nil: none planned
	bias          float64     // what a claim must exceed, as a contrast
	verdict       Verdict
	reason        reason
	family        int     // hypotheses that share its correction; 1 for an exploratory metric
	byT           Verdict // what the t interval alone would say
}

// judgement is every comparison of a run, in the order cell, metric, arm.
type judgement struct {
	rules
	treatments []*hypothesis
	controls   []*hypothesis
	reasons    []string // why the run gives no verdicts
}

// judge makes every comparison and decides it. The controls come first: they
// say what a claim must exceed, and whether there may be any.
func judge(t *table) *judgement {
	j := &judgement{rules: rulesOf(t.plan)}
	j.compare(t)
	decide(j.controls, j.rules)
	for _, c := range j.controls {
		if c.different(j.rules) {
			c.bias = math.Max(math.Abs(c.main.at.Lo), math.Abs(c.main.at.Hi))
		}
		if c.failed(j.rules) {
			j.reasons = append(j.reasons, j.failure(t.plan, c))
		}
	}
	for _, h := range j.treatments {
		if h.control != nil {
			h.bias = h.control.bias
		}
	}
	decide(j.treatments, j.rules)
	return j
}

// compare makes the estimates of every arm but the baseline.
func (j *judgement) compare(t *table) {
	base := role(t.plan, experiment.Baseline)
	if base < 0 {
		return
	}
	for c, cell := range t.plan.Cells {
		for _, m := range cell.Metrics {
			var control *hypothesis
			if a := role(t.plan, experiment.Control); a >= 0 {
				control = &hypothesis{estimate: j.estimates(t.pair(c, a, base, m))}
				control.cell, control.arm = c, a
				j.controls = append(j.controls, control)
			}
			for a, arm := range t.plan.Arms {
				if arm.Role == experiment.Treatment {
					h := &hypothesis{estimate: j.estimates(t.pair(c, a, base, m)), control: control}
					h.cell, h.arm = c, a
					j.treatments = append(j.treatments, h)
				}
			}
		}
	}
}

// decide gives every hypothesis its verdict, the headline ones as one family
// under Holm's correction. It does so a second time with the t intervals alone,
// to see whether the estimators agree.
func decide(all []*hypothesis, r rules) {
	main, equiv := holm(all, func(h *hypothesis) view { return h.main })
	byT, equivByT := holm(all, func(h *hypothesis) view { return h.t })
	headline := 0
	for _, h := range all {
		if h.metric.Headline {
			headline++
		}
	}
	for i, h := range all {
		h.family = 1
		if h.metric.Headline {
			h.family = headline
		}
		h.adjusted, h.equivAdjusted = main[i], equiv[i]
		h.verdict, h.reason = h.decide(h.main, main[i], equiv[i], r)
		h.byT, _ = h.decide(h.t, byT[i], equivByT[i], r)
	}
}

// holm adjusts the p values of the headline hypotheses for their number.
func holm(all []*hypothesis, of func(*hypothesis) view) (p, equiv []float64) {
	p, equiv = make([]float64, len(all)), make([]float64, len(all))
	var family []int
	var familyP, familyEquiv []float64
	for i, h := range all {
		v := of(h)
		p[i], equiv[i] = v.p, v.equiv
		if h.metric.Headline {
			family = append(family, i)
			familyP, familyEquiv = append(familyP, v.p), append(familyEquiv, v.equiv)
		}
	}
	familyP, familyEquiv = stats.Holm(familyP), stats.Holm(familyEquiv)
	for k, i := range family {
		p[i], equiv[i] = familyP[k], familyEquiv[k]
	}
	return p, equiv
}

// decide is the order of decision: equivalent, else costs or gains, else not
// resolved and why.
func (h *hypothesis) decide(v view, p, equiv float64, r rules) (Verdict, reason) {
	excludes := v.at.Lo > 0 || v.at.Hi < 0
	switch {
	case len(h.contrasts) < 2:
		return NotResolved, noPairs
	case !v.ok:
		return NotResolved, noSpread
	case h.tooFew(r):
		return NotResolved, tooFew
	case h.control != nil && !h.control.main.ok:
		return NotResolved, noControl
	case h.control != nil && 2*len(h.control.contrasts) < len(h.contrasts):
		return NotResolved, thinControl
	case equiv <= r.alpha:
		return Equivalent, plain
	case p > r.alpha && v.p <= r.alpha && excludes:
		return NotResolved, notByHolm
	case p > r.alpha:
		return NotResolved, plain
	case !excludes:
		return NotResolved, straddling
	case v.at.Lo <= h.bias && v.at.Hi >= -h.bias:
		return NotResolved, underBias
	case overhead(v.at.Point, h.metric) > 0:
		return Costs, plain
	}
	return Gains, plain
}

// tooFew says whether there are fewer pairs than the signed-rank test takes to
// claim anything at all on a headline metric. The t interval, which serves
// there, is shown but supports no claim: it rests on normal noise, which so few
// pairs cannot show, and fewer rounds must not claim more than more rounds do.
func (h *hypothesis) tooFew(r rules) bool {
	return h.metric.Headline && len(h.contrasts) < least(r.alpha/float64(h.family))
}

// different says whether a control differs from the baseline by more than
// chance, however little.
func (h *hypothesis) different(r rules) bool { return h.main.ok && h.adjusted <= r.alpha }

// failed says whether a control takes the verdicts from the run: it differs on a
// headline metric and is not shown to be equivalent.
func (h *hypothesis) failed(r rules) bool {
	return h.metric.Headline && !h.tooFew(r) && h.different(r) && h.main.equiv > r.alpha
}
