package analysis

import (
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Question is a comparison beyond those of a single run: of arms of two runs, or of two overheads.
type Question struct {
	Cell, Arm string
	// Against names the arm or run that the arm is compared with. A control applies to all questions with the control's
	// cell, metric and Against.
	Against  string
	Restates string // metric whose information the question's metric repeats in a closed loop; "": none
	// Observational is set if the data come from no experiment. The comparison that answers the question is then
	// marked as observational.
	Observational bool
	contrast.Data
	// Versus names the second overhead if the question compares two overheads. The verdict Costs then means that the
	// first overhead is larger.
	Versus *Versus
}

// answers holds the comparisons that answer a list of questions, in the order of the questions.
type answers struct {
	Asked    []Comparison
	Controls []Comparison
	Failed   []int // indices of the controls that show a difference although their arms are equal
	Family   int   // number of comparisons in Asked that share Holm's correction
}

// Assess judges all asked questions as one family, with the plan's confidence and margins. If a control fails, verdicts
// stay: the caller withholds them.
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

// echoes looks for the question about the metric that q restates, on the same arm, cell and reference. The result
// restated is true if there is one, and echo if, in addition, both metrics are headlines.
func (q Question) echoes(all []Question) (restated, echo bool) {
	at := slices.IndexFunc(all, func(o Question) bool {
		return o.Cell == q.Cell && o.Arm == q.Arm && o.Against == q.Against && o.Metric.Name == q.Restates
	})
	if q.Restates == "" || at < 0 {
		return false, false
	}
	return true, q.Metric.Headline && all[at].Metric.Headline
}

// alternatives judges the run again with trials that only failed operations made invalid, and records changed verdicts.
// The run keeps its own verdicts.
func (x explainer) alternatives(run *Run, j *judgement, trials []journal.Trial) {
	if !slices.ContainsFunc(trials, func(t journal.Trial) bool { return onlyFailed(&t) }) {
		return
	}
	t := tabulate(x.table.plan, trials, withFailed)
	t.loops = x.table.loops // whether the load is a closed or an open loop does not depend on the added trials
	other := judge(t, trials)
	if len(other.reasons) > 0 {
		return // with the added trials the control fails, so there is no verdict to compare
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
