package wording

import (
	"tare/compare"
	"tare/experiment"
	"tare/gate"
	"tare/history"
	"tare/published"
)

// A comparison of runs, a gate, a history and a published table as JSON has them.

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
	return &compared{Result: r, Observational: ObservationAcross(r), Unknown: Findings(r.Unknown),
		Warnings: Findings(r.Warnings), Findings: figuresOf(r.Warnings),
		Runs: each(r.Runs, func(run compare.Run) comparedRun {
			return comparedRun{run, Reasons(run.Reasons), figuresOf(run.Reasons), Observation(run.Observation)}
		}),
		Apart:   each(r.Apart, func(a compare.Apart) apart { return apart{a, Apart(a)} }),
		Changes: each(r.Changes, changeOf), Floors: each(r.Floors, changeOf),
		Levels: each(r.Levels, func(l compare.Level) comparedLevel { return comparedLevel{l, optional(l.Against)} })}
}

func changeOf(c compare.Change) change {
	return change{c.From, c.To, c.Direct, comparisonOf(c.Comparison)}
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
	return &gated{Result: r, Reasons: GateReasons(r), Invalidity: figuresOf(r.Reasons), Observational: Observation(r.Observation),
		Warnings: Findings(r.Warnings), Findings: figuresOf(r.Warnings),
		Cases: each(r.Cases, func(c gate.Case) gateCase { return gateCase{c, GateReason(c.Reason), Reason(c.Gap), figure(c.Gap)} })}
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
	return &past{h, each(h.Experiments, func(e *history.Experiment) pastExperiment {
		return pastExperiment{e, each(e.Runs, pastRunOf), each(e.Series, pastSeriesOf)}
	})}
}

func pastRunOf(r *history.Run) pastRun {
	return pastRun{r, Reason(r.LeftOut), figure(r.LeftOut), Imported(r), Differences(r.Events), r.Events}
}

func pastSeriesOf(s history.Series) pastSeries {
	return pastSeries{Series: &s, Notes: Findings(s.Notes), Findings: figuresOf(s.Notes),
		Points: each(s.Points, func(p history.Point) pastPoint { return pastPoint{p, Reason(p.LeftOut), figure(p.LeftOut)} }),
		Stretches: each(s.Stretches, func(st history.Stretch) pastStretch {
			return pastStretch{st, Differences(st.Differs), st.Differs}
		}),
		Shifts: each(s.Shifts, func(c history.Shift) pastShift {
			return pastShift{c, each(c.With, eventOf), each(c.Near, eventOf)}
		})}
}

func eventOf(e history.Event) pastEvent { return pastEvent{e, Difference(e.Difference)} }

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
	return &publishedTable{t, Observation(t.Observation), each(t.Cells, func(c published.Cell) publishedCell {
		return publishedCell{c, each(c.Metrics, func(m published.Metric) publishedMetric {
			return publishedMetric{m.Metric, m.Arms, each(m.Differences, func(d published.Difference) publishedDifference {
				return publishedDifference{d, optional(d.Said)}
			})}
		})}
	})}
}
