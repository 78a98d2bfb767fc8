package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/experiment/strictyaml"
)

// Limits say how much each arm of a plan may cost: what the plan holds, and what
// was added to it.
type Limits struct {
	plan  *experiment.Plan
	added []addition
}

// addition is a limit from the command line.
type addition struct {
	arm    string // "": all arms
	metric string
	limit  quantity.Limit
}

// LimitError is a budget that cannot be: of an unknown metric or arm, or in the
// wrong unit. The hint says what can.
type LimitError struct{ Text, Hint string }

func (e *LimitError) Error() string { return e.Text }

// ErrNoBudget says that there is nothing to judge by.
var ErrNoBudget = errors.New("no arm has a budget")

// LimitsOf gives the limits that a plan holds.
func LimitsOf(plan *experiment.Plan) *Limits { return &Limits{plan: plan} }

// Add adds a limit written [ARM:]METRIC=LIMIT. It takes the place of every limit
// of the plan for that metric (and arm); of several for the same, one that names
// the arm counts before one that names none, and a later before an earlier one.
func (l *Limits) Add(text string) error {
	name, written, ok := cutLast(text, "=")
	if !ok || name == "" || written == "" {
		return &LimitError{fmt.Sprintf("%q is not of the form [ARM:]METRIC=LIMIT", text), "such as tcp-bandwidth=10%, or wireguard:tcp-rtt=50us"}
	}
	a := addition{metric: name}
	if err := a.limit.UnmarshalText([]byte(written)); err != nil {
		return &LimitError{fmt.Sprintf("budget %s: %v", text, err), ""}
	}
	metrics := l.Metrics()
	if !slices.Contains(metrics, name) {
		// Names of imported metrics may hold a colon themselves.
		arm, metric, ok := strings.Cut(name, ":")
		if !ok {
			return &LimitError{fmt.Sprintf("the run has no metric %q", name), strictyaml.Suggest(name, "metrics", metrics)}
		}
		a.arm, a.metric = arm, metric
		if arms := l.arms(); !slices.Contains(arms, arm) {
			return &LimitError{fmt.Sprintf("the run compares no arm %q with the baseline", arm), strictyaml.Suggest(arm, "arms", arms)}
		}
		if !slices.Contains(metrics, metric) {
			return &LimitError{fmt.Sprintf("the run has no metric %q", metric), strictyaml.Suggest(metric, "metrics", metrics)}
		}
	}
	l.added = append(l.added, a)
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Metrics lists the metrics that can have a limit.
func (l *Limits) Metrics() []string {
	var names []string
	for _, c := range l.plan.Cells {
		for _, m := range c.Metrics {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// arms lists the names by which arms can be given a budget: of a swept arm its
// own name, which stands for all levels, and that of every level.
func (l *Limits) arms() []string {
	var names []string
	for _, a := range l.plan.Arms {
		if a.Role == experiment.Treatment {
			names = append(names, family(a), a.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// family is the name of an arm without its levels: "seccomp" of "seccomp[rules=8]".
func family(a experiment.PlannedArm) string {
	name, _, swept := strings.Cut(a.Name, "[")
	if !swept || len(a.Levels) == 0 {
		return a.Name
	}
	return name
}

// of is the limit of an arm on a metric, if it has one. Additions come first,
// and within each an arm's own before the general one.
func (l *Limits) of(arm experiment.PlannedArm, metric string) (quantity.Limit, bool) {
	best, rank := quantity.Limit{}, 0
	for _, a := range l.added {
		if a.metric != metric {
			continue
		}
		r := 0
		switch a.arm {
		case arm.Name:
			r = 3
		case family(arm):
			r = 2
		case "":
			r = 1
		}
		if r > 0 && r >= rank {
			best, rank = a.limit, r
		}
	}
	if rank > 0 {
		return best, true
	}
	if own, ok := arm.Budget[metric]; ok {
		return own, true
	}
	general, ok := l.plan.Budget[metric]
	return general, ok
}

// bound is what the limit of an arm on a metric means.
func (l *Limits) bound(arm experiment.PlannedArm, m experiment.Metric) (limit quantity.Limit, b experiment.Bound, ok bool, err error) {
	limit, ok = l.of(arm, m.Name)
	if !ok {
		return limit, b, false, nil
	}
	if b, err = m.Bound(limit); err != nil {
		return limit, b, false, &LimitError{fmt.Sprintf("budget of %s: %v", arm.Name, err),
			m.LimitHint() + fmt.Sprintf("; --budget %s=LIMIT takes the place of what the run holds", cmp.Or(m.Name, "METRIC"))}
	}
	return limit, b, true, nil
}
