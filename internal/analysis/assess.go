package analysis

import (
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Question is a comparison that a single run does not make: between arms of two runs, or between two overheads.
type Question struct {
	Cell, Arm string
	// Against names the arm or run that the question compares the arm with. Questions on the same cell, arm and metric
	// have different values of Against. A control applies to all questions with its own cell, metric and Against.
	Against  string
	Restates string // metric whose information the question's metric repeats in a closed loop; "": none
	// Observational is set if the data come from no experiment. The comparison that answers the question is then
	// marked as observational.
	Observational bool
	contrast.Data
	// Versus names the second overhead if two overheads are compared. A cost then means that the first overhead is
	// larger.
	Versus *Versus
}

// answers are the comparisons that answer questions, in the order of the questions.
type answers struct {
	Asked    []Comparison
	Controls []Comparison
	Failed   []int // indices of the failed controls: they compare equal arms and still find a difference
	Family   int   // number of hypotheses of Asked under Holm's correction
}

// Assess judges questions as one family, as Analyze judges the arms of a run. The plan gives confidence and margins.
// If a control fails, the caller decides which verdicts to withhold.
func Assess(plan *experiment.Plan, asked, controls []Question) answers {
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
	a := answers{Failed: j.settle(), Family: claims(j.treatments)}
	a.Asked, a.Controls = j.results(plan)
	x := explainer{Rules: j.Rules, plan: plan}
	x.explain(a.Asked, j.treatments)
	x.explain(a.Controls, j.controls)
	return a
}

// echoes searches all questions on the same arm for the metric that question q restates. restated is true if there is
// one. echo is true if, in addition, both metrics are headlines.
func (q Question) echoes(all []Question) (restated, echo bool) {
	at := slices.IndexFunc(all, func(o Question) bool {
		return o.Cell == q.Cell && o.Arm == q.Arm && o.Against == q.Against && o.Metric.Name == q.Restates
	})
	if q.Restates == "" || at < 0 {
		return false, false
	}
	return true, q.Metric.Headline && all[at].Metric.Headline
}

// alternatives judges the run once more, with further trials: those that are invalid only because operations failed. It
// records each verdict that these trials change. The run's own verdict stays, since an error is often fast and tells
// nothing about the cost of a success.
func (x explainer) alternatives(run *Run, j *judgement, trials []journal.Trial) {
	if !slices.ContainsFunc(trials, func(t journal.Trial) bool { return onlyFailed(&t) }) {
		return
	}
	t := tabulate(x.table.plan, trials, withFailed)
	t.loops = x.table.loops // the load stays a closed loop or an open one, whatever the added trials show
	other := judge(t, trials)
	if len(other.reasons) > 0 {
		return // the control fails with the added trials, so there is no verdict to compare
	}
	with := x
	with.table, with.cells = t, nil
	for i, h := range other.treatments {
		if first := j.treatments[i]; h.restated || h.verdict == first.verdict && h.verdict == first.seen {
			continue
		}
		a := &Alternative{Trials: t.invalidOf(h), Comparison: h.comparison(t.plan)}
		with.complete(&a.Comparison, h)
		run.Comparisons[i].WithInvalid = a
	}
}

// invalidOf returns the number of invalid trials among the values of a comparison.
func (t *table) invalidOf(h *hypothesis) (n int) {
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
