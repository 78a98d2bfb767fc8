package compare

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
)

type comparison struct {
	in        []Input
	values    []*analysis.Values
	options   Options
	reference reference
	result    *Result
}

func (c *comparison) warn(f analysis.Finding) { c.result.Warnings = append(c.result.Warnings, f) }

// names returns names from the plans of all runs, each name once. The function list returns the names in one
// plan.
func (c *comparison) names(list func(*experiment.Plan) []string) []string {
	var names []string
	for _, in := range c.in {
		for _, name := range list(in.Run.Plan) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func cellIDs(plan *experiment.Plan) (list []string) {
	return lists.Map(plan.Cells, func(cell experiment.Cell) string { return cell.ID })
}

func armNames(plan *experiment.Plan) (list []string) {
	return lists.Map(plan.Arms, func(a experiment.PlannedArm) string { return a.Name })
}

// firstWith returns the index of the first run in which an arm is a treatment; -1 if there is none.
func firstWith(in []Input, arm string) int {
	return slices.IndexFunc(in, func(r Input) bool { return treatment(r.Run.Plan, arm) })
}

func treatment(plan *experiment.Plan, arm string) bool {
	a := plan.Arm(arm)
	return a != nil && a.Role == experiment.Treatment
}

// shared is a metric in a cell that several runs have. It counts as a headline only if it is a headline in
// every run that has it.
type shared struct {
	cell   string
	metric experiment.Metric
	runs   []int // numbers of the runs that have the metric with this unit, direction and scale
}

func (s shared) in(run int) bool { return slices.Contains(s.runs, run+1) }

// align finds the metrics that runs have in common, with equal unit, direction and scale. It records arms, cells and
// metrics that some runs lack.
func (c *comparison) align() ([]shared, error) {
	var list []shared
	for _, id := range c.names(cellIDs) {
		c.missing("cell", id, func(p *experiment.Plan) bool { return p.Cell(id) != nil })
		list = append(list, c.alignMetrics(id)...)
	}
	for _, name := range c.names(armNames) {
		c.missing("arm", name, func(p *experiment.Plan) bool { return p.Arm(name) != nil })
	}
	if len(c.in) > 1 && !slices.ContainsFunc(list, func(s shared) bool { return len(s.runs) > 1 }) {
		return nil, c.nothingInCommon()
	}
	return list, nil
}

func (c *comparison) missing(what, name string, has func(*experiment.Plan) bool) {
	var with []int
	for i, in := range c.in {
		if has(in.Run.Plan) {
			with = append(with, i+1)
		}
	}
	if len(with) < len(c.in) {
		c.result.Apart = append(c.result.Apart, NotShared{What: what, Name: name, Runs: with})
	}
}

func (c *comparison) alignMetrics(id string) []shared {
	var list []shared
	cells, other := 0, map[string][]int{} // other[metric]: runs in which the metric of this name has another unit, direction or scale
	for i, in := range c.in {
		cell := in.Run.Plan.Cell(id)
		if cell == nil {
			continue
		}
		cells++
		for _, m := range cell.Metrics {
			at := slices.IndexFunc(list, func(s shared) bool { return s.metric.Name == m.Name })
			if at < 0 {
				at, list = len(list), append(list, shared{cell: id, metric: m})
			}
			s := &list[at]
			if m.Unit != s.metric.Unit || m.Better != s.metric.Better || m.Scale != s.metric.Scale {
				other[m.Name] = append(other[m.Name], i+1)
				continue
			}
			s.runs, s.metric.Headline = append(s.runs, i+1), s.metric.Headline && m.Headline
		}
	}
	for _, s := range list {
		if len(s.runs) < cells {
			name := s.metric.Name
			c.result.Apart = append(c.result.Apart, NotShared{What: "metric", Name: name + " in " + id, Runs: s.runs, Other: other[name]})
		}
	}
	return list
}

func (c *comparison) nothingInCommon() error {
	var parts []string
	for i, in := range c.in {
		parts = append(parts, fmt.Sprintf("run %d (%s) has %s", i+1, in.Name, listed(cellIDs(in.Run.Plan), 8)))
	}
	return fmt.Errorf("%w with the same metric: %s", ErrNothingInCommon, strings.Join(parts, "; "))
}

func series(run *analysis.Run, cell, metric, arm string) analysis.ArmSeries {
	for _, c := range run.Cells {
		for _, m := range c.Metrics {
			for _, a := range m.Arms {
				if c.ID == cell && m.Metric.Name == metric && a.Arm == arm {
					return a
				}
			}
		}
	}
	return analysis.ArmSeries{}
}

// Restates returns the metric that is judged in place of the given metric, because both carry the same information in a
// closed loop, such as throughput for mean latency. It returns "" if the runs do not show that.
func Restates(in []Input, cell, metric string) string {
	for _, one := range in {
		for _, own := range one.Run.Comparisons {
			if own.Cell == cell && own.Metric.Name == metric && own.Restates != "" {
				return own.Restates
			}
		}
	}
	return ""
}
