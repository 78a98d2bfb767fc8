package analysis

import (
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/experiment/factor"
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
	// Estimate makes the estimates where Data do not say how; nil: they do.
	Estimate func(contrast.Rules) contrast.Estimate
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
	all := *plan
	all.Arms, all.Cells = nil, nil
	x := explainer{Rules: contrast.RulesOf(plan), plan: &all, unit: unitEffects{}}
	j := &judgement{Rules: x.Rules}
	for _, q := range controls {
		j.controls = append(j.controls, x.hypothesis(q, experiment.Control))
	}
	for _, q := range asked {
		h := x.hypothesis(q, experiment.Treatment)
		for i, c := range controls {
			if c.Cell == q.Cell && c.Metric.Name == q.Metric.Name && c.Against == q.Against {
				h.control = j.controls[i]
			}
		}
		h.echo = q.Metric.Headline && q.echoes(asked)
		j.treatments = append(j.treatments, h)
	}
	var a Answers
	a.Failed = j.settle()
	for i, h := range j.treatments {
		x.observational = asked[i].Observational
		c := x.answer(j, h)
		c.Versus = asked[i].Versus
		a.Asked = append(a.Asked, c)
		if h.Metric.Headline && !h.echo {
			a.Family++
		}
	}
	for i, h := range j.controls {
		x.observational = controls[i].Observational
		a.Controls = append(a.Controls, x.answer(j, h))
	}
	return a
}

// hypothesis gives a question a place of its own in the plan, which stands for
// the runs that it is about.
func (x explainer) hypothesis(q Question, r experiment.Role) *hypothesis {
	h := &hypothesis{cell: len(x.plan.Cells), arm: len(x.plan.Arms), Data: q.Data, restates: q.Restates}
	for i, c := range x.plan.Cells {
		if c.ID == q.Cell {
			h.cell = i
		}
	}
	if h.cell == len(x.plan.Cells) {
		x.plan.Cells = append(x.plan.Cells, experiment.Cell{ID: q.Cell})
	}
	for i, a := range x.plan.Arms {
		if a.Name == q.Arm && a.Role == r && a.Levels[0].Value == q.Against {
			h.arm = i
		}
	}
	if h.arm == len(x.plan.Arms) {
		against := []factor.Level{{Factor: "against", Value: q.Against}}
		x.plan.Arms = append(x.plan.Arms, experiment.PlannedArm{Name: q.Arm, Role: r, Levels: against})
	}
	h.made(x.Rules, q.Estimate)
	return h
}

// echoes says whether the metric that a question restates is a headline among
// all that is asked of the same arm.
func (q Question) echoes(all []Question) bool {
	return q.Restates != "" && slices.ContainsFunc(all, func(o Question) bool {
		return o.Cell == q.Cell && o.Arm == q.Arm && o.Against == q.Against && o.Metric.Name == q.Restates && o.Metric.Headline
	})
}

// answer is a judged hypothesis in the form of the result.
func (x explainer) answer(j *judgement, h *hypothesis) Comparison {
	c := j.comparison(x.plan, h)
	x.complete(&c, h, true)
	return c
}
