package analysis

import (
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
)

// Question is a comparison that no run makes by itself: of arms of two runs, or
// of two overheads.
type Question struct {
	Cell, Arm string
	// Against tells what the arm stands against, apart from other questions on the
	// same cell, arm and metric. A control stands for all that have its cell,
	// metric and Against.
	Against  string
	Restates string // the metric that a closed loop makes this one say once more
	// Observational says that the answer is of no experiment, and is to say so.
	Observational bool
	contrast.Data
	// Versus is what an overhead is compared with, where two overheads are: the
	// verdict then says that one costs more or less than the other.
	Versus *Versus
}

// Answers are the comparisons in the order of the questions.
type Answers struct {
	Asked    []Comparison
	Controls []Comparison
	Failed   []int // of the controls, those that differ where nothing does
	Family   int   // hypotheses of Asked under Holm's correction
}

// Assess judges questions as one family, by the rules of a plan, as Analyze
// judges the arms of a run. From what a failed control takes the verdict is left
// to the caller.
func Assess(plan *experiment.Plan, asked, controls []Question) Answers {
	j := &judgement{Rules: contrast.RulesOf(plan)}
	for _, q := range controls {
		j.controls = append(j.controls, j.estimated(q))
	}
	for _, q := range asked {
		h := j.estimated(q)
		for i, c := range controls {
			if c.Cell == q.Cell && c.Metric.Name == q.Metric.Name && c.Against == q.Against {
				h.control = j.controls[i]
			}
		}
		h.restated, h.echo = q.echoes(asked)
		j.treatments = append(j.treatments, h)
	}
	a := Answers{Failed: j.settle(), Family: claims(j.treatments)}
	a.Asked, a.Controls = j.results(plan)
	x := explainer{Rules: j.Rules, plan: plan}
	x.explain(a.Asked, j.treatments)
	x.explain(a.Controls, j.controls)
	return a
}

// echoes says whether the metric that a question restates is among all that is asked of
// the same arm, and whether both are headlines.
func (q Question) echoes(all []Question) (restated, echo bool) {
	at := slices.IndexFunc(all, func(o Question) bool {
		return o.Cell == q.Cell && o.Arm == q.Arm && o.Against == q.Against && o.Metric.Name == q.Restates
	})
	if q.Restates == "" || at < 0 {
		return false, false
	}
	return true, q.Metric.Headline && all[at].Metric.Headline
}

// alternatives judges the run once more with the trials that are invalid for
// their failed operations only, and notes it where that changes a verdict. The
// rule stands: an answer that is an error says nothing of what a good one costs,
// and errors are often fast. But a verdict that hangs on the rule must say so.
func (x explainer) alternatives(run *Run, j *judgement, trials []journal.Trial) {
	taken := 0
	for i := range trials {
		if onlyFailed(&trials[i]) {
			taken++
		}
	}
	if taken == 0 {
		return
	}
	t := tabulate(x.table.plan, trials, withFailed)
	t.loops = x.table.loops // what kind of load it is does not change
	other := judge(t, trials)
	if len(other.reasons) > 0 {
		return // with these trials the control fails: there is no verdict to set beside
	}
	with := x
	with.table, with.cells = t, nil
	for i, h := range other.treatments {
		if first := j.treatments[i]; h.restated || h.verdict == first.verdict && h.verdict == first.seen {
			continue
		}
		a := &Alternative{Trials: t.taken(h), Comparison: h.comparison(t.plan)}
		with.complete(&a.Comparison, h)
		run.Comparisons[i].WithInvalid = a
	}
}

// taken counts the invalid trials among the values of a comparison.
func (t *table) taken(h *hypothesis) (n int) {
	arm, base := t.slots[h.cell][h.arm], t.slots[h.cell][h.base]
	used := func(list []slot, i int) bool {
		if i >= len(list) {
			return false
		}
		_, ok := value(list[i].valid, h.Metric)
		return ok
	}
	for i := range max(len(arm), len(base)) {
		for _, lists := range [2][2][]slot{{arm, base}, {base, arm}} {
			if used(lists[0], i) && !lists[0][i].valid.Valid() && (!h.Paired || used(lists[1], i)) {
				n++
			}
		}
	}
	return n
}
