package compare

import (
	"fmt"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// levels compares every arm except controls with the reference, in the cells and metrics that both runs have. It
// compares arms of the reference's run by rounds, and arms of other runs as independent samples. If the reference is
// the baseline of its run, the comparisons within this run come from the run's own analysis, with their control and
// correction.
func (c *comparison) levels(list []shared) {
	var questions []analysis.Question
	var places []int // by question, the index of its level
	ref := c.reference.Run - 1
	for _, s := range list {
		if !s.in(ref) {
			continue
		}
		for i, in := range c.in {
			if !s.in(i) {
				continue
			}
			for _, arm := range in.Run.Plan.Arms {
				itself := i == ref && arm.Name == c.reference.Arm
				if arm.Role == experiment.Control && !itself {
					continue
				}
				l := Level{Cell: s.cell, Metric: s.metric, Run: i + 1, Arm: arm.Name,
					Values: series(in.Run, s.cell, s.metric.Name, arm.Name).Summary}
				if own := c.own(s, i, arm.Name); own != nil {
					l.Against = own
				} else if !itself {
					questions = append(questions, c.question(s, i, arm.Name))
					places = append(places, len(c.result.Levels))
				}
				c.result.Levels = append(c.result.Levels, l)
			}
		}
	}
	answers := analysis.Assess(c.plan(), questions, nil)
	c.result.Family.Levels = answers.Family
	for k, at := range places {
		answer, l := answers.Asked[k], &c.result.Levels[at]
		c.withheld(&answer, l.Cell, ref, l.Run-1)
		l.Against = &answer
	}
}

func (c *comparison) own(s shared, run int, arm string) *analysis.Comparison {
	if run != c.reference.Run-1 || c.reference.Arm != c.plan().ArmWith(experiment.Baseline) {
		return nil
	}
	return c.in[run].Run.Comparison(s.cell, arm, s.metric.Name)
}

func (c *comparison) question(s shared, run int, arm string) analysis.Question {
	ref := c.reference.Run - 1
	q := analysis.Question{Cell: s.cell, Arm: arm, Against: fmt.Sprint(run + 1),
		Restates: Restates(c.in, s.cell, s.metric.Name), Observational: run != ref || c.in[ref].Run.Observation != nil}
	if run == ref {
		q.Data = c.values[ref].Between(s.cell, c.reference.Arm, arm, s.metric)
		return q
	}
	q.Data = contrast.Data{Metric: s.metric, Baseline: series(c.in[ref].Run, s.cell, s.metric.Name, c.reference.Arm).Values,
		Treated: series(c.in[run].Run, s.cell, s.metric.Name, arm).Values}
	return q
}
