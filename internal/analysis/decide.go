package analysis

import (
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/lists"
	"tare/internal/stats"
)

func beyond(at stats.Interval, limit float64) bool { return at.Lo < -limit || at.Hi > limit }

// fewestNormal is the smallest number of pairs, or of values per arm, for a claim if noise is normal. Two values tell
// the spread only within a factor of 30.
const fewestNormal = 3

// decide gives every hypothesis its verdict. Headline hypotheses and the tests of failures that count form one family
// under Holm's correction.
//
// With too few values for ranks, the t interval may give a claim of grade "normal". Among claims of grade "measured",
// the p-value is then 1.
//
// Every hypothesis is decided from existing values, from estimates that allow for failed trials, and from the t
// interval alone.
func decide(all []*hypothesis, failureTests []*failureTest, r contrast.Rules) {
	headline := claims(all) + len(failureTests)
	for _, h := range all {
		h.family = 1
		if h.Metric.Headline {
			h.family = headline
		}
		h.few = h.tooFew(r)
	}
	failed := lists.Map(failureTests, func(f *failureTest) float64 { return f.P })
	seen, _ := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.measured(h.Estimate) })
	stands, failuresAdjusted := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.measured(h.robust) })
	normal, _ := holm(all, failed, func(h *hypothesis) (contrast.View, float64) {
		if h.few {
			return h.robust.T, h.robust.T.Equiv
		}
		return h.measured(h.robust)
	})
	byT, _ := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.T, h.T.Equiv })
	for i, f := range failureTests {
		f.PAdjusted = failuresAdjusted[i]
	}
	for i, h := range all {
		h.adjusted, h.equivAdjusted = stands[i].p, stands[i].both
		h.verdict, h.reason = h.decide(h.Main, seen[i], r)
		h.byT, _ = h.decide(h.T, byT[i], r)
		h.agree = h.verdict == h.byT
		if h.few {
			h.adjusted, h.equivAdjusted = normal[i].p, normal[i].both
			h.decideNormal(normal[i], r)
		}
		h.seen = h.verdict
		if h.Missing.Count() > 0 && h.verdict.Claims() {
			h.reason = h.missing()
			if v, _ := h.decide(h.robust.Main, stands[i], r); v != h.verdict && !h.few {
				h.verdict = NotResolved
			}
		}
		h.agree = h.agree || h.verdict == h.byT // the missing values may have changed the verdict to that of the t interval
		if h.restated {
			h.verdict, h.grade, h.reason = Restated, Measured, SameClaim{h.Restates}
		}
	}
}

// decideNormal decides by the t interval, which assumes normal noise. A claim that it allows becomes the verdict, of
// grade Normal.
func (h *hypothesis) decideNormal(p adjusted, r contrast.Rules) {
	if h.Size() < fewestNormal || !h.robust.T.OK {
		return
	}
	p.normal = true
	if v, _ := h.decide(h.robust.T, p, r); v.Claims() {
		h.verdict, h.grade, h.reason = v, Normal, nil
		h.agree, h.byT = true, v
	}
}

func (h *hypothesis) missing() MissingTrials {
	present := len(h.Baseline) + len(h.Treated)
	if h.Paired {
		present = h.Size()
	}
	m := MissingTrials{Missing: h.Missing.Count(), Of: h.Missing.Count() + present, Without: h.verdict}
	switch h.verdict {
	case Costs:
		m.Worst = h.Missing.Baseline
	case Gains:
		m.Worst = h.Missing.Treated
	}
	return m
}

// measured returns the headline estimator's result, and the p-value for equivalence: the larger of headline and t test,
// since rare slow rounds contradict it.
func (h *hypothesis) measured(e contrast.Estimate) (contrast.View, float64) {
	if h.few {
		return contrast.View{P: 1, Equiv: 1}, 1
	}
	both := e.Main.Equiv
	if e.T.OK {
		both = max(both, e.T.Equiv)
	}
	return e.Main, both
}

// mostMargins is how many margins from zero the headline interval may reach in a claim of equivalence. The 90 %
// interval alone can hide rare slow rounds.
const mostMargins = 2

// thinControl limits how many times as many values an arm may have as the control.
const thinControl = 4

// decide returns the verdict for one estimator's result and its corrected p-values. It adds a reason if the verdict is
// no claim.
func (h *hypothesis) decide(v contrast.View, adj adjusted, r contrast.Rules) (Verdict, Reason) {
	excludes := v.At.Lo > 0 || v.At.Hi < 0
	switch {
	case h.unlike != nil:
		return Invalid, OtherSettings{h.unlike}
	case h.constant:
		return Invalid, DoesNotVary{}
	case h.Size() < 2:
		return NotResolved, TooFewValues{}
	case !v.OK:
		return NotResolved, NoSpread{Fewest: contrast.Fewest(true, r.Alpha)}
	case h.few && !adj.normal:
		return NotResolved, TooFewToClaim{Family: h.family, Fewest: r.Fewest(h.Paired, h.Controlled() > 0, h.family)}
	case h.control != nil && !h.control.Main.OK:
		return NotResolved, NoControl{}
	case h.control != nil && thinControl*h.control.Size() < h.Size():
		return NotResolved, ThinControl{Values: h.control.Size()}
	case adj.equiv <= r.Alpha && beyond(v.At, mostMargins*r.MarginOf(&h.Data)):
		return NotResolved, FarReaching{}
	case adj.equiv <= r.Alpha && (adj.both > r.Alpha || r.MeanBeyond(&h.Data)):
		return NotResolved, MeanNotShown{}
	case adj.equiv <= r.Alpha:
		return Equivalent, nil
	case adj.p > r.Alpha && v.P <= r.Alpha && excludes:
		return NotResolved, NotInFamily{Family: h.family}
	case adj.p > r.Alpha:
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

// tooFew reports whether there are too few values for a claim by ranks. Only claims of grade "normal", by the t
// interval, are then possible.
func (h *hypothesis) tooFew(r contrast.Rules) bool {
	return r.LeastP(&h.Data) > r.Alpha/float64(h.family)*(1+1e-9)
}

// different reports whether a control differs from the baseline by more than chance. The difference may be small.
func (h *hypothesis) different(r contrast.Rules) bool { return h.Main.OK && h.adjusted <= r.Alpha }

// failed reports whether the control makes the run invalid: it differs from the baseline on a headline metric, and is
// not shown to be equivalent.
func (h *hypothesis) failed(r contrast.Rules) bool {
	return h.Metric.Headline && !h.tooFew(r) && h.different(r) && h.Main.Equiv > r.Alpha
}

type adjusted struct {
	p      float64 // p-value of "no difference"
	equiv  float64 // p-value of "not equivalent", by the headline estimator
	both   float64 // p-value of "not equivalent", the larger one of both estimators
	normal bool    // noise is assumed to be normal
}

// claims counts the headline hypotheses. Two metrics that carry the same information in a closed loop count once.
func claims(all []*hypothesis) (n int) {
	for _, h := range all {
		if h.Metric.Headline && !h.echo {
			n++
		}
	}
	return n
}

// holm corrects the p-values of headline hypotheses and failures together. A metric that restates another counts in its
// place. view's second result is the p-value of "not equivalent" by both estimators.
func holm(all []*hypothesis, failures []float64, view func(*hypothesis) (contrast.View, float64)) (list []adjusted, ofFailures []float64) {
	type claim struct{ cell, arm, against, metric string }
	echoed := map[claim]bool{}
	raw := make([]adjusted, len(all))
	for i, h := range all {
		v, both := view(h)
		raw[i] = adjusted{p: v.P, equiv: v.Equiv, both: both}
		if h.echo {
			echoed[claim{h.Cell, h.Arm, h.Against, h.Restates}] = true
		}
	}
	list = slices.Clone(raw)
	for _, echo := range []bool{false, true} { // false: without metrics that restate other metrics; true: without the restated metrics
		var family []int
		var p, equiv, both []float64
		for i, h := range all {
			replaced := h.echo
			if echo {
				replaced = echoed[claim{h.Cell, h.Arm, h.Against, h.Metric.Name}]
			}
			if h.Metric.Headline && !replaced {
				family, p, equiv, both = append(family, i), append(p, raw[i].p), append(equiv, raw[i].equiv), append(both, raw[i].both)
			}
		}
		p, equiv, both = stats.Holm(append(p, failures...)), stats.Holm(equiv), stats.Holm(both)
		for k, i := range family {
			if all[i].echo == echo {
				list[i] = adjusted{p: p[k], equiv: equiv[k], both: both[k]}
			}
		}
		if !echo {
			ofFailures = p[len(family):]
		}
	}
	return list, ofFailures
}
