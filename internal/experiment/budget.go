package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
)

// Budget is the accepted overhead of metrics, used only by the gate. A key is METRIC, for every cell, or METRIC@CELL,
// where CELL is a cell's name or a path.Match pattern.
type Budget map[string]quantity.Limit

// For returns the limit of a metric in a cell, from the key with the highest Nearness. Of equally near keys, the first
// in alphabetical order counts. false: no key names the metric.
func (b Budget) For(metric, cell string) (quantity.Limit, bool) {
	best, found := "", 0
	for key := range b {
		if n := Nearness(key, metric, cell); n > found || n == found && n > 0 && key < best {
			best, found = key, n
		}
	}
	return b[best], found > 0
}

// Nearness ranks how precisely a budget's key names a metric in a cell: METRIC is lowest, patterns rank by length, a
// cell's name is highest. 0: the key does not name the metric.
func Nearness(key, metric, cell string) int {
	pattern, ok := strings.CutPrefix(key, metric+"@")
	switch {
	case key == metric:
		return 1
	case !ok:
		return 0
	case pattern == cell:
		return math.MaxInt
	}
	if matches, err := path.Match(pattern, cell); err == nil && matches {
		return 1 + len(pattern)
	}
	return 0
}

// failures is the key in budgets for the share of failed executions. A metric of this name takes precedence.
const failures = "failures"

// FailuresMetric describes the share of failed executions like a metric.
var FailuresMetric = Metric{Name: failures, Better: Lower, Headline: true, Scale: Ratio}

// Budgeted lists the metrics of a cell that a budget can limit, including its failures.
func (c Cell) Budgeted() []Metric {
	if c.Metric(failures) != nil {
		return c.Metrics
	}
	return append(slices.Clip(c.Metrics), FailuresMetric)
}

// KeyError is an error in a budget's key or value, with a hint such as the list of valid keys.
type KeyError struct{ Text, Hint string }

func (e *KeyError) Error() string { return e.Text }

// CheckKey returns an error unless the key of a budget names a metric of some cell. The error is a *KeyError.
func CheckKey(key string, cells []Cell) error {
	var metrics, having []string
	for _, c := range cells {
		for _, m := range c.Metrics {
			metrics = append(metrics, m.Name)
			if Nearness(key, m.Name, c.ID) > 0 {
				return nil
			}
			if strings.HasPrefix(key, m.Name+"@") {
				having = append(having, c.ID)
			}
		}
		if Nearness(key, failures, c.ID) > 0 {
			return nil
		}
	}
	metric, pattern, _ := strings.Cut(strings.ToValidUTF8(key, "?"), "@")
	if len(having) == 0 {
		slices.Sort(metrics)
		return &KeyError{fmt.Sprintf("nothing here measures %q", metric), strictyaml.Suggest(metric, "metrics here", slices.Compact(metrics))}
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return &KeyError{fmt.Sprintf("%q is no pattern of cells", pattern), "* stands for any characters, ? for one, [ab] for one of these"}
	}
	return &KeyError{fmt.Sprintf("no cell %q measures %s", pattern, metric), strictyaml.Suggest(pattern, "cells", having)}
}

// Bound is a metric's limit as a number: a share of the baseline (Ratio), or an amount in the metric's unit
// (Difference).
type Bound struct {
	Value float64 `json:"value"`
	Scale Scale   `json:"scale"`
}

// Bound converts a limit to a number for the metric. The error describes a limit that does not fit.
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
		return Bound{}, fmt.Errorf("%s may be zero, so that %s of it has no meaning", m.Name, l)
	case m.Unit == "":
		return Bound{}, fmt.Errorf("%s has no unit; %s has one", m.Name, l)
	}
	return Bound{}, fmt.Errorf("%s is in %s; %s is not", m.Name, m.Unit, l)
}

// LimitHint describes the limits that a metric can have.
func (m Metric) LimitHint() string {
	amount := "an amount such as " + quantity.AmountIn(m.Unit)
	if m.Scale == Difference {
		return "give " + amount
	}
	return "give a share of the baseline such as 10%, or " + amount
}

func (l *loader) budgets(x *Experiment, cells []Cell) {
	l.budget("budget", x.Budget, cells)
	l.budget("design.margins", x.Design.Margins, cells)
	l.margins(x.Design.Margins, cells)
	for i, a := range x.Arms {
		at := strictyaml.Index("arms", i) + ".budget"
		if i == 0 && len(a.Budget) > 0 {
			l.file.ReportKey(at, fmt.Sprintf("%s is the baseline, which has no overhead to limit", a.Name),
				"the other arms can have a budget, and budget beside arms holds for all of them")
			continue
		}
		l.budget(at, a.Budget, cells)
	}
}

func (l *loader) margins(margins Budget, cells []Cell) {
	for _, key := range slices.Sorted(maps.Keys(margins)) {
		at := "design.margins." + key
		for _, c := range cells {
			for _, m := range c.Metrics {
				bound, err := m.Bound(margins[key])
				switch {
				case l.file.Troubled(at) || Nearness(key, m.Name, c.ID) == 0 || err != nil:
				case bound.Value == 0:
					l.file.ReportAt(at, "a margin of zero shows nothing", m.LimitHint())
				case bound.Scale != m.Scale:
					l.file.ReportAt(at, fmt.Sprintf("%s is compared as a share of the baseline, so its margin must be a share", m.Name), "give a share such as 2%")
				}
			}
		}
	}
}

func (l *loader) budget(at string, budget Budget, cells []Cell) {
	for _, key := range slices.Sorted(maps.Keys(budget)) {
		if wrong, ok := errors.AsType[*KeyError](CheckKey(key, cells)); ok {
			l.file.ReportKey(at+"."+key, wrong.Text, wrong.Hint)
		}
		if l.file.Troubled(at + "." + key) {
			continue
		}
		if m, err := unbound(key, budget[key], cells); err != nil {
			l.file.ReportAt(at+"."+key, err.Error(), m.LimitHint())
		}
	}
}

// unbound returns the first metric that a key names and that the limit does not fit, by its scale or unit.
func unbound(key string, limit quantity.Limit, cells []Cell) (Metric, error) {
	for _, c := range cells {
		for _, m := range c.Budgeted() {
			if Nearness(key, m.Name, c.ID) == 0 {
				continue
			}
			if _, err := m.Bound(limit); err != nil {
				return m, err
			}
		}
	}
	return Metric{}, nil
}

// Aspect is a part of programs' behaviour besides their speed, such as exit statuses. Aspects are compared before
// speed.
type Aspect string

// The aspects, in the order of their importance to a reader.
const (
	Stderr  Aspect = "stderr"  // the text that programs print on stderr
	Exit    Aspect = "exit"    // the programs' exit statuses
	Output  Aspect = "output"  // the amount of text that the programs print on stdout, or the text itself
	Answers Aspect = "answers" // the responses of a server
	Files   Aspect = "files"   // the files that programs should create
)

// Aspects lists all aspects.
var Aspects = []Aspect{Stderr, Exit, Output, Answers, Files}

// allowed returns the aspects in which an arm may differ from the baseline, according to the arm or, for all arms, the
// experiment.
func allowed(x *Experiment, a Arm) (list []Aspect) {
	for _, aspect := range Aspects {
		if slices.Contains(a.Allow, aspect) || slices.Contains(x.Allow, string(aspect)) {
			list = append(list, aspect)
		}
	}
	return list
}

// replaces reports whether an arm runs another program than the baseline.
func replaces(baseline, a Arm) bool {
	programs := func(a Arm) (list []LayerConfig) {
		for _, item := range a.Layers {
			if item.Config.Declare().Replaces {
				list = append(list, item.Config)
			}
		}
		return list
	}
	return !reflect.DeepEqual(programs(baseline), programs(a))
}
