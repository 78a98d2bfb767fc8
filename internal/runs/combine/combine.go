// Package combine joins runs of one experiment into one result.
//
// A run's result depends on its occasion, such as the load of the machine at that hour. All rounds of a run share the
// occasion, so the run's interval does not show how overheads vary between occasions. General conclusions need several
// occasions: the occasion is the unit of analysis.
//
// The runs must ask the same question (compare.Property.InQuestion). Each run gives its overheads with standard errors.
// From these, stats.RandomEffects estimates the mean overhead over occasions, the spread between occasions, and the
// range of the overhead in a further run. Package analysis decides the verdicts as for a single run.
//
// A run that is unfinished or gives no verdicts is left out and listed. For each metric, runs without an interval are
// left out. Failures of programs are counted over all combined runs. A verdict that depends on failed trials is
// withheld.
package combine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/runs/compare"
	"tare/internal/stats"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.combination/v1"

// Result is the joint result of several runs.
type Result struct {
	Schema     string           `json:"schema"`
	Experiment string           `json:"experiment"` // name of the experiment in the first run
	Runs       []Run            `json:"runs"`
	Confidence quantity.Percent `json:"confidence"`
	Margin     quantity.Percent `json:"equivalence"`
	// Differences are the properties in which the runs differ, Same the equal ones. The properties of the question are
	// always equal.
	Differences []compare.Property `json:"differences"`
	Same        []compare.Property `json:"same"`
	Unknown     []analysis.Finding `json:"-"`
	Family      int                `json:"family"` // number of headline claims; Holm's correction is over these claims
	Comparisons []Comparison       `json:"comparisons"`
	Controls    []Comparison       `json:"controls"` // comparisons of the control with the baseline
	// Failures are the failures of treatments; nil if neither a treatment nor the baseline failed.
	Failures []Failures `json:"failures,omitempty"`
	// Observational is set if some of the runs are not experiments in rounds of random order.
	Observational bool               `json:"observational,omitempty"`
	Warnings      []analysis.Finding `json:"-"`
	// Plan is the first run's plan. All runs ask the same question as this plan. Its confidence and margin hold for all
	// verdicts.
	Plan *experiment.Plan `json:"-"`
	// Used are the runs that were combined.
	Used []compare.Input `json:"-"`
}

// Deviation returns the standard deviation of an arm's overheads between runs, on the scale of contrasts (logarithms
// for a ratio metric); below two runs, 0. The result runs is their number.
func (r *Result) Deviation(cell, arm, metric string) (deviation float64, runs int) {
	if c := r.Comparison(cell, arm, metric); c != nil {
		return contrast.Deviation(c.data.Contrasts), len(c.data.Contrasts)
	}
	return 0, 0
}

// Comparison returns the comparison of a treatment or control with the baseline; nil if there is none.
func (r *Result) Comparison(cell, arm, metric string) *Comparison {
	for _, list := range [][]Comparison{r.Comparisons, r.Controls} {
		for i := range list {
			if c := &list[i]; c.Cell == cell && c.Arm == arm && c.Metric.Name == metric {
				return c
			}
		}
	}
	return nil
}

// Run is one of the combined runs.
type Run struct {
	compare.Run
	LeftOut analysis.Reason `json:"-"` // the reason; nil: the run is part of the result
}

// Comparison compares an arm with the baseline on a metric in a cell, over occasions.
type Comparison struct {
	// Overhead is the mean over occasions, with its interval. Rounds is the number of runs, and
	// Overheads are the overheads of the runs.
	analysis.Comparison
	// HartungKnapp is Hartung and Knapp's interval, which the interval of Overhead contains.
	HartungKnapp analysis.Interval `json:"hartungKnapp"`
	// Spread is the standard deviation of true overheads between occasions, on the scale of Overhead. PSpread is the
	// p-value of no spread.
	Spread  analysis.Interval `json:"spread"`
	PSpread float64           `json:"pSpread"`
	// Prediction is an interval for the overhead that one more run will find. It has the confidence of the other
	// intervals.
	Prediction analysis.Interval `json:"prediction"`
	Occasions  []Occasion        `json:"occasions"` // results of the single runs

	data contrast.Data
}

// Occasion is the result of one run.
type Occasion struct {
	Run      int               `json:"run"` // number of the run, from 1
	Overhead analysis.Interval `json:"overhead"`
	Rounds   int               `json:"rounds"`
	Weight   float64           `json:"weight"` // the run's share in the mean; 0: the run is left out
	LeftOut  analysis.Reason   `json:"-"`      // the reason; nil: the run is not left out
}

// The reasons why a run, or its overhead, is left out.
type (
	// NotFinished: planned trials of the run are missing.
	NotFinished struct{ analysis.Unfinished }
	// NoInterval: the run gives no interval for the overhead.
	NoInterval struct{}
)

// Findings about a combination.
type (
	// LeftOut: a run is not part of the combination.
	LeftOut struct {
		Run int             `json:"run"`
		Why analysis.Reason `json:"-"`
	}
	// FewOccasions: the runs are too few to estimate the spread between occasions.
	FewOccasions struct {
		Runs int `json:"runs"`
	}
	// OtherConduct: runs differ in how they were carried out, which may affect the result.
	OtherConduct struct{ compare.Property }
	// ControlDiffers: the control differs from the baseline over occasions, so there are no verdicts.
	ControlDiffers struct{ analysis.ControlFails }
)

// Kind returns the name of this kind of reason in JSON.
func (NotFinished) Kind() string  { return "not-finished" }
func (NoInterval) Kind() string   { return "no-interval" }
func (LeftOut) Kind() string      { return "left-out" }
func (FewOccasions) Kind() string { return "few-occasions" }
func (OtherConduct) Kind() string { return "other-conduct" }

// Kind replaces the method Kind of the embedded ControlFails.
func (ControlDiffers) Kind() string { return "control-differs" }

// ErrOtherQuestion is the error that the runs do not ask the same question. The user may name other runs.
var ErrOtherQuestion = errors.New("the runs do not ask the same question")

// Runs combines several runs into one result, whatever their verdicts are. It returns an error only for runs that
// cannot be combined.
func Runs(in []compare.Input) (*Result, error) {
	const fewOccasions = 3 // up to so few runs: warn, since the spread's upper bound is over 6 times its estimate
	if len(in) < 2 {
		return nil, errors.New("there is only one run")
	}
	seen, err := compare.Properties(in)
	if err != nil {
		return nil, err
	}
	if err := sameQuestion(seen); err != nil {
		return nil, err
	}
	plan := in[0].Run.Plan
	r := &Result{Schema: Schema, Experiment: plan.Name, Confidence: plan.Confidence, Margin: plan.Equivalence, Plan: plan,
		Differences: seen.Differences, Same: seen.Same, Unknown: seen.Unknown, Comparisons: []Comparison{}, Controls: []Comparison{}}
	for i := range in {
		run := Run{Run: seen.Runs[i], LeftOut: leftOut(in[i].Run)}
		if run.LeftOut == nil {
			r.Used = append(r.Used, in[i])
			r.Observational = r.Observational || in[i].Run.Observation != nil
		} else {
			r.Warnings = append(r.Warnings, LeftOut{Run: i + 1, Why: run.LeftOut})
		}
		r.Runs = append(r.Runs, run)
	}
	if used := len(r.Used); used > 1 && used <= fewOccasions {
		r.Warnings = append(r.Warnings, FewOccasions{used})
	}
	r.countFailures(in)
	for _, p := range seen.Differences {
		if p.AffectsResult(r.Failures != nil) {
			r.Warnings = append(r.Warnings, OtherConduct{p})
		}
	}
	r.assess(in)
	return r, nil
}

func sameQuestion(seen *compare.Result) error {
	list := lists.Map(seen.Apart, func(a compare.NotShared) string {
		return fmt.Sprintf("%s %s is not the same in every run", a.What, a.Name)
	})
	for _, p := range seen.Differences {
		if p.InQuestion() {
			list = append(list, OtherConduct{p}.ValuesByRun())
		}
	}
	if list == nil {
		return nil
	}
	const most = 4
	if extra := len(list) - most; extra > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", extra))
	}
	return fmt.Errorf("%w: %s", ErrOtherQuestion, strings.Join(list, "; "))
}

// ValuesByRun lists the values of the property by run: "link.mtu is 1500 in run 1, unset in run 2".
func (f OtherConduct) ValuesByRun() string {
	list := make([]string, len(f.Values))
	for i, v := range f.Values {
		list[i] = fmt.Sprintf("%s in run %d", cmp.Or(v, "unset"), i+1)
	}
	return f.Path + " is " + strings.Join(list, ", ")
}

func leftOut(run *analysis.Run) analysis.Reason {
	switch {
	case !run.Finished:
		return NotFinished{analysis.Unfinished{Done: run.Trials.Done, Planned: run.Trials.Planned}}
	case !run.Valid:
		return analysis.NoVerdicts{Reasons: run.Reasons}
	}
	return nil
}

func (r *Result) assess(in []compare.Input) {
	for _, cell := range r.Plan.Cells {
		for _, m := range cell.Metrics {
			for _, arm := range r.Plan.Arms {
				switch c := r.comparison(in, cell.ID, arm.Name, m); arm.Role {
				case experiment.Treatment:
					r.Comparisons = append(r.Comparisons, c)
				case experiment.Control:
					r.Controls = append(r.Controls, c)
				}
			}
		}
	}
	answers := analysis.Assess(r.Plan, questions(in, r.Comparisons, r.Observational), questions(in, r.Controls, r.Observational))
	r.Family = answers.Family
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.complete(answers.Asked[i], float64(r.Confidence))
		r.withholdByFailures(in, c)
		for _, one := range r.Used {
			one.Run.WithholdGains(&c.Comparison, c.Arm)
		}
	}
	for i := range r.Controls {
		r.Controls[i].complete(answers.Controls[i], float64(r.Confidence))
	}
	for _, i := range answers.Failed { // a control that differs from the baseline withholds the verdicts
		c := answers.Controls[i]
		why := analysis.ControlFails{Cell: c.Cell, Metric: c.Metric, Overhead: c.Overhead, PAdjusted: c.PAdjusted, Margin: c.Margin}
		r.Warnings = append(r.Warnings, ControlDiffers{why})
		for k := range r.Comparisons {
			r.Comparisons[k].Withhold(why)
		}
	}
}

func (r *Result) comparison(in []compare.Input, cell, arm string, m experiment.Metric) Comparison {
	c := Comparison{Comparison: analysis.Comparison{Cell: cell, Arm: arm, Metric: m}}
	var contrasts, errs []float64
	for i := range in {
		o := Occasion{Run: i + 1, LeftOut: r.Runs[i].LeftOut}
		at, se := 0.0, 0.0
		if own := in[i].Run.Comparison(cell, arm, m.Name); own != nil {
			o.Overhead, o.Rounds = own.Overhead, own.Rounds
			at, se = asContrast(own, contrast.RulesOf(in[i].Run.Plan).AtLook())
		}
		if o.LeftOut == nil && se > 0 {
			contrasts, errs = append(contrasts, at), append(errs, se)
		} else if o.LeftOut == nil {
			o.LeftOut = NoInterval{}
		}
		c.Occasions = append(c.Occasions, o)
	}
	c.data = contrast.Combined(m, contrasts, errs)
	return c
}

// asContrast converts an overhead to the scale of contrasts, and returns it with its standard error. Both are 0 if
// the overhead has no interval.
func asContrast(own *analysis.Comparison, confidence float64) (at, se float64) {
	if own.PointOnly || own.Rounds < 2 {
		return 0, 0
	}
	values := own.Rounds
	if !own.Paired {
		values = own.Baseline.N + own.Treated.N - 1
	}
	i := contrast.FromOverheads(stats.Interval(own.Overhead), own.Metric)
	return i.Point, contrast.Error(i, values, confidence)
}

func questions(in []compare.Input, list []Comparison, observational bool) []analysis.Question {
	questions := make([]analysis.Question, len(list))
	for i, c := range list {
		questions[i] = analysis.Question{Cell: c.Cell, Arm: c.Arm, Restates: compare.Restates(in, c.Cell, c.Metric.Name),
			Observational: observational, Data: c.data}
	}
	return questions
}

func (c *Comparison) complete(answer analysis.Comparison, confidence float64) {
	c.Comparison = answer
	// These results need values in a random order, like the rounds of a run. Occasions have no such order.
	c.Needed, c.NeededRange, c.Lag1, c.OrderP, c.Warnings = 0, nil, 0, 1, nil
	p, err := c.data.Pooled(confidence)
	if err != nil {
		return
	}
	m := c.Metric
	c.HartungKnapp = analysis.Interval(contrast.Overheads(p.HartungKnapp.Interval, m))
	c.Spread, c.PSpread = analysis.Interval(p.Spread.Map(func(v float64) float64 { return contrast.Magnitude(v, m) })), p.PQ
	c.Prediction = analysis.Interval(contrast.Overheads(p.Prediction, m))
	for i := range c.Occasions {
		if o := &c.Occasions[i]; o.LeftOut == nil {
			o.Weight, p.Weights = p.Weights[0], p.Weights[1:]
		}
	}
}

// Exceeds returns the one-sided p-value of the hypothesis that the mean overhead over occasions is limit or less.
func (c *Comparison) Exceeds(limit float64) float64 {
	if c.PointOnly || c.Rounds < 2 {
		return 1
	}
	return contrast.Rules{}.Exceeds(&c.data, limit)
}
