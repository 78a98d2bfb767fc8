package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/stats"
)

// If a layer's factor counts something, such as filter rules, each level is an arm. The cost of the arms then has three
// parts:
//
//	cost(N) = installed + any, if N > 0 + each × N
//
// "Installed" is the cost of the layer without rules. "Any" is the cost of having rules at all. "Each" is the cost of
// one more rule.
//
// The parts are estimated within rounds (fits.go). A level's cost is its difference from the round's baseline. A
// least-squares line through the costs of all levels above zero gives each part's value in the round. For ratio
// metrics, the value is divided by the round's baseline.

// Breakdown is the division of an arm's cost into parts, for one metric in one cell.
type Breakdown struct {
	Cell    string            `json:"cell"`           // ID of the cell
	Arm     string            `json:"arm"`            // name of the arm in the experiment file: "seccomp" for seccomp[rules=8] and seccomp[rules=64]
	Factor  string            `json:"factor"`         // name of the factor, such as "rules"
	Held    []factor.Level    `json:"held,omitempty"` // levels of the other factors
	Metric  experiment.Metric `json:"metric"`
	Arms    []string          `json:"arms"`              // one arm per level, in ascending order
	X       []float64         `json:"x"`                 // the levels
	LeftOut []string          `json:"leftOut,omitempty"` // levels that are not numbers
	Rounds  []int             `json:"rounds"`            // rounds that have a value of the baseline and of every level
	Family  int               `json:"family"`            // number of parts on headline metrics; Holm's correction covers these parts together
	Parts   []Part            `json:"parts"`
	// Line holds the cost that the fit gives for each level above zero, on the scale of the overheads.
	Line []Interval `json:"line"`
	Miss *Miss      `json:"miss,omitempty"` // the level whose cost fits the line worst (smallest p-value); nil: too few levels or rounds
}

// Part is one part of a cost, such as the cost of one more rule. Its overhead is a share of the baseline or, for a
// Difference metric, an amount in the metric's unit.
type Part struct {
	Comparison
	Part PartName `json:"part"`
	// Amount is this part of the cost in the metric's unit; negative is a gain. It is nil if the overhead already has
	// the metric's unit.
	Amount *Interval `json:"amount,omitempty"`
}

// PartName names a part of a cost.
type PartName string

// The parts.
const (
	Installed PartName = "installed" // cost of the layer with level 0, compared with the baseline
	AnyPart   PartName = "any"       // height of the line at zero, minus the cost of level 0 if there is such a level
	EachPart  PartName = "each"      // cost of one more counted thing, such as a filter rule
)

// Miss tells how badly a line fits: the level whose cost is least plausible (smallest p-value) on a line through the
// other levels, and its distance.
type Miss struct {
	X    float64  `json:"x"`              // the level
	By   Interval `json:"by"`             // distance of the level's cost from the line, as an overhead; positive: cost above the line
	Off  float64  `json:"off"`            // the distance, divided by the range of the costs at levels above zero
	P    float64  `json:"p"`              // p-value of "the costs lie on a line": smallest of the levels, corrected for their number
	Poor bool     `json:"poor"`           // the line fits poorly: P is 0.01 or less, and Off is 5 % or more
	Bend string   `json:"bend,omitempty"` // how the costs bend away from the line as levels grow, "steeper" or "flatter"; "": neither
}

// mostFirst is the largest allowed value of the lowest level above zero. A line is extrapolated from this level down to
// zero.
const mostFirst = 10

// counts reports whether the levels count something, such as filter rules.
func (s *sweep) counts() bool {
	fraction := func(x float64) bool { return x != math.Trunc(x) }
	return s.unit == "" && s.x[0] >= 0 && !slices.ContainsFunc(s.x, fraction) && s.x[s.first()] <= mostFirst
}

// first returns the index of the first level above zero.
func (s *sweep) first() int {
	if s.x[0] == 0 {
		return 1
	}
	return 0
}

func (x explainer) breakdowns(run *Run, j *judgement) (list []Breakdown) {
	t, base := x.table, role(x.plan, experiment.Baseline)
	if base < 0 || !x.plan.Paired() {
		return nil
	}
	var all []*costFit
	var asked []*hypothesis
	for _, s := range armSweeps(x.plan) {
		if !s.counts() {
			continue
		}
		for c, cell := range x.plan.Cells {
			for _, m := range cell.Metrics {
				if f := t.costs(c, s, base, m); len(f.rounds) > 0 {
					f.parts = []*hypothesis{f.newHypothesis(t, j, AnyPart), f.newHypothesis(t, j, EachPart)}
					all, asked = append(all, f), append(asked, f.parts...)
				}
			}
		}
	}
	decide(asked, nil, j.Rules)
	family, unfinished := claims(asked), t.unfinished()
	for _, f := range all {
		b := x.breakdown(f, run, unfinished)
		b.Family = family
		list = append(list, b)
	}
	return list
}

func (x explainer) breakdown(f *costFit, run *Run, unfinished map[[2]string]Reason) Breakdown {
	b := Breakdown{Cell: x.plan.Cells[f.cell].ID, Arm: f.of, Factor: f.factor, Held: f.held, Metric: f.metric, X: f.x, LeftOut: f.leftOut, Rounds: f.rounds}
	for _, a := range f.indices {
		b.Arms = append(b.Arms, x.plan.Arms[a].Name)
	}
	add := func(name PartName, c Comparison, values []float64) {
		p := Part{Comparison: c, Part: name}
		if f.ratio() {
			p.Amount = new(f.located(values).Interval)
		}
		b.Parts = append(b.Parts, p)
	}
	if f.first() == 1 {
		if c := run.Comparison(b.Cell, b.Arms[0], f.metric.Name); c != nil {
			add(Installed, *c, f.each(func(i int) float64 { return f.from[i].values[0] }))
		}
	}
	for k, name := range []PartName{AnyPart, EachPart} {
		c := x.together(f.parts[k], run, f.indices, unfinished, func(c *Comparison) { c.Floor /= f.per(name) })
		add(name, c, f.amounts(name))
	}
	for _, level := range f.x[f.first():] {
		b.Line = append(b.Line, f.located(f.scaled(f.heights(level))).Interval)
	}
	b.Miss = f.miss(x.Confidence)
	return b
}

// costFit holds a line per round through a sweep's costs at levels above zero. A cost is the difference from the
// baseline, in the metric's unit.
type costFit struct {
	sweep
	*roundFits // one fit per round; a round's values are the cost of each level (positive: a cost) and, last, the baseline's value
	cell, base int
	metric     experiment.Metric
	failed     [][]bool // for each round without a value: which levels' programs failed; the baseline is last
	parts      []*hypothesis
}

// costs fits the costs of a sweep's arms in a cell. It first removes the effects of the trials' positions within the
// round.
func (t *table) costs(c int, s sweep, base int, m experiment.Metric) *costFit {
	f := &costFit{sweep: s, cell: c, base: base, metric: m}
	list := t.completeRounds([]int{c}, append(slices.Clip(s.indices), base), m, func(who []bool) { f.failed = append(f.failed, slices.Clone(who)) })
	effects, last := t.orderEffects(c, m), len(s.indices)
	for _, r := range list {
		for k, trial := range r.trials {
			r.values[k] *= math.Exp(-effects.of(trial))
		}
		for k, v := range r.values[:last] {
			if r.values[k] = v - r.values[last]; m.Better == experiment.Higher {
				r.values[k] = r.values[last] - v
			}
		}
	}
	f.roundFits = t.fitRounds(list, s.first(), stats.Points(s.x[s.first():]))
	return f
}

func (f *costFit) ratio() bool { return f.metric.Scale != experiment.Difference }

func (f *costFit) amounts(p PartName) []float64 {
	return f.each(func(i int) float64 { return f.amount(p, f.from[i].values, f.fits[i]) })
}

func (f *costFit) amount(p PartName, costs []float64, line stats.Plane) float64 {
	switch {
	case p == EachPart:
		return line.Slopes[0]
	case f.first() == 1:
		return line.Intercept - costs[0]
	}
	return line.Intercept
}

// missing counts rounds with failed programs. A failure counts for the arm if a higher cost at its level makes part p
// larger, for the baseline if smaller.
func (f *costFit) missing(p PartName) (n contrast.Missing) {
	weights, all := make([]float64, len(f.x)+1), 0.0
	for k := range f.x {
		costs := make([]float64, len(f.x))
		costs[k] = 1
		line, _ := stats.FitLine(f.x[f.first():], costs[f.first():]) // no error: FitLine has fitted lines through the same levels in other rounds
		weights[k] = f.amount(p, costs, line)
		all += weights[k]
	}
	weights[len(f.x)] = -all
	for _, failed := range f.failed {
		more, less := false, false
		for k, broke := range failed {
			more, less = more || broke && weights[k] > negligible, less || broke && weights[k] < -negligible
		}
		n.Add(less || !more, more || !less) // if no failed level has an effect on the estimate, the round counts as failed for both arms
	}
	return n
}

// negligible is the limit below which a weight differs from 0 only by rounding.
const negligible = 1e-9

// scaled converts costs to the scale of overheads. For a ratio metric, a cost becomes a share of the baseline's value
// in the same round.
func (f *costFit) scaled(amounts []float64) []float64 {
	if !f.ratio() {
		return amounts
	}
	return f.each(func(i int) float64 { return contrast.Finite(amounts[i] / f.from[i].values[len(f.indices)]) })
}

// per returns the divisor that turns a bound on the cost at the highest level into a bound on one part: that level for
// EachPart, otherwise 1.
func (f *costFit) per(p PartName) float64 {
	if p == EachPart {
		return f.x[len(f.x)-1]
	}
	return 1
}

// largestShare is the largest gain of one part, as a share of the baseline. A gain of 1 would leave a cost of zero,
// which has no logarithm.
const largestShare = 1 - 1e-6

// newHypothesis creates the hypothesis on the cost of one part. The plan's margin is for all counted things, so
// EachPart gets it divided by the highest level.
func (f *costFit) newHypothesis(t *table, j *judgement, p PartName) *hypothesis {
	m, last := f.metric, f.indices[len(f.indices)-1]
	d := f.data(m, f.scaled(f.amounts(p)))
	d.Means, d.Moved, d.Missing, d.Margin = !f.ratio(), make([]int, len(f.rounds)), f.missing(p), t.margin(f.cell, m)
	if f.ratio() {
		for i, share := range d.Contrasts {
			bounded := max(share, -largestShare)
			if m.Better == experiment.Higher {
				bounded = min(share, largestShare)
			}
			d.Contrasts[i] = contrast.FromOverhead(bounded, m)
		}
		d.Margin = math.Log1p(math.Expm1(j.MarginOf(&d)) / f.per(p))
	} else {
		d.Margin /= f.per(p)
	}
	h := j.newJointHypothesis(t, f.cell, last, f.base, f.of, d)
	h.unplanned = true
	h.bias /= f.per(p)
	return h
}

// miss returns the level that fits worst; nil: too few levels or rounds. A distance is residual ÷ (1 − leverage) (Cook
// and Weisberg 1982, section 2.2).
func (f *costFit) miss(confidence float64) *Miss {
	x := f.x[f.first():]
	if len(x) < leastLevels || len(f.rounds) < 2 {
		return nil
	}
	average := func(x []float64) float64 { return floats.Sum(x) / float64(len(x)) }
	found := &Miss{X: x[len(x)-1], P: 1}
	mean, squares := stats.Mean(x), 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	least, left := math.Inf(1), make([]float64, len(x))
	low, high := math.Inf(1), math.Inf(-1)
	for k := len(x) - 1; k >= 0; k-- { // from the highest level down: if p-values are equal, the highest level is reported
		weight := 1/float64(len(x)) + (x[k]-mean)*(x[k]-mean)/squares
		residuals := stats.Mapped(f.residuals(k), func(v float64) float64 { return v / (1 - weight) })
		by := f.units(f.scaled(residuals))
		cost := average(f.scaled(f.each(func(i int) float64 { return f.value(i, k) })))
		low, high = min(low, cost), max(high, cost)
		left[k] = average(by) * (1 - weight)
		p := residualP(by)
		if p >= least*(1-1e-6) {
			continue
		}
		least = p
		found.X, found.P = x[k], min(1, p*float64(independentTests(len(x))))
		if e, err := stats.PairedT(by, confidence); err == nil {
			found.By = finite(e.Interval)
		} else { // values that are all equal give a mean without an interval
			found.By = pointOnly(average(by))
		}
	}
	if high > low {
		found.Off = contrast.Finite(math.Abs(found.By.Point) / (high - low))
	}
	if found.Poor = poor(found.P, found.Off); found.Poor {
		found.Bend = bend(x, left)
	}
	return found
}
