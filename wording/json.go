package wording

import (
	"tare/analysis"
	"tare/compare"
	"tare/experiment"
	"tare/gate"
	"tare/history"
	"tare/published"
)

// The types of this file are results as JSON has them: the typed values as data,
// and beside them the same in words, under the names that the first versions of
// each schema gave them. A member here takes the place of one of the same name in
// what is embedded.

// Figures are a reason or a finding as data.
type Figures struct {
	Kind    string `json:"kind"`    // what it says; package analysis lists the kinds
	Figures any    `json:"figures"` // the numbers and names that go with the kind
}

func figures[T interface{ Kind() string }](list []T) []Figures {
	var all []Figures
	for _, v := range list {
		all = append(all, Figures{v.Kind(), v})
	}
	return all
}

// Analysis is an analysed run.
type Analysis struct {
	*analysis.Run
	Reasons       []string     `json:"reasons,omitempty"`       // why the run gives no verdicts
	Invalidity    []Figures    `json:"invalidity,omitempty"`    // the same as data
	Observational string       `json:"observational,omitempty"` // why what is concluded is weaker than an experiment: "arms ran one after the other"
	Comparisons   []Comparison `json:"comparisons"`             // of the arms with the baseline
	Controls      []Comparison `json:"controls"`                // the A/A arm, in the same form
	Warnings      []Warning    `json:"warnings,omitempty"`      // what a reader must know before trusting the run
	Cells         []Cell       `json:"cells"`                   // series for charts
	Scaling       []Scaling    `json:"scaling,omitempty"`       // lines through the levels of factors that are numbers
}

// Comparison is one arm against the baseline on one metric in one cell.
type Comparison struct {
	analysis.Comparison
	Text        string       `json:"text"`               // the verdict in a sentence: "costs 7.1 % [6.2, 8.0]"
	Reason      *Figures     `json:"reason,omitempty"`   // why it is not resolved, or gets no verdict
	Warnings    []string     `json:"warnings,omitempty"` // what a reader must know before trusting this comparison
	Findings    []Figures    `json:"findings,omitempty"` // the same as data
	WithInvalid *Alternative `json:"withInvalid,omitempty"`
}

// Alternative is a comparison as it would be with the trials that had failed
// operations.
type Alternative struct {
	Comparison
	Text   string `json:"text"`   // in a sentence
	Trials int    `json:"trials"` // invalid trials that it takes in, of both arms
}

// Warning is something that a reader must know before trusting a number.
type Warning struct {
	analysis.Warning
	Figures
	Text string `json:"text"` // in a sentence
}

// Cell holds one cell's series for charts.
type Cell struct {
	analysis.CellSummary
	Loop *Looped `json:"loop,omitempty"` // nothing where nothing tells of a closed loop
}

// Looped says that a cell's load is a closed loop.
type Looped struct {
	*analysis.LoopSummary
	Text string `json:"text"` // in a sentence
}

// Scaling is how one metric of a workload grows with a factor of its cells.
type Scaling struct {
	*analysis.Scaling
	Per  string       `json:"per"`  // what a slope is for, in words: "object", "1 % of churn"
	Arms []ScalingArm `json:"arms"` // in the plan's order; those with a value at every level in some round
}

// ScalingArm is the line of one arm.
type ScalingArm struct {
	*analysis.ScalingArm
	Text       string           `json:"text"` // the slope in words: "12.1 KiB [11.0, 13.2] per object"
	Fit        Fitted           `json:"fit"`  // how well a line describes the values
	Difference *SlopeDifference `json:"difference,omitempty"`
}

// Fitted says how well a line describes the values.
type Fitted struct {
	analysis.Fit
	Text string `json:"text,omitempty"` // in words, where it is poor
}

// SlopeDifference is how much steeper an arm's line is than the baseline's.
type SlopeDifference struct {
	*analysis.SlopeDifference
	Text string `json:"text"` // in words: "1.2 KiB [0.9, 1.5] more per object than plain"
}

// JSON gives a result the form in which it is written as JSON. What is no result of
// this program stays as it is.
func JSON(v any) any {
	switch v := v.(type) {
	case *analysis.Run:
		return AnalysisOf(v)
	case *compare.Result:
		return comparedOf(v)
	case *gate.Result:
		return gatedOf(v)
	case *history.History:
		return pastOf(v)
	case *published.Table:
		return publishedOf(v)
	}
	return v
}

// AnalysisOf puts words to an analysed run.
func AnalysisOf(r *analysis.Run) *Analysis {
	a := &Analysis{Run: r, Reasons: Reasons(r.Reasons), Invalidity: figures(r.Reasons), Observational: Observation(r.Observation),
		Comparisons: comparisons(r.Comparisons), Controls: comparisons(r.Controls), Cells: make([]Cell, 0, len(r.Cells))}
	for _, w := range r.Warnings {
		a.Warnings = append(a.Warnings, Warning{Warning: w, Figures: Figures{w.Finding.Kind(), w.Finding}, Text: Finding(w.Finding)})
	}
	for _, c := range r.Cells {
		cell := Cell{CellSummary: c}
		if c.Loop != nil {
			cell.Loop = &Looped{c.Loop, Loop(c.Loop)}
		}
		a.Cells = append(a.Cells, cell)
	}
	for i := range r.Scaling {
		a.Scaling = append(a.Scaling, scalingOf(&r.Scaling[i]))
	}
	return a
}

func comparisons(list []analysis.Comparison) []Comparison {
	all := make([]Comparison, len(list))
	for i := range list {
		all[i] = comparisonOf(&list[i])
	}
	return all
}

func comparisonOf(c *analysis.Comparison) Comparison {
	out := Comparison{Comparison: *c, Text: Sentence(c), Warnings: Findings(c.Warnings), Findings: figures(c.Warnings)}
	if c.Reason != nil {
		out.Reason = &Figures{c.Reason.Kind(), c.Reason}
	}
	if a := c.WithInvalid; a != nil {
		text := AlternativeText(a)
		if c.Observational {
			text = "observational: " + text
		}
		out.WithInvalid = &Alternative{Comparison: comparisonOf(&a.Comparison), Text: text, Trials: a.Trials}
	}
	return out
}

func scalingOf(s *analysis.Scaling) Scaling {
	out := Scaling{Scaling: s, Per: Per(s)}
	for i := range s.Arms {
		a := &s.Arms[i]
		arm := ScalingArm{ScalingArm: a, Text: Slope(s, a), Fit: Fitted{a.Fit, Fit(s, a.Fit)}}
		if a.Difference != nil {
			arm.Difference = &SlopeDifference{a.Difference, Steeper(s, a.Difference)}
		}
		out.Arms = append(out.Arms, arm)
	}
	return out
}

type compared struct {
	*compare.Result
	Runs          []comparedRun   `json:"runs"`
	Observational string          `json:"observational,omitempty"`
	Unknown       []string        `json:"unknown,omitempty"`
	Apart         []apart         `json:"apart,omitempty"`
	Changes       []change        `json:"changes"`
	Floors        []change        `json:"floors,omitempty"`
	Levels        []comparedLevel `json:"levels"`
	Warnings      []string        `json:"warnings,omitempty"`
	Findings      []Figures       `json:"findings,omitempty"`
}

type comparedRun struct {
	compare.Run
	Reasons       []string  `json:"reasons,omitempty"`
	Invalidity    []Figures `json:"invalidity,omitempty"`
	Observational string    `json:"observational,omitempty"`
}

type apart struct {
	compare.Apart
	Why string `json:"why,omitempty"`
}

type change struct {
	From   compare.Overhead `json:"from"`
	To     compare.Overhead `json:"to"`
	Direct bool             `json:"direct,omitempty"`
	Comparison
}

type comparedLevel struct {
	compare.Level
	Against *Comparison `json:"against,omitempty"`
}

func comparedOf(r *compare.Result) *compared {
	out := &compared{Result: r, Observational: ObservationAcross(r), Unknown: Findings(r.Unknown), Warnings: Findings(r.Warnings), Findings: figures(r.Warnings),
		Changes: changes(r.Changes), Floors: changes(r.Floors), Levels: make([]comparedLevel, len(r.Levels))}
	for _, run := range r.Runs {
		out.Runs = append(out.Runs, comparedRun{Run: run, Reasons: Reasons(run.Reasons), Invalidity: figures(run.Reasons), Observational: Observation(run.Observation)})
	}
	for _, a := range r.Apart {
		out.Apart = append(out.Apart, apart{a, Apart(a)})
	}
	for i, l := range r.Levels {
		out.Levels[i].Level = l
		if l.Against != nil {
			c := comparisonOf(l.Against)
			out.Levels[i].Against = &c
		}
	}
	return out
}

func changes(list []compare.Change) []change {
	all := make([]change, len(list))
	for i := range list {
		c := &list[i]
		all[i] = change{From: c.From, To: c.To, Direct: c.Direct, Comparison: comparisonOf(&c.Comparison)}
	}
	return all
}

type gated struct {
	*gate.Result
	Reasons       []string   `json:"reasons,omitempty"`
	Invalidity    []Figures  `json:"invalidity,omitempty"`
	Observational string     `json:"observational,omitempty"`
	Cases         []gateCase `json:"cases"`
	Warnings      []string   `json:"warnings,omitempty"`
	Findings      []Figures  `json:"findings,omitempty"`
}

type gateCase struct {
	gate.Case
	Reason string   `json:"reason"`
	Detail string   `json:"detail,omitempty"`
	Gap    *Figures `json:"gap,omitempty"`
}

func gatedOf(r *gate.Result) *gated {
	out := &gated{Result: r, Reasons: GateReasons(r), Invalidity: figures(r.Reasons), Observational: Observation(r.Observation),
		Warnings: Findings(r.Warnings), Findings: figures(r.Warnings), Cases: make([]gateCase, len(r.Cases))}
	for i, c := range r.Cases {
		out.Cases[i] = gateCase{Case: c, Reason: GateReason(c.Reason)}
		if c.Gap != nil {
			out.Cases[i].Detail, out.Cases[i].Gap = Reason(c.Gap), &Figures{c.Gap.Kind(), c.Gap}
		}
	}
	return out
}

type past struct {
	*history.History
	Experiments []pastExperiment `json:"experiments"`
}

type pastExperiment struct {
	*history.Experiment
	Runs   []pastRun    `json:"runs"`
	Series []pastSeries `json:"series"`
}

type pastRun struct {
	*history.Run
	LeftOut       string               `json:"leftOut,omitempty"`
	Omitted       *Figures             `json:"omitted,omitempty"`
	Observational string               `json:"observational,omitempty"`
	Events        []string             `json:"events,omitempty"`
	Changed       []history.Difference `json:"changed,omitempty"`
}

type pastSeries struct {
	*history.Series
	Points    []pastPoint   `json:"points"`
	Stretches []pastStretch `json:"stretches"`
	Shifts    []pastShift   `json:"changes"`
	Notes     []string      `json:"notes,omitempty"`
	Findings  []Figures     `json:"findings,omitempty"`
}

type pastPoint struct {
	history.Point
	LeftOut string   `json:"leftOut,omitempty"`
	Omitted *Figures `json:"omitted,omitempty"`
}

type pastStretch struct {
	history.Stretch
	Differs []string             `json:"differs,omitempty"`
	Changed []history.Difference `json:"changed,omitempty"`
}

type pastShift struct {
	history.Shift
	With []pastEvent `json:"with,omitempty"`
	Near []pastEvent `json:"near,omitempty"`
}

type pastEvent struct {
	history.Event
	Text string `json:"text"`
}

func pastOf(h *history.History) *past {
	out := &past{History: h, Experiments: make([]pastExperiment, len(h.Experiments))}
	for i, e := range h.Experiments {
		one := pastExperiment{Experiment: e, Runs: make([]pastRun, len(e.Runs)), Series: make([]pastSeries, len(e.Series))}
		for k, r := range e.Runs {
			text, data := omitted(r.LeftOut)
			one.Runs[k] = pastRun{r, text, data, Imported(r), Differences(r.Events), r.Events}
		}
		for k := range e.Series {
			one.Series[k] = pastSeriesOf(&e.Series[k])
		}
		out.Experiments[i] = one
	}
	return out
}

func pastSeriesOf(s *history.Series) pastSeries {
	out := pastSeries{Series: s, Points: make([]pastPoint, len(s.Points)), Stretches: make([]pastStretch, len(s.Stretches)),
		Shifts: make([]pastShift, len(s.Shifts)), Notes: Findings(s.Notes), Findings: figures(s.Notes)}
	for i, p := range s.Points {
		text, data := omitted(p.LeftOut)
		out.Points[i] = pastPoint{p, text, data}
	}
	for i, st := range s.Stretches {
		out.Stretches[i] = pastStretch{st, Differences(st.Differs), st.Differs}
	}
	for i, c := range s.Shifts {
		out.Shifts[i] = pastShift{c, events(c.With), events(c.Near)}
	}
	return out
}

func omitted(why analysis.Reason) (string, *Figures) {
	if why == nil {
		return "", nil
	}
	return Reason(why), &Figures{why.Kind(), why}
}

func events(list []history.Event) []pastEvent {
	var all []pastEvent
	for _, e := range list {
		all = append(all, pastEvent{e, Difference(e.Difference)})
	}
	return all
}

type publishedTable struct {
	*published.Table
	Observational string          `json:"observational,omitempty"`
	Cells         []publishedCell `json:"cells"`
}

type publishedCell struct {
	published.Cell
	Metrics []publishedMetric `json:"metrics"`
}

type publishedMetric struct {
	Metric      experiment.Metric     `json:"metric"`
	Arms        []published.Moments   `json:"arms"`
	Differences []publishedDifference `json:"differences"`
}

type publishedDifference struct {
	published.Difference
	Said *Comparison `json:"said,omitempty"`
}

func publishedOf(t *published.Table) *publishedTable {
	out := &publishedTable{Table: t, Observational: Observation(t.Observation)}
	for _, c := range t.Cells {
		cell := publishedCell{Cell: c}
		for _, m := range c.Metrics {
			one := publishedMetric{Metric: m.Metric, Arms: m.Arms}
			for _, d := range m.Differences {
				difference := publishedDifference{Difference: d}
				if d.Said != nil {
					said := comparisonOf(d.Said)
					difference.Said = &said
				}
				one.Differences = append(one.Differences, difference)
			}
			cell.Metrics = append(cell.Metrics, one)
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}
