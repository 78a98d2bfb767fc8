package analysis

import (
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// hypothesis is one comparison with its tests and, once it is decided, its verdict.
type hypothesis struct {
	Question
	contrast.Estimate
	cell, arm, base int     // indices in the plan; unused in comparisons across runs
	adjusted        float64 // p-value after Holm's correction; for an exploratory metric, the p-value without correction
	equivAdjusted   float64
	control         *hypothesis       // the control's comparison with the baseline on the same metric; nil: the plan has no control
	bias            float64           // an effect is claimed only if its interval lies entirely above bias or entirely below -bias, on the scale of contrasts
	robust          contrast.Estimate // the estimate when trials that failed are allowed for
	verdict         Verdict
	seen            Verdict         // verdict from the existing values alone, as if no trial were missing
	grade           Grade           // grade of the verdict
	few             bool            // there are too few values for any claim by ranks
	reason          Reason          // why the comparison is not resolved, or MissingTrials beside a claim; nil: neither
	family          int             // number of hypotheses under Holm's correction; 1 for an exploratory metric
	restated        bool            // true if another metric with the same information has the verdict instead of this one
	echo            bool            // set if this metric and the restated metric are both headlines; they count as one claim
	agree           bool            // the verdict by the t interval alone is the same as the verdict
	byT             Verdict         // verdict of the t interval alone
	unplanned       bool            // not covered by the plan's goal of precision
	constant        bool            // all values of the metric in the cell are the same, in every arm
	unlike          []UnlikeSetting // settings in which the arm's work differs from the baseline's; nil: none
}

// judgement holds all comparisons of a run, sorted by cell, metric and arm.
type judgement struct {
	contrast.Rules
	treatments   []*hypothesis
	controls     []*hypothesis
	failureTests []*failureTest // tests of the program's failures, in the same family as the treatments
	reasons      []Reason       // reasons why the run gives no verdicts
	family       int            // number of hypotheses on treatments under Holm's correction
}

// judge makes every comparison and decides its verdict. The controls decide how large a claimed effect must be, and
// whether the run may claim anything.
func judge(t *table, trials []journal.Trial) *judgement {
	j := &judgement{Rules: contrast.RulesOf(t.plan)}
	j.compare(t)
	j.failureTests = failureTests(t, trials, j.Rules)
	for _, i := range j.settle() {
		j.reasons = append(j.reasons, j.controls[i].failure(t.plan))
	}
	j.family = t.plan.HeadlineFamily() + len(j.countedFailureTests())
	for _, h := range j.treatments {
		if h.echo {
			j.family--
		}
	}
	return j
}

func (j *judgement) countedFailureTests() []*failureTest {
	return slices.DeleteFunc(slices.Clone(j.failureTests), func(f *failureTest) bool { return !f.counts })
}

// settle gives verdicts to controls, treatments and tests of failures. It returns the indices of the failed controls,
// which make the run invalid.
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

// newHypothesis returns the hypothesis that arms a and b do not differ in cell c, with its estimate.
func (j *judgement) newHypothesis(t *table, c, a, b int, name string, d contrast.Data) *hypothesis {
	cell, m := t.plan.Cells[c], d.Metric
	h := j.estimated(Question{Cell: cell.ID, Arm: name, Restates: t.restates(c, m), Data: d})
	h.cell, h.arm, h.base, h.constant = c, a, b, t.constant(c, m)
	if original := cell.Metric(h.Restates); original != nil {
		h.restated, h.echo = true, m.Headline && original.Headline
	}
	return h
}

// newJointHypothesis creates a hypothesis about several arms. Where the code needs one arm and one baseline, the arms a
// and b stand in for them.
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
