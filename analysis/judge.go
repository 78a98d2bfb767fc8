package analysis

import (
	"math"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/stats"
)

// hypothesis is one comparison on its way to a verdict.
type hypothesis struct {
	Question
	contrast.Estimate
	cell, arm, base int     // of the plan; without meaning where it is of no single run
	adjusted        float64 // p after Holm; p itself for an exploratory metric
	equivAdjusted   float64
	control         *hypothesis // the A/A comparison on the same metric; nil: none planned
	bias            float64     // what a claim must exceed, as a contrast
	verdict         Verdict
	reason          Reason  // why it is not resolved; nil where it is
	family          int     // hypotheses that share its correction; 1 for an exploratory metric
	echo            bool    // what it restates is a headline as well: both are one claim
	byT             Verdict // what the t interval alone would say
	still           bool    // all values of the metric in the cell are the same, in every arm
}

// judgement is every comparison of a run, in the order cell, metric, arm.
type judgement struct {
	contrast.Rules
	treatments []*hypothesis
	controls   []*hypothesis
	reasons    []Reason // why the run gives no verdicts
	family     int      // hypotheses of treatments under Holm's correction
}

// judge makes every comparison and decides it. The controls come first: they
// say what a claim must exceed, and whether there may be any.
func judge(t *table) *judgement {
	j := &judgement{Rules: contrast.RulesOf(t.plan)}
	j.compare(t)
	for _, i := range j.settle() {
		j.reasons = append(j.reasons, j.controls[i].failure(t.plan))
	}
	j.family = t.plan.HeadlineFamily()
	for _, h := range j.treatments {
		if h.echo {
			j.family--
		}
	}
	return j
}

// settle decides the controls, then the treatments that stand against them, and
// gives the controls that failed.
func (j *judgement) settle() (failed []int) {
	decide(j.controls, j.Rules)
	for i, c := range j.controls {
		if c.different(j.Rules) {
			c.bias = math.Max(math.Abs(c.Main.At.Lo), math.Abs(c.Main.At.Hi))
		}
		if c.failed(j.Rules) {
			failed = append(failed, i)
		}
	}
	for _, h := range j.treatments {
		if h.control != nil {
			h.bias = h.control.bias
		}
	}
	decide(j.treatments, j.Rules)
	return failed
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
				control = t.hypothesis(j.Rules, c, a, base, m)
				j.controls = append(j.controls, control)
			}
			for a, arm := range t.plan.Arms {
				if arm.Role == experiment.Treatment {
					h := t.hypothesis(j.Rules, c, a, base, m)
					h.control = control
					j.treatments = append(j.treatments, h)
				}
			}
		}
	}
}

func (t *table) hypothesis(r contrast.Rules, c, a, b int, m experiment.Metric) *hypothesis {
	cell := t.plan.Cells[c]
	h := estimated(r, Question{Cell: cell.ID, Arm: t.plan.Arms[a].Name, Restates: t.restates(c, m),
		Observational: t.plan.Import != nil, Data: t.compared(c, a, b, m)})
	h.cell, h.arm, h.base = c, a, b
	h.still = t.still(c, m)
	if original := cell.Metric(h.Restates); original != nil {
		h.echo = m.Headline && original.Headline
	}
	return h
}

func estimated(r contrast.Rules, q Question) *hypothesis {
	return &hypothesis{Question: q, Estimate: r.Estimate(&q.Data)}
}

// beyond says whether an interval of contrasts reaches further than a limit.
func beyond(at stats.Interval, limit float64) bool { return at.Lo < -limit || at.Hi > limit }

// decide gives every hypothesis its verdict, the headline ones as one family
// under Holm's correction. It does so a second time with the t intervals alone,
// to see whether the estimators agree.
func decide(all []*hypothesis, r contrast.Rules) {
	main, equiv := holm(all, func(h *hypothesis) contrast.View { return h.Main })
	byT, equivByT := holm(all, func(h *hypothesis) contrast.View { return h.T })
	headline := claims(all)
	for i, h := range all {
		h.family = 1
		if h.Metric.Headline {
			h.family = headline
		}
		h.adjusted, h.equivAdjusted = main[i], equiv[i]
		h.verdict, h.reason = h.decide(h.Main, main[i], equiv[i], r)
		h.byT, _ = h.decide(h.T, byT[i], equivByT[i], r)
	}
}

// claims counts the headline hypotheses; two metrics that a closed loop makes one
// are one.
func claims(all []*hypothesis) (n int) {
	for _, h := range all {
		if h.Metric.Headline && !h.echo {
			n++
		}
	}
	return n
}

// holm adjusts the p values of the headline hypotheses for their number. What a
// closed loop makes two metrics say is one claim: the one that restates is
// adjusted in the other's place.
func holm(all []*hypothesis, of func(*hypothesis) contrast.View) (p, equiv []float64) {
	p, equiv = make([]float64, len(all)), make([]float64, len(all))
	type place struct{ cell, arm, against, metric string }
	echoed := map[place]bool{}
	for i, h := range all {
		v := of(h)
		p[i], equiv[i] = v.P, v.Equiv
		if h.echo {
			echoed[place{h.Cell, h.Arm, h.Against, h.Restates}] = true
		}
	}
	for _, echo := range []bool{false, true} { // the family as it is, then with every echo in its original's place
		var family []int
		var familyP, familyEquiv []float64
		for i, h := range all {
			replaced := h.echo
			if echo {
				replaced = echoed[place{h.Cell, h.Arm, h.Against, h.Metric.Name}]
			}
			if h.Metric.Headline && !replaced {
				v := of(h)
				family = append(family, i)
				familyP, familyEquiv = append(familyP, v.P), append(familyEquiv, v.Equiv)
			}
		}
		familyP, familyEquiv = stats.Holm(familyP), stats.Holm(familyEquiv)
		for k, i := range family {
			if all[i].echo == echo {
				p[i], equiv[i] = familyP[k], familyEquiv[k]
			}
		}
	}
	return p, equiv
}

// reach is how many margins the headline interval of a claim of equivalence may
// reach. The one-sided tests look at an interval of less confidence, which a few
// values far away leave untouched: ten rounds of which one took ten times as long
// have a 90 % interval within ±1 % and a 95 % interval to 900 %. Both are right
// about the centre of the distribution, but to call such arms equivalent would tell
// the reader of the first that he need not look at the second.
const reach = 2

// decide is the order of decision: equivalent, else costs or gains, else not
// resolved and why.
func (h *hypothesis) decide(v contrast.View, p, equiv float64, r contrast.Rules) (Verdict, Reason) {
	excludes := v.At.Lo > 0 || v.At.Hi < 0
	switch {
	case h.still:
		return Invalid, DoesNotVary{}
	case h.Size() < 2:
		return NotResolved, TooFewValues{}
	case !v.OK:
		return NotResolved, NoSpread{Fewest: contrast.Fewest(true, r.Alpha)}
	case h.tooFew(r):
		return NotResolved, TooFewToClaim{Family: h.family, Fewest: h.fewest(r)}
	case h.control != nil && !h.control.Main.OK:
		return NotResolved, NoControl{}
	case h.control != nil && 2*h.control.Size() < h.Size():
		return NotResolved, ThinControl{Values: h.control.Size()}
	case equiv <= r.Alpha && beyond(v.At, reach*r.MarginOf(&h.Data)):
		return NotResolved, FarReaching{}
	case equiv <= r.Alpha:
		return Equivalent, nil
	case p > r.Alpha && v.P <= r.Alpha && excludes:
		return NotResolved, NotInFamily{Family: h.family}
	case p > r.Alpha:
		return NotResolved, NothingShown{}
	case !excludes:
		return NotResolved, Ties{}
	case v.At.Lo <= h.bias && v.At.Hi >= -h.bias:
		return NotResolved, WithinBias{Bias: contrast.Magnitude(h.bias, h.Metric)}
	case contrast.Overhead(v.At.Point, h.Metric) > 0:
		return Costs, nil
	}
	return Gains, nil
}

// tooFew says whether there are fewer values than the rank test takes to claim
// anything at all on a headline metric. The t interval, which serves there, is
// shown but supports no claim: it rests on normal noise, which so few values
// cannot show, and fewer rounds must not claim more than more rounds do.
func (h *hypothesis) tooFew(r contrast.Rules) bool {
	return h.Metric.Headline && r.LeastP(&h.Data) > r.Alpha/float64(h.family)*(1+1e-9)
}

// fewest is how many values a claim would take.
func (h *hypothesis) fewest(r contrast.Rules) int {
	if h.Controlled() > 0 {
		return r.FewestControlled(h.family)
	}
	return contrast.Fewest(h.Paired, r.Alpha/float64(h.family))
}

// different says whether a control differs from the baseline by more than
// chance, however little.
func (h *hypothesis) different(r contrast.Rules) bool { return h.Main.OK && h.adjusted <= r.Alpha }

// failed says whether a control takes the verdicts from the run: it differs on a
// headline metric and is not shown to be equivalent.
func (h *hypothesis) failed(r contrast.Rules) bool {
	return h.Metric.Headline && !h.tooFew(r) && h.different(r) && h.Main.Equiv > r.Alpha
}
