package wording

import (
	"tare/analysis"
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
