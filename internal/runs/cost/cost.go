// Package cost turns the results of a run into cores, nodes and money. From CPU time per unit of work, or from
// capacity, it computes the nodes that each arm needs for a rate of work, and how many more these are than the
// baseline's.
//
// Each trial gives a number of nodes. From CPU time, it is the rate times the CPU time per unit, divided by the CPUs of
// a node that may be busy. From a capacity, it is the rate divided by the usable part of the capacity. An arm's need is
// the typical number over rounds, estimated on logarithms. The additional need is estimated on differences within
// rounds, by the estimators of the verdicts. A slow round affects both arms and cancels. The additional need is
// therefore more certain than the needs of arm and baseline, and not exactly their difference. For independent samples
// (imports), it is the difference of two samples.
//
// The reader must check the assumptions in docs/cost.md.
package cost

import (
	"math"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.cost/v1"

// hoursPerMonth is a twelfth of the hours of a year of 365 days.
const hoursPerMonth = 730

// Options describes the work and the nodes, and selects the metric from which bills are computed.
type Options struct {
	Rate        string // the rate of work: "12000/s", or with a unit "40Gbit/s"
	NodeCPUs    float64
	NodePrice   float64 // the price of a node per hour; 0: unknown
	Currency    string  // the currency of the price; may be empty
	Utilisation float64 // the share of a node's CPUs, or of its capacity, that may be used; 0 to 1
	// Metric and Cell select the metric from which the answer is computed. They may be "" if only one metric of the
	// plan is suitable.
	Metric, Cell string
}

// Result holds the needs of all arms.
type Result struct {
	Schema      string  `json:"schema"`
	Directory   string  `json:"directory"`
	Experiment  string  `json:"experiment"`
	Rate        float64 `json:"rate"` // the units of work per second
	Unit        string  `json:"unit"` // the unit of work, such as "Gbit"; "" for operations without a name
	NodeCPUs    float64 `json:"nodeCPUs"`
	NodePrice   float64 `json:"nodePrice,omitempty"` // the price of a node per hour; 0: unknown
	Currency    string  `json:"currency,omitempty"`
	Utilisation float64 `json:"utilisation"`
	Confidence  float64 `json:"confidence"` // the confidence of every interval
	Finished    bool    `json:"finished"`
	// Observation is the reason why the run is observational; nil: it is an experiment.
	Observation *analysis.Observation `json:"observation,omitempty"`
	Bills       []Bill                `json:"bills"`
	Plan        *experiment.Plan      `json:"-"`
}

// basis is the kind of metric that a bill is computed from.
type basis string

const (
	CPU      basis = "cpu"      // CPU time per unit of work
	Capacity basis = "capacity" // the highest rate that an arm reached
)

// Bill lists the needs of all arms, computed from one metric.
type Bill struct {
	Basis  basis             `json:"basis"`
	Cell   string            `json:"cell"`
	Metric experiment.Metric `json:"metric"`
	Arms   []Arm             `json:"arms"` // the baseline first, without the control
}

// Arm is the need of one arm.
type Arm struct {
	Arm    string `json:"arm"`
	Rounds int    `json:"rounds"` // the number of rounds, or of values in independent samples
	// Level is the typical value of the metric, in the metric's unit.
	Level analysis.Interval `json:"level"`
	Needs
	// More is the arm's need beyond the baseline's need; nil for the baseline, and if no round has both arms.
	More *more `json:"more,omitempty"`
}

// more is the difference of an arm's need from the baseline's need, in cores and nodes; negative if the arm needs less.
type more struct {
	Needs
	Verdict analysis.Verdict `json:"verdict"` // the verdict on the metric
	Grade   analysis.Grade   `json:"grade,omitempty"`
}

// Needs are the cores and nodes that an arm needs. Whole is Nodes rounded up. In a More, each number is the arm's minus
// the baseline's: Whole is a difference of rounded numbers.
type Needs struct {
	Cores     analysis.Interval `json:"cores"` // the cores of the nodes, including those that must stay idle
	Nodes     analysis.Interval `json:"nodes"`
	Whole     analysis.Interval `json:"wholeNodes"`
	PointOnly bool              `json:"pointOnly,omitempty"` // set if the values allow no interval; both bounds then are the point
}

// PerHour returns the price of nodes per hour.
func (r *Result) PerHour(nodes analysis.Interval) analysis.Interval {
	return scaled(nodes, r.NodePrice)
}

// PerMonth returns the price of nodes per month.
func (r *Result) PerMonth(nodes analysis.Interval) analysis.Interval {
	return scaled(nodes, r.NodePrice*hoursPerMonth)
}

// Of computes how many cores and nodes each arm needs for the rate in the options. The control and arms without values
// are left out. The error is an *Error if the run lacks the metric or the options are wrong, and ErrNoVerdicts if the
// run gives no verdicts.
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
	r := &Result{Schema: Schema, Plan: run.Plan, Directory: run.Directory, Experiment: run.Plan.Name, Unit: chosen[0].unit, NodeCPUs: o.NodeCPUs,
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

type worker struct {
	*Result
	run    *analysis.Run
	values *analysis.Values
	rules  contrast.Rules
}

// bill returns the needs of all arms, computed from one metric. It returns false if the baseline has no value
// of the metric.
func (w *worker) bill(s source) (Bill, bool) {
	b := Bill{Basis: s.basis, Cell: s.Cell, Metric: s.Metric}
	base := w.run.Plan.ArmWith(experiment.Baseline)
	for _, a := range w.run.Plan.Arms {
		if a.Role == experiment.Control {
			continue
		}
		d := w.values.Between(s.Cell, base, a.Name, s.Metric)
		nodes := w.nodes(s, d.Treated, positionEffects(d, 0))
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

// positionEffects returns how positions in the round affect the values of the treatment (side = 0) or baseline (side =
// 1); nil: no effects.
func positionEffects(d contrast.Data, side int) (effects []float64) {
	return lists.Map(d.PositionEffects, func(p [3]float64) float64 { return p[side] })
}

// nodes converts each measured value to a number of nodes. It first removes the effect of the position within a round.
func (w *worker) nodes(s source, values, effects []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		if effects != nil {
			v *= math.Exp(-effects[i])
		}
		if s.basis == Capacity {
			list[i] = w.Rate / (s.units * v * w.Utilisation)
		} else {
			list[i] = w.Rate * v / (w.NodeCPUs * w.Utilisation)
		}
	}
	return list
}

// level returns the values of the metric at which an arm would need the given numbers of nodes.
func (w *worker) level(s source, nodes analysis.Interval) analysis.Interval {
	back := func(n float64) float64 {
		if s.basis == Capacity {
			return contrast.Finite(w.Rate / (s.units * n * w.Utilisation))
		}
		return contrast.Finite(n * w.NodeCPUs * w.Utilisation / w.Rate)
	}
	return analysis.Interval(stats.Interval(nodes).Map(back))
}

// typical estimates the typical number of nodes on logarithms, by Rules.Level: drift does not cancel in one arm. ok is
// false for a mere median.
func (w *worker) typical(d contrast.Data, nodes []float64) (at analysis.Interval, ok bool) {
	logs := lists.Map(nodes, math.Log)
	e := w.rules.Level(&contrast.Data{Metric: experiment.Metric{Scale: experiment.Difference}, Paired: true, Contrasts: logs,
		Rounds: d.Rounds, SetUps: d.SetUps, Pilot: d.Pilot})
	if !e.Main.OK {
		return point(math.Exp(stats.Median(logs))), false
	}
	return analysis.Interval(e.Main.At.Map(math.Exp)), true
}

// more returns how many more cores and nodes an arm needs than the baseline. For paired trials, this difference is
// estimated within rounds.
func (w *worker) more(s source, arm string, d contrast.Data, nodes []float64, base Arm) *more {
	based := w.nodes(s, d.Baseline, positionEffects(d, 1))
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
	m := &more{Needs: w.needs(at, !ok), Verdict: analysis.NotResolved}
	whole := func(n float64) float64 { return up(base.Nodes.Point+n) - base.Whole.Point }
	m.Whole = analysis.Interval(stats.Interval(at).Map(whole))
	if c := w.run.Comparison(s.Cell, arm, s.Metric.Name); c != nil {
		m.Verdict, m.Grade = c.Verdict, c.Grade
	}
	return m
}

func (w *worker) needs(nodes analysis.Interval, pointOnly bool) Needs {
	return Needs{Nodes: scaled(nodes, 1), Cores: scaled(nodes, w.NodeCPUs), PointOnly: pointOnly,
		Whole: analysis.Interval(stats.Interval(nodes).Map(up))}
}

// up rounds a number of nodes up to a whole number. A number that exceeds a whole number only by a rounding error is
// rounded down.
func up(nodes float64) float64 { return contrast.Finite(math.Ceil(nodes * (1 - 1e-12))) }

func point(v float64) analysis.Interval { return analysis.Interval{Point: v, Lo: v, Hi: v} }

func scaled(i analysis.Interval, by float64) analysis.Interval {
	return analysis.Interval(stats.Interval(i).Map(func(v float64) float64 { return contrast.Finite(v * by) }))
}
