package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/experiment/quantity"
	"tare/experiment/strictyaml"
)

// Budget is how much metrics may get worse, by metric. The gate (package gate)
// judges by it; no verdict of a run depends on it.
type Budget map[string]quantity.Limit

// Bound is what a limit means for a metric: on the scale Ratio a share of the
// baseline, on Difference an amount in the metric's unit.
type Bound struct {
	Value float64 `json:"value"`
	Scale Scale   `json:"scale"`
}

// Bound gives the meaning of a limit for the metric. The error says why it has
// none; LimitHint says what would have one.
func (m Metric) Bound(l quantity.Limit) (Bound, error) {
	share, isShare := l.Share()
	if isShare && m.Scale != Difference {
		if m.Better == Higher && share >= 1 {
			return Bound{}, fmt.Errorf("no more than all of %s can be lost, so that a limit of %s never fails", m.Name, l)
		}
		return Bound{share, Ratio}, nil
	}
	amount, err := l.In(m.Unit)
	switch {
	case err == nil:
		return Bound{amount, Difference}, nil
	case isShare:
		return Bound{}, fmt.Errorf("%s may be zero, so that %s of it says nothing", m.Name, l)
	case m.Unit == "":
		return Bound{}, fmt.Errorf("%s has no unit; %s has one", m.Name, l)
	}
	return Bound{}, fmt.Errorf("%s is in %s; %s is not", m.Name, m.Unit, l)
}

// LimitHint says which limits a metric can have.
func (m Metric) LimitHint() string {
	amount := "an amount such as " + quantity.AmountIn(m.Unit)
	if m.Scale == Difference {
		return "give " + amount
	}
	return "give a share of the baseline such as 10%, or " + amount
}

// budgets checks that every budget is for a metric that some cell has, and in a
// unit that it has there.
func (l *loader) budgets(x *Experiment) {
	var cells Expansion
	cells.addCells(x)
	known := map[string][]Metric{}
	for _, c := range cells.Plan.Cells {
		for _, m := range c.Metrics {
			known[m.Name] = append(known[m.Name], m)
		}
	}
	l.budget("budget", x.Budget, known)
	for i, a := range x.Arms {
		at := strictyaml.Index("arms", i) + ".budget"
		if i == 0 && len(a.Budget) > 0 {
			l.file.ReportKey(at, fmt.Sprintf("%s is the baseline, which has no overhead to limit", a.Name),
				"the other arms can have a budget, and budget beside arms holds for all of them")
			continue
		}
		l.budget(at, a.Budget, known)
	}
}

func (l *loader) budget(at string, budget Budget, known map[string][]Metric) {
	for _, name := range sortedKeys(budget) {
		metrics := known[name]
		if len(metrics) == 0 {
			l.file.ReportKey(at+"."+name, fmt.Sprintf("no workload here measures %q", strings.ToValidUTF8(name, "?")),
				strictyaml.Suggest(name, "metrics here", slices.Sorted(maps.Keys(known))))
		}
		if l.file.Troubled(at + "." + name) {
			continue
		}
		for _, m := range metrics {
			if _, err := m.Bound(budget[name]); err != nil {
				l.file.ReportAt(at+"."+name, err.Error(), m.LimitHint())
				break
			}
		}
	}
}
