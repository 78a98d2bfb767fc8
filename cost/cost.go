// Package cost turns what a run has measured into cores, nodes and money: CPU time per unit of
// work, or the capacity of what was measured, into what a given rate of work takes in each
// arm, and what an arm takes more than the baseline.
//
// It is a multiplication, and its intervals are those of the measurement. Each trial gives a
// number of nodes: the rate times the CPU time per unit, over the CPUs of a node that may be
// busy; or the rate over the capacity that may be used. What an arm takes is where these numbers lie
// over rounds, estimated on their logarithms. What it takes more than the baseline is
// estimated on the differences within rounds, by the estimators that the verdicts come from: so
// nothing has to be combined, what slows a whole round down cancels, and a level that is known
// poorly does no harm to a difference that is known well. It is therefore not exactly the difference of the two
// levels. Of independent samples (imports) the difference is that of two samples.
//
// What it assumes is the reader's to check; docs/cost.md lists it.
package cost

import (
	"math"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/stats"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.cost/v1"

// HoursPerMonth is a twelfth of a year of 365 days.
const HoursPerMonth = 730

// Options are what is asked.
type Options struct {
	Rate        string  // of work: "12000/s", or in a unit: "40Gbit/s"
	NodeCPUs    float64 // CPUs of a node
	NodePrice   float64 // of a node, per hour; 0: not known
	Currency    string  // that the price is in; may be empty
	Utilisation float64 // share of a node's CPUs, or of its capacity, that is used; 0 to 1
	// Metric and Cell choose what the answer rests on; "": what there is one of.
	Metric, Cell string
}

// Result is the answer.
type Result struct {
	Schema      string  `json:"schema"`
	Directory   string  `json:"directory"`
	Experiment  string  `json:"experiment"`
	Rate        float64 `json:"rate"` // units of work per second
	Unit        string  `json:"unit"` // of work, such as "Gbit"; "" for operations of no name
	NodeCPUs    float64 `json:"nodeCPUs"`
	NodePrice   float64 `json:"nodePrice,omitempty"` // per hour; 0: not known
	Currency    string  `json:"currency,omitempty"`
	Utilisation float64 `json:"utilisation"`
	Confidence  float64 `json:"confidence"` // of every interval
	Finished    bool    `json:"finished"`
	// Observation says why the run is no experiment; nil: it is one.
	Observation *analysis.Observation `json:"observation,omitempty"`
	Bills       []Bill                `json:"bills"`
}

// Basis is what a bill is worked out from.
type Basis string

// The bases.
const (
	CPU      Basis = "cpu"      // CPU time per unit of work
	Capacity Basis = "capacity" // the highest rate of what was measured
)

// Bill is what all arms take, by one metric.
type Bill struct {
	Basis  Basis             `json:"basis"`
	Cell   string            `json:"cell"`
	Metric experiment.Metric `json:"metric"`
	Arms   []Arm             `json:"arms"` // the baseline first; no control
}

// Arm is what one arm takes.
type Arm struct {
	Arm    string `json:"arm"`
	Rounds int    `json:"rounds"` // or values, that it rests on
	// Level is the metric's typical value, in its unit.
	Level analysis.Interval `json:"level"`
	Needs
	// More is what it takes more than the baseline; nil for the baseline, and where no round has
	// both.
	More *More `json:"more,omitempty"`
}

// More is what an arm takes more than the baseline; below zero it takes less.
type More struct {
	Needs
	Verdict analysis.Verdict `json:"verdict"` // on the metric
	Grade   analysis.Grade   `json:"grade,omitempty"`
}

// Needs are cores and nodes with their price. Nodes are told as they come out and rounded up to
// whole ones; of what is taken more, whole nodes are those beside the baseline's.
type Needs struct {
	Cores     analysis.Interval `json:"cores"` // of nodes, those that are to stay idle included
	Nodes     analysis.Interval `json:"nodes"`
	Whole     analysis.Interval `json:"wholeNodes"`
	PointOnly bool              `json:"pointOnly,omitempty"` // the values allow no interval: both bounds are the point
}

// PerHour is the price of nodes per hour.
func (r *Result) PerHour(nodes analysis.Interval) analysis.Interval {
	return scaled(nodes, r.NodePrice)
}

// PerMonth is the price of nodes per month.
func (r *Result) PerMonth(nodes analysis.Interval) analysis.Interval {
	return scaled(nodes, r.NodePrice*HoursPerMonth)
}

// Of works the answer out. The error is an *Error where the run has not what is asked for, or the
// question cannot be read; ErrNoVerdicts where the run gives no verdicts.
func Of(run *analysis.Run, trials []journal.Trial, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if !run.Valid {
		return nil, ErrNoVerdicts
	}
	chosen, err := choose(run.Plan, o)
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: Schema, Directory: run.Directory, Experiment: run.Plan.Name, Unit: chosen[0].unit, NodeCPUs: o.NodeCPUs,
		NodePrice: o.NodePrice, Currency: o.Currency, Utilisation: o.Utilisation, Confidence: float64(run.Plan.Judged()),
		Finished: run.Finished, Observation: run.Observation}
	if r.Rate, err = ParseRate(o.Rate, r.Unit); err != nil {
		return nil, err
	}
	w := worker{Result: r, run: run, values: analysis.ValuesOf(run.Plan, trials), rules: contrast.RulesOf(run.Plan)}
	w.rules.Margin = 0
	for _, s := range chosen {
		b, ok := w.bill(s)
		if !ok {
			return nil, &Error{"the baseline has no valid value of " + s.Metric.Name + " in " + s.Cell, "tare show says what its trials were lost to"}
		}
		r.Bills = append(r.Bills, b)
	}
	return r, nil
}

// worker works bills out.
type worker struct {
	*Result
	run    *analysis.Run
	values *analysis.Values
	rules  contrast.Rules
}

// bill is what all arms take by one metric; false: the baseline has no value of it.
func (w *worker) bill(s Source) (Bill, bool) {
	b := Bill{Basis: s.basis, Cell: s.Cell, Metric: s.Metric}
	base := w.run.Plan.ArmWith(experiment.Baseline)
	for _, a := range w.run.Plan.Arms {
		if a.Role == experiment.Control {
			continue
		}
		d := w.values.Between(s.Cell, base, a.Name, s.Metric)
		nodes := w.nodes(s, d.Treated, places(d, 0))
		if len(nodes) == 0 && a.Role == experiment.Baseline {
			return b, false
		} else if len(nodes) == 0 {
			continue
		}
		at, ok := w.typical(d, nodes)
		arm := Arm{Arm: a.Name, Rounds: len(nodes), Level: w.level(s, at), Needs: w.needs(at, !ok)}
		if a.Role == experiment.Treatment {
			arm.More = w.more(s, a.Name, d, nodes, b.Arms[0])
		}
		b.Arms = append(b.Arms, arm)
	}
	return b, true
}

// places are the effects of places within the round on one side of pairs; nil: none.
func places(d contrast.Data, side int) (effects []float64) {
	for _, p := range d.Places {
		effects = append(effects, p[side])
	}
	return effects
}

// nodes are the nodes that each value stands for.
func (w *worker) nodes(s Source, values, places []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		if places != nil {
			v *= math.Exp(-places[i])
		}
		list[i] = w.nodesOf(s, v)
	}
	return list
}

// nodesOf is the number of nodes for a value of the metric.
func (w *worker) nodesOf(s Source, v float64) float64 {
	if s.basis == Capacity {
		return w.Rate / (s.units * v * w.Utilisation)
	}
	return w.Rate * v / (w.NodeCPUs * w.Utilisation)
}

// level turns nodes back into values of the metric.
func (w *worker) level(s Source, nodes analysis.Interval) analysis.Interval {
	back := func(n float64) float64 {
		if s.basis == Capacity {
			return contrast.Finite(w.Rate / (s.units * n * w.Utilisation))
		}
		return contrast.Finite(n * w.NodeCPUs * w.Utilisation / w.Rate)
	}
	return analysis.Interval(stats.Interval(nodes).Map(back))
}

// typical is where nodes lie over rounds, or over the values of a sample, estimated on
// their logarithms as a level, since the machine's drift does not cancel. Where they allow no interval, it is their median.
func (w *worker) typical(d contrast.Data, nodes []float64) (at analysis.Interval, ok bool) {
	logs := make([]float64, len(nodes))
	for i, n := range nodes {
		logs[i] = math.Log(n)
	}
	e := w.rules.Level(&contrast.Data{Metric: experiment.Metric{Scale: experiment.Difference}, Paired: true, Contrasts: logs,
		Rounds: d.Rounds, SetUps: d.SetUps, Pilot: d.Pilot})
	if !e.Main.OK {
		return point(math.Exp(stats.Median(logs))), false
	}
	return analysis.Interval(e.Main.At.Map(math.Exp)), true
}

// more is the difference to the baseline, within rounds where there are rounds.
func (w *worker) more(s Source, arm string, d contrast.Data, nodes []float64, base Arm) *More {
	based := w.nodes(s, d.Baseline, places(d, 1))
	if len(based) == 0 {
		return nil
	}
	q := contrast.Data{Metric: experiment.Metric{Scale: experiment.Difference, Better: experiment.Lower}, Paired: d.Paired,
		Baseline: based, Treated: nodes}
	middle := stats.Median(nodes) - stats.Median(based)
	if d.Paired {
		q.Rounds, q.SetUps, q.Pilot = d.Rounds, d.SetUps, d.Pilot
		q.Compare()
		middle = stats.Median(q.Contrasts)
	}
	at, ok := point(middle), false
	if e := w.rules.Estimate(&q); e.Main.OK {
		at, ok = analysis.Interval(e.Main.At), true
	}
	m := &More{Needs: w.needs(at, !ok), Verdict: analysis.NotResolved}
	whole := func(n float64) float64 { return up(base.Nodes.Point+n) - base.Whole.Point }
	m.Whole = analysis.Interval(stats.Interval(at).Map(whole))
	if c := w.run.Comparison(s.Cell, arm, s.Metric.Name); c != nil {
		m.Verdict, m.Grade = c.Verdict, c.Grade
	}
	return m
}

// needs are the cores and nodes for a number of nodes.
func (w *worker) needs(nodes analysis.Interval, pointOnly bool) Needs {
	return Needs{Nodes: scaled(nodes, 1), Cores: scaled(nodes, w.NodeCPUs), PointOnly: pointOnly,
		Whole: analysis.Interval(stats.Interval(nodes).Map(up))}
}

// up rounds nodes up. What the arithmetic leaves beyond a whole number is none.
func up(nodes float64) float64 { return contrast.Finite(math.Ceil(nodes * (1 - 1e-12))) }

func point(v float64) analysis.Interval { return analysis.Interval{Point: v, Lo: v, Hi: v} }

func scaled(i analysis.Interval, by float64) analysis.Interval {
	return analysis.Interval{Point: contrast.Finite(i.Point * by), Lo: contrast.Finite(i.Lo * by), Hi: contrast.Finite(i.Hi * by)}
}
