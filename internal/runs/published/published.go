// Package published makes the table that benchmark write-ups print: for each arm and metric the mean and the
// population variance over the trials, and the differences between arms as percentages.
//
// Users can check published numbers with it digit by digit. Tare's verdicts do not rest on the table: a difference of
// two means does not show its uncertainty. It can be relative to either arm: 1.63 s is 1.17 % less than 1.65 s, and
// 1.65 s is 1.19 % more than 1.63 s. The table gives both differences, and the verdict with its interval.
//
// In a pair (a, b), a is the arm that comes first in the plan. The difference relative to a is (b − a)/a, and relative
// to b it is (b − a)/b.
package published

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Schema names the format of a table written as JSON.
const Schema = "tare.published/v1"

// Options selects the content of the table.
type Options struct {
	// Reference is the arm whose pairs are shown. If it is "", all pairs of up to four arms are shown; of more arms,
	// only the pairs with the baseline.
	Reference string
	// WithInvalid includes the values of trials that broke a rule.
	WithInvalid bool
}

// Table is the published table of a run.
type Table struct {
	Schema      string                `json:"schema"`
	Experiment  string                `json:"experiment"`
	Valid       bool                  `json:"valid"` // set if the run gives verdicts
	WithInvalid bool                  `json:"withInvalid"`
	Observation *analysis.Observation `json:"observation,omitempty"`
	Margin      float64               `json:"margin"` // the margin of equivalence of the verdicts
	Arms        []string              `json:"arms"`
	Cells       []Cell                `json:"cells"`
	// Published holds the published numbers that the experiment file lists, each beside the run's number.
	Published []analysis.PublishedSource `json:"published,omitempty"`
	// Hidden is the number of exploratory metrics that Headline has left out, counted in each cell.
	Hidden int              `json:"-"`
	Plan   *experiment.Plan `json:"-"`
}

// Headline returns the table of the headline metrics, and counts the other metrics in Hidden.
func (t *Table) Headline() *Table {
	short := *t
	short.Cells = nil
	for _, c := range t.Cells {
		all := len(c.Metrics)
		c.Metrics = slices.DeleteFunc(slices.Clone(c.Metrics), func(m Metric) bool { return !m.Metric.Headline })
		short.Hidden += all - len(c.Metrics)
		if len(c.Metrics) > 0 {
			short.Cells = append(short.Cells, c)
		}
	}
	return &short
}

// Arm counts the trials of one arm in one cell, by outcome.
type Arm struct {
	Name    string `json:"name"`
	Trials  int    `json:"trials"`
	Invalid int    `json:"invalid"` // the number of invalid trials, which Trials includes
}

// Cell is one cell of the run.
type Cell struct {
	ID      string   `json:"id"`
	Trials  []Arm    `json:"trials"` // the numbers of trials by arm
	Metrics []Metric `json:"metrics"`
}

// Metric is one metric in one cell, with the means of arms and their differences.
type Metric struct {
	Metric      experiment.Metric `json:"metric"`
	Arms        []Moments         `json:"arms"`
	Differences []Difference      `json:"differences"`
}

// Moments holds the mean of an arm's values, in the metric's unit, and their population variance, in the square of this
// unit.
type Moments struct {
	Arm      string  `json:"arm"`
	N        int     `json:"n"`
	Invalid  int     `json:"invalid"` // the number of values that come from invalid trials
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"`
}

// Difference is the relative difference of two means, with the verdict.
type Difference struct {
	A string `json:"a"`
	B string `json:"b"`
	// RelativeToA is (b − a)/a and RelativeToB is (b − a)/b. They are null if a mean is missing or not positive,
	// since percentages then have no meaning.
	RelativeToA *float64 `json:"relativeToA"`
	RelativeToB *float64 `json:"relativeToB"`
	// Verdict is the verdict on B relative to A, from valid trials; nil: not judged.
	Verdict *analysis.Comparison `json:"said,omitempty"`
}

// Of makes the table of a run. Of returns an error if the run has no arm with the name o.Reference.
func Of(run *analysis.Run, trials []journal.Trial, o Options) (*Table, error) {
	t := &Table{Schema: Schema, Experiment: run.Plan.Name, Valid: run.Valid, WithInvalid: o.WithInvalid,
		Observation: run.Observation, Plan: run.Plan, Margin: float64(run.Plan.Equivalence), Published: run.Published}
	shown := shownArms(run.Plan, o.Reference)
	if o.Reference != "" && !slices.Contains(shown, o.Reference) {
		return nil, fmt.Errorf("reference %q is no arm of this run; it has %s", o.Reference, strings.Join(shown, ", "))
	}
	t.Arms = shown
	values := gather(trials, o.WithInvalid)
	judged := judge(run, trials, shown, o.Reference)
	for _, cell := range run.Plan.Cells {
		c := Cell{ID: cell.ID, Trials: counted(trials, cell.ID, shown)}
		for _, m := range cell.Metrics {
			one := Metric{Metric: m}
			for _, arm := range shown {
				one.Arms = append(one.Arms, values.moments(cell.ID, arm, m.Name))
			}
			for _, p := range pairs(run.Plan, shown, o.Reference) {
				d := difference(one.Arms[p[0]], one.Arms[p[1]])
				d.Verdict = judged[differenceKey{cell.ID, m.Name, d.A, d.B}]
				one.Differences = append(one.Differences, d)
			}
			c.Metrics = append(c.Metrics, one)
		}
		t.Cells = append(t.Cells, c)
	}
	return t, nil
}

// shownArms returns the arms of the table. Published tables have no control, so the control is shown only if it is
// the reference.
func shownArms(plan *experiment.Plan, reference string) []string {
	var names []string
	for _, a := range plan.Arms {
		if a.Role != experiment.Control || a.Name == reference {
			names = append(names, a.Name)
		}
	}
	return names
}

func pairs(plan *experiment.Plan, shown []string, reference string) [][2]int {
	const fewArms = 4 // the largest number of arms for which all pairs are shown by default
	if reference == "" && len(shown) > fewArms {
		reference = plan.ArmWith(experiment.Baseline)
	}
	var list [][2]int
	for a := range shown {
		for b := a + 1; b < len(shown); b++ {
			if reference == "" || shown[a] == reference || shown[b] == reference {
				list = append(list, [2]int{a, b})
			}
		}
	}
	return list
}

func counted(trials []journal.Trial, cell string, shown []string) []Arm {
	list := make([]Arm, len(shown))
	for k, name := range shown {
		list[k].Name = name
	}
	for i := range trials {
		k := slices.Index(shown, trials[i].Arm)
		if k < 0 || trials[i].Cell != cell {
			continue
		}
		list[k].Trials++
		if !trials[i].Valid() {
			list[k].Invalid++
		}
	}
	return list
}

func difference(a, b Moments) Difference {
	d := Difference{A: a.Arm, B: b.Arm}
	if a.N == 0 || b.N == 0 || a.Mean <= 0 || b.Mean <= 0 {
		return d
	}
	ratio := func(by float64) *float64 {
		if share := (b.Mean - a.Mean) / by; !math.IsNaN(share) && !math.IsInf(share, 0) {
			return &share
		}
		return nil
	}
	d.RelativeToA, d.RelativeToB = ratio(a.Mean), ratio(b.Mean)
	return d
}

type series map[key][]value

type key struct{ cell, arm, metric string }

type value struct {
	v       float64
	invalid bool
}

// gather collects the values of valid trials in the order of the trials. With withInvalid = true, it collects the
// values of valid and invalid trials.
func gather(trials []journal.Trial, withInvalid bool) series {
	s := series{}
	for i := range trials {
		t := &trials[i]
		if !t.Valid() && !withInvalid {
			continue
		}
		for metric, v := range t.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			k := key{t.Cell, t.Arm, metric}
			s[k] = append(s[k], value{v, !t.Valid()})
		}
	}
	return s
}

// moments returns the mean and the population variance of the values. The variance is divided by n, not by n − 1.
func (s series) moments(cell, arm, metric string) Moments {
	m := Moments{Arm: arm}
	list := s[key{cell, arm, metric}]
	if m.N = len(list); m.N == 0 {
		return m
	}
	n := float64(m.N)
	for _, x := range list {
		m.Mean += x.v / n
		if x.invalid {
			m.Invalid++
		}
	}
	for _, x := range list {
		m.Variance += (x.v - m.Mean) * (x.v - m.Mean) / n
	}
	m.Mean, m.Variance = contrast.Finite(m.Mean), contrast.Finite(m.Variance)
	return m
}

type differenceKey struct{ cell, metric, a, b string }

// judge returns verdicts on pairs of arms: the run's own for pairs with the baseline. Other pairs are judged as one
// family, unless the run is invalid or unfinished.
func judge(run *analysis.Run, trials []journal.Trial, shown []string, reference string) map[differenceKey]*analysis.Comparison {
	verdicts := map[differenceKey]*analysis.Comparison{}
	base := run.Plan.ArmWith(experiment.Baseline)
	restated := map[[2]string]string{}
	for i := range run.Comparisons {
		c := &run.Comparisons[i]
		verdicts[differenceKey{c.Cell, c.Metric.Name, base, c.Arm}] = c
		restated[[2]string{c.Cell, c.Metric.Name}] = c.Restates
	}
	// only treatments: the run's own analysis compares with the baseline and the control
	treatment := func(arm string) bool { return run.Plan.Arm(arm).Role == experiment.Treatment }
	values := analysis.ValuesOf(run.Plan, trials)
	var questions []analysis.Question
	var keys []differenceKey
	for _, cell := range run.Plan.Cells {
		for _, m := range cell.Metrics {
			for _, p := range pairs(run.Plan, shown, reference) {
				at := differenceKey{cell.ID, m.Name, shown[p[0]], shown[p[1]]}
				if verdicts[at] == nil && treatment(at.a) && treatment(at.b) {
					questions = append(questions, analysis.Question{Cell: cell.ID, Arm: at.b, Against: at.a, Observational: run.Observation != nil,
						Restates: restated[[2]string{cell.ID, m.Name}], Data: values.Between(cell.ID, at.a, at.b, m)})
					keys = append(keys, at)
				}
			}
		}
	}
	for i, c := range analysis.Assess(run.Plan, questions, nil).Asked {
		if !run.Valid {
			c.Withhold(analysis.InvalidRuns{})
		} else if !run.Finished {
			c.Suspend(analysis.UnfinishedRuns{})
		}
		verdicts[keys[i]] = &c
	}
	return verdicts
}
