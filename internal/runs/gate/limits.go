package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
)

// Limits are the limits of each arm, from the plan and from the command line.
type Limits struct {
	plan  *experiment.Plan
	added []addition
}

type addition struct {
	arm   string // "": all arms
	key   string // METRIC or METRIC@CELL, written as in the budgets of a plan
	limit quantity.Limit
}

// LimitError is the error of a budget for an unknown metric, arm or cell, or in the wrong unit. The hint lists possible
// ones.
type LimitError = experiment.KeyError

// ErrNoBudget: no arm has a budget, so there is nothing to judge.
var ErrNoBudget = errors.New("no arm has a budget")

// LimitsOf returns the limits in a plan.
func LimitsOf(plan *experiment.Plan) *Limits { return &Limits{plan: plan} }

// Add adds a limit, written [ARM:]METRIC[@CELL]=LIMIT, which replaces the plan's. Of added limits, one that names the
// arm wins, then the closest cell, then the last.
func (l *Limits) Add(text string) error {
	at := strings.LastIndex(text, "=")
	if at <= 0 || at == len(text)-1 {
		return &LimitError{Text: fmt.Sprintf("%q is not of the form [ARM:]METRIC[@CELL]=LIMIT", text),
			Hint: "such as tcp-bandwidth=10%, wireguard:tcp-rtt=50us, or tcp-rtt@network.tcp.*=1ms"}
	}
	key, written := text[:at], text[at+1:]
	a := addition{key: key}
	if err := a.limit.UnmarshalText([]byte(written)); err != nil {
		return &LimitError{Text: fmt.Sprintf("budget %s: %v", text, err)}
	}
	if err := experiment.CheckKey(key, l.plan.Cells); err != nil {
		// Names of imported metrics may contain a colon themselves.
		arm, rest, named := strings.Cut(key, ":")
		if !named {
			return err
		}
		if arms := l.arms(); !slices.Contains(arms, arm) {
			hint := strictyaml.Suggest(arm, "arms", arms)
			if swapped := rest + "@" + arm; experiment.CheckKey(swapped, l.plan.Cells) == nil {
				hint = fmt.Sprintf("for the cell of this name: --budget %s=LIMIT", swapped)
			}
			return &LimitError{Text: fmt.Sprintf("the run compares no arm %q with the baseline", arm), Hint: hint}
		}
		if err := experiment.CheckKey(rest, l.plan.Cells); err != nil {
			return err
		}
		a.arm, a.key = arm, rest
	}
	l.added = append(l.added, a)
	return nil
}

// checkScale returns an error if the limit is an amount but the judged quantity a share: joint results (joint), or the
// growth since earlier runs.
func (c *Case) checkScale(joint bool) error {
	if (c.Limit.Scale == experiment.Difference) == (c.Metric.Scale == experiment.Difference) {
		return nil
	}
	quantity := "growth since earlier runs"
	if joint {
		quantity = "the joint result of several runs"
	}
	return &LimitError{Text: fmt.Sprintf("the budget of %s is an amount, %s; %s is known only as a share", c.Metric.Name, c.Budget, quantity),
		Hint: fmt.Sprintf("replace it: --budget %s=5%%", c.Metric.Name)}
}

// Metrics lists the metrics that can have a limit.
func (l *Limits) Metrics() []string {
	var names []string
	for _, c := range l.plan.Cells {
		for _, m := range c.Metrics {
			names = append(names, m.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// arms lists the names to which a user can give a budget. An arm with a factor has a name for all levels, and one for
// its own level.
func (l *Limits) arms() []string {
	var names []string
	for _, a := range l.plan.Arms {
		if a.Role == experiment.Treatment {
			names = append(names, family(a), a.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// family returns the name of an arm without its levels: "seccomp" of "seccomp[rules=8]".
func family(a experiment.PlannedArm) string {
	name, _, swept := strings.Cut(a.Name, "[")
	if !swept || len(a.Levels) == 0 {
		return a.Name
	}
	return name
}

// of returns the limit of an arm on a metric in a cell; false: none. Limits of the command line come before the plan's,
// and limits for one arm before limits for all arms.
func (l *Limits) of(arm experiment.PlannedArm, metric, cell string) (quantity.Limit, bool) {
	var best quantity.Limit
	var rank, near int // how closely the best limit so far fits: rank for the arm, near for metric and cell
	for _, a := range l.added {
		r, n := 0, experiment.Nearness(a.key, metric, cell)
		switch a.arm {
		case arm.Name:
			r = 3
		case family(arm):
			r = 2
		case "":
			r = 1
		}
		if r > 0 && n > 0 && (r > rank || r == rank && n >= near) {
			best, rank, near = a.limit, r, n
		}
	}
	if rank > 0 {
		return best, true
	}
	if own, ok := arm.Budget.For(metric, cell); ok {
		return own, true
	}
	return l.plan.Budget.For(metric, cell)
}

func (l *Limits) cases() ([]Case, error) {
	var list []Case
	for _, cell := range l.plan.Cells {
		for _, m := range cell.Budgeted() {
			for _, arm := range l.plan.Arms {
				if arm.Role != experiment.Treatment {
					continue
				}
				c, ok, err := l.hypothesis(arm, m, cell.ID)
				if err != nil {
					return nil, err
				}
				if ok {
					c.ofFailures = cell.Metric(m.Name) == nil
					list = append(list, c)
				}
			}
		}
	}
	return list, nil
}

func (l *Limits) hypothesis(arm experiment.PlannedArm, m experiment.Metric, cell string) (c Case, ok bool, err error) {
	limit, ok := l.of(arm, m.Name, cell)
	if !ok {
		return c, false, nil
	}
	bound, err := m.Bound(limit)
	if err != nil {
		return c, false, &LimitError{Text: fmt.Sprintf("budget of %s: %v", arm.Name, err),
			Hint: m.LimitHint() + fmt.Sprintf("; --budget %s=LIMIT replaces the budget of the run", m.Name)}
	}
	return Case{Cell: cell, Arm: arm.Name, Metric: m, Budget: limit, Limit: bound}, true, nil
}
