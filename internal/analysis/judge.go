package analysis

import (
	"math"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// hypothesis is one comparison, before and after its verdict.
type hypothesis struct {
	Question
	contrast.Estimate
	cell, arm, base int     // indices in the plan; without meaning for a comparison that is not of a single run
	adjusted        float64 // p-value after Holm's correction; for an exploratory metric, the p-value without correction
	equivAdjusted   float64
	control         *hypothesis       // the control's comparison with the baseline on the same metric; nil: the plan has no control
	bias            float64           // size that an effect must exceed to be claimed, on the scale of contrasts
	robust          contrast.Estimate // estimate that allows for the trials that failed
	verdict         Verdict
	seen            Verdict         // verdict if no trials were missing
	grade           Grade           // grade of the verdict
	few             bool            // there are too few values for any claim by ranks
	reason          Reason          // reason why the comparison is not resolved, or MissingTrials beside a claim; nil: none
	family          int             // number of hypotheses that Holm's correction is over; 1 for an exploratory metric
	restated        bool            // another metric of the arm carries the same information and has the verdict
	echo            bool            // this metric and the metric that it restates are both headlines, so that both are one claim
	agree           bool            // the t interval alone would give the same verdict
	byT             Verdict         // verdict of the t interval alone
	unplanned       bool            // the plan's goal of precision does not cover this hypothesis
	constant        bool            // all values of the metric in the cell are the same, in every arm
	unlike          []UnlikeSetting // settings in which the arm's work differs from the baseline's; nil: none
}

// judgement holds all comparisons of a run, sorted by cell, metric and arm.
type judgement struct {
	contrast.Rules
	treatments   []*hypothesis
	controls     []*hypothesis
	failureTests []*failureTest // comparisons of the program's failures, which belong to the same family as the treatments
	reasons      []Reason       // reasons why the run gives no verdicts
	family       int            // number of hypotheses on treatments under Holm's correction
}

// judge makes every comparison and decides its verdict. The controls come first: they determine the size
// that a claim must exceed, and whether any claim is allowed.
func judge(t *table, trials []journal.Trial) *judgement {
	j := &judgement{Rules: contrast.RulesOf(t.plan)}
	j.compare(t)
	j.failureTests = failureTests(t, trials, j.Rules)
	for _, i := range j.settle() {
		j.reasons = append(j.reasons, j.controls[i].failure(t.plan))
	}
	j.family = t.plan.HeadlineFamily()
	for _, h := range j.treatments {
		if h.echo {
			j.family--
		}
	}
	j.family += len(j.countedFailureTests())
	return j
}

// countedFailureTests returns the comparisons of failures that belong to the family.
func (j *judgement) countedFailureTests() (list []*failureTest) {
	for _, f := range j.failureTests {
		if f.counts {
			list = append(list, f)
		}
	}
	return list
}

// settle decides the controls, then the treatments, and then the failures. It returns the indices of the
// controls that failed.
func (j *judgement) settle() (failed []int) {
	decide(j.controls, nil, j.Rules)
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
	decide(j.treatments, j.countedFailureTests(), j.Rules)
	for _, f := range j.failureTests {
		f.decide(j.Alpha)
	}
	return failed
}

// compare estimates the overheads of every arm but the baseline.
func (j *judgement) compare(t *table) {
	base := role(t.plan, experiment.Baseline)
	if base < 0 {
		return
	}
	for c, cell := range t.plan.Cells {
		for _, m := range cell.Metrics {
			var control *hypothesis
			if a := role(t.plan, experiment.Control); a >= 0 {
				control = j.hypothesis(t, c, a, base, m)
				j.controls = append(j.controls, control)
			}
			for a, arm := range t.plan.Arms {
				if arm.Role == experiment.Treatment {
					h := j.hypothesis(t, c, a, base, m)
					h.control = control
					j.treatments = append(j.treatments, h)
				}
			}
		}
	}
}

func (j *judgement) hypothesis(t *table, c, a, b int, m experiment.Metric) *hypothesis {
	h := j.newHypothesis(t, c, a, b, t.plan.Arms[a].Name, t.compared(c, a, b, m))
	h.Observational, h.unlike = t.plan.Import != nil, t.unlike(c, a, b)
	return h
}

// newHypothesis creates the hypothesis that arm a and its base b do not differ in a cell. For a hypothesis on
// several arms, a and b represent them.
func (j *judgement) newHypothesis(t *table, c, a, b int, name string, d contrast.Data) *hypothesis {
	cell, m := t.plan.Cells[c], d.Metric
	h := j.estimated(Question{Cell: cell.ID, Arm: name, Restates: t.restates(c, m), Data: d})
	h.cell, h.arm, h.base, h.constant = c, a, b, t.constant(c, m)
	if original := cell.Metric(h.Restates); original != nil {
		h.restated, h.echo = true, m.Headline && original.Headline
	}
	return h
}

// newJointHypothesis creates a hypothesis on several arms. Its control is the control of the metric.
func (j *judgement) newJointHypothesis(t *table, c, a, b int, name string, d contrast.Data) *hypothesis {
	h := j.newHypothesis(t, c, a, b, name, d)
	for _, control := range j.controls {
		if control.cell == c && control.Metric.Name == d.Metric.Name {
			h.control, h.bias = control, control.bias
		}
	}
	return h
}

func (j *judgement) estimated(q Question) *hypothesis {
	h := &hypothesis{Question: q, Estimate: j.Estimate(&q.Data)}
	h.robust = j.WithMissing(&h.Data, h.Estimate)
	return h
}

// beyond reports whether an interval of contrasts reaches further than a limit.
func beyond(at stats.Interval, limit float64) bool { return at.Lo < -limit || at.Hi > limit }

// fewestNormal is the smallest number of pairs, or of values in each arm, with which normal noise allows a
// claim. With two values, the spread is known only to within a ratio of 30.
const fewestNormal = 3

// decide gives every hypothesis its verdict. The headline hypotheses form one family under Holm's
// correction, together with the counted comparisons of failures.
//
// If there are too few values for a claim by ranks, the t interval may give a claim, which assumes normal
// noise. Such claims have the grade "normal". They never help the claims of grade "measured": in the family
// of measured claims, their p-value is 1.
//
// Every hypothesis is decided three times. The first decision uses the values that exist. The second uses
// estimates that allow for the missing values of failed trials. The third uses the t interval alone, and
// shows whether the estimators agree.
func decide(all []*hypothesis, failureTests []*failureTest, r contrast.Rules) {
	headline := claims(all) + len(failureTests)
	for _, h := range all {
		h.family = 1
		if h.Metric.Headline {
			h.family = headline
		}
		h.few = h.tooFew(r)
	}
	failed := make([]float64, len(failureTests))
	for i, f := range failureTests {
		failed[i] = f.P
	}
	seen := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.measured(h.Estimate) })
	stands := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.measured(h.robust) })
	normal := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.ifNormal(h.robust) })
	byT := holm(all, failed, func(h *hypothesis) (contrast.View, float64) { return h.T, h.T.Equiv })
	for i, f := range failureTests {
		f.PAdjusted = stands.others[i]
	}
	for i, h := range all {
		h.adjusted, h.equivAdjusted = stands.p[i], stands.both[i]
		h.verdict, h.reason = h.decide(h.Main, seen.at(i), r)
		byT, _ := h.decide(h.T, byT.at(i), r)
		h.agree, h.byT = h.verdict == byT, byT
		if h.few {
			h.adjusted, h.equivAdjusted = normal.p[i], normal.both[i]
			h.decideNormal(normal.at(i), r)
		}
		h.seen = h.verdict
		if h.Missing.Count() > 0 && h.verdict.Claims() {
			h.reason = h.missing()
			if v, _ := h.decide(h.robust.Main, stands.at(i), r); v != h.verdict && !h.few {
				h.verdict = NotResolved
			}
		}
		h.agree = h.agree || h.verdict == h.byT // if missing values forbid a claim, the t interval alone may agree that nothing is resolved
		if h.restated {
			h.verdict, h.grade, h.reason = Restated, Measured, SameClaim{h.Restates}
		}
	}
}

// decideNormal gives a hypothesis its claim of grade "normal", if the t interval allows a claim.
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

// missing returns the missing trials that a claim must allow for.
func (h *hypothesis) missing() MissingTrials {
	present := len(h.Baseline) + len(h.Treated) // number of values
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

// measured returns the view for a claim of grade "measured", and the p-value for a claim of equivalence.
// For equivalence, the tests of both the headline estimator and the t interval must pass: a reader of
// "equivalent" does not expect that one round in ten takes twice as long.
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

// ifNormal returns the view for a claim of any grade.
func (h *hypothesis) ifNormal(e contrast.Estimate) (contrast.View, float64) {
	if h.few {
		return e.T, e.T.Equiv
	}
	return h.measured(e)
}

// mostMargins limits how far the headline interval may reach from zero in a claim of equivalence, in
// multiples of the margin. The one-sided tests of equivalence use an interval of lower confidence, which a
// few distant values do not affect. If one of ten rounds took ten times as long, the 90 % interval can lie
// within ±1 % while the 95 % interval reaches up to 900 %. Both intervals are right about the centre of the
// distribution. But the verdict "equivalent" would tell readers that they need not look at the 95 %
// interval.
const mostMargins = 2

// thinControl is the largest ratio of an arm's number of values to the control's number of values.
const thinControl = 4

// decide returns the verdict: equivalent if that is shown, otherwise costs or gains, otherwise not resolved
// with a reason.
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

// tooFew reports whether there are fewer values than any claim by ranks needs. Output then shows the t
// interval, which supports only claims of grade "normal": it assumes normal noise, and so few values cannot
// show whether noise is normal.
func (h *hypothesis) tooFew(r contrast.Rules) bool {
	return r.LeastP(&h.Data) > r.Alpha/float64(h.family)*(1+1e-9)
}

// different reports whether a control differs from the baseline by more than chance, even if the difference
// is small.
func (h *hypothesis) different(r contrast.Rules) bool { return h.Main.OK && h.adjusted <= r.Alpha }

// failed reports whether a control makes the run invalid: it differs on a headline metric and is
// not shown to be equivalent.
func (h *hypothesis) failed(r contrast.Rules) bool {
	return h.Metric.Headline && !h.tooFew(r) && h.different(r) && h.Main.Equiv > r.Alpha
}
