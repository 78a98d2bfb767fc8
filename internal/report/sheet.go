package report

import (
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

// sheet is a run arranged for reading: by cell, then metric, then arm, each in the plan's order. The control
// stands beside the arms.
type sheet struct {
	run      *analysis.Run
	plan     experiment.Plan // plan of the run; empty: the run has no plan
	baseline string          // name of the baseline arm
	arms     map[string]int  // index in the plan by the arm's name
	cells    []cellGroups
	invalids map[[2]string][]journal.Trial // invalid trials by cell and arm
}

type cellGroups struct {
	id     string
	groups []group
}

// group is one metric in one cell, with all arms.
type group struct {
	cell   string
	metric experiment.Metric
	rows   []analysis.Comparison // comparisons of treatments, in the plan's order
	// comparison of the control; nil: no control
	control *analysis.Comparison
	series  *analysis.MetricSeries
}

func arrange(r *analysis.Run) *sheet {
	s := &sheet{run: r, baseline: "baseline", arms: map[string]int{}, invalids: map[[2]string][]journal.Trial{}}
	for _, t := range r.Invalids {
		k := [2]string{t.Cell, t.Arm}
		s.invalids[k] = append(s.invalids[k], t)
	}
	if r.Plan != nil {
		s.plan = *r.Plan
	}
	for i, a := range s.plan.Arms {
		s.arms[a.Name] = i
		if a.Role == experiment.Baseline {
			s.baseline = plain(a.Name)
		}
	}
	type key struct{ cell, metric string }
	at := map[key]*group{}
	var groups []*group
	find := func(cell string, m experiment.Metric) *group {
		k := key{cell, m.Name}
		if at[k] == nil {
			at[k] = &group{cell: cell, metric: m}
			groups = append(groups, at[k])
		}
		return at[k]
	}
	for _, c := range s.plan.Cells {
		for _, m := range c.Metrics {
			find(c.ID, m)
		}
	}
	for i := range r.Cells {
		for j := range r.Cells[i].Metrics {
			series := &r.Cells[i].Metrics[j]
			find(r.Cells[i].ID, series.Metric).series = series
		}
	}
	for _, c := range r.Comparisons {
		g := find(c.Cell, c.Metric)
		g.rows = append(g.rows, c)
	}
	for i, c := range r.Controls {
		find(c.Cell, c.Metric).control = &r.Controls[i]
	}
	for _, g := range groups {
		if g.rows == nil && g.control == nil && g.series == nil {
			continue
		}
		slices.SortStableFunc(g.rows, func(a, b analysis.Comparison) int { return s.armIndex(a.Arm) - s.armIndex(b.Arm) })
		b := findOrAdd(&s.cells, func(b cellGroups) bool { return b.id == g.cell }, cellGroups{id: g.cell})
		b.groups = append(b.groups, *g)
	}
	return s
}

// findOrAdd returns the first element of a list that meets a condition. Without one, it appends the given element and
// returns it.
func findOrAdd[T any](list *[]T, wanted func(T) bool, made T) *T {
	if i := slices.IndexFunc(*list, wanted); i >= 0 {
		return &(*list)[i]
	}
	*list = append(*list, made)
	return &(*list)[len(*list)-1]
}

// indexOrAdd returns the index of a value in a list. A missing value is appended.
func indexOrAdd[T comparable](list *[]T, v T) int {
	i := slices.Index(*list, v)
	if i < 0 {
		i, *list = len(*list), append(*list, v)
	}
	return i
}

// partition splits a list into the elements that meet a condition, and the other elements.
func partition[T any](list []T, condition func(T) bool) (those, others []T) {
	for _, v := range list {
		if condition(v) {
			those = append(those, v)
		} else {
			others = append(others, v)
		}
	}
	return those, others
}

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// armIndex returns an arm's index in the plan. An unknown arm gets the number of arms, so that it comes last.
func (s *sheet) armIndex(arm string) int {
	if i, ok := s.arms[arm]; ok {
		return i
	}
	return len(s.arms)
}

func (s *sheet) levels(cell string) string {
	var texts []string
	if c := s.plan.Cell(cell); c != nil {
		for _, l := range c.Levels {
			texts = append(texts, plain(l.String()))
		}
	}
	return strings.Join(texts, ";")
}

// kind returns the kind of a workload by the workload's name; "" if the plan has no such workload.
func (s *sheet) kind(workload string) string {
	for _, c := range s.plan.Cells {
		if c.Workload == workload {
			return c.Kind
		}
	}
	return ""
}

// role returns an arm's role. An arm that the plan lacks is the control if it has the control's name, and otherwise a
// treatment.
func (s *sheet) role(arm string) experiment.Role {
	if i, ok := s.arms[arm]; ok {
		return s.plan.Arms[i].Role
	}
	if arm == experiment.ControlName {
		return experiment.Control
	}
	return experiment.Treatment
}

func (s *sheet) groups(headline bool) []group {
	var list []group
	for _, b := range s.cells {
		list = append(list, b.only(headline)...)
	}
	return list
}

func (b cellGroups) only(headline bool) []group {
	return slices.DeleteFunc(slices.Clone(b.groups), func(g group) bool { return g.metric.Headline != headline })
}

func (s *sheet) confidence() string { return wording.Confidence(float64(s.plan.Judged())) }

// reference returns the words for the arms that overheads are relative to: "it" (the baseline, named earlier in the
// sentence), or "it and the control".
func (s *sheet) reference() string {
	if slices.ContainsFunc(s.run.Comparisons, func(c analysis.Comparison) bool { return c.Pooled > 0 }) {
		return "it and the control"
	}
	return "it"
}

func (s *sheet) margin() float64 { return float64(s.plan.Equivalence) }

// marginFor returns the margin of equivalence for a metric whose overheads are shares; 0 for other metrics.
func (s *sheet) marginFor(m experiment.Metric) float64 {
	if wording.IsRatio(m) {
		return s.margin()
	}
	return 0
}

// lines returns the group's treatments, and then the control, if any.
func (g group) lines() []analysis.Comparison {
	if g.control == nil {
		return g.rows
	}
	return append(slices.Clone(g.rows), *g.control)
}
