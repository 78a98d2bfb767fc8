package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/experiment/factor"
	"tare/stats"
)

// Where a layer has a factor that counts something, such as rules, each level is an arm. What
// the arms cost is then made of three parts:
//
//	cost(N) = installed + any, if N > 0 + each × N
//
// Installed is what the layer costs with none, any what the first brings whatever their number
// (a hook that now has work to do), each the slope.
//
// The parts are found within rounds (fits.go): the costs of the levels, which are their differences to the baseline
// of the round, give a line by least squares, and with it one value of each part. Of ratio metrics each is divided by
// the same baseline. Any and each are sums of the arms' values with weights that add up to nothing, where there is a level 0:
// what a round has in common, the baseline included, cancels.

// Breakdown says of what the cost of an arm is made, for one metric in one cell.
type Breakdown struct {
	Cell    string            `json:"cell"`           // its ID
	Arm     string            `json:"arm"`            // as the file has it: "seccomp" for seccomp[rules=8] and its like
	Factor  string            `json:"factor"`         // "rules"
	Held    []factor.Level    `json:"held,omitempty"` // the other factors
	Metric  experiment.Metric `json:"metric"`
	Arms    []string          `json:"arms"`              // by level, in ascending order
	X       []float64         `json:"x"`                 // the levels
	LeftOut []string          `json:"leftOut,omitempty"` // levels that are no numbers
	Rounds  []int             `json:"rounds"`            // those with a value of the baseline and of every level
	Family  int               `json:"family"`            // parts on headline metrics of the run, which Holm's correction takes together
	Parts   []Part            `json:"parts"`
	// Line is the line's height at each level above zero, on the scale of the overheads.
	Line []Interval `json:"line"`
	Miss *Miss      `json:"miss,omitempty"` // nil: too few levels to doubt that it is a line
}

// Part is one part of a cost, in the form of a comparison: its overhead is a share of the
// baseline, or for a Difference metric in the metric's unit.
type Part struct {
	Comparison
	Part PartName `json:"part"`
	// Amount is the same in the metric's unit, a plus is a cost; nil where the overhead is that.
	Amount *Interval `json:"amount,omitempty"`
}

// PartName names a part of a cost.
type PartName string

// The parts.
const (
	Installed PartName = "installed" // level 0 against the baseline: that comparison itself
	AnyPart   PartName = "any"       // from none to any, whatever the number; without a level 0 from the baseline
	EachPart  PartName = "each"      // one more
)

// Miss says how far the cost at one level lies from the line through the other levels: at
// that one where it is the least likely by chance.
type Miss struct {
	X    float64  `json:"x"`              // that level
	By   Interval `json:"by"`             // on the scale of the overheads; a plus: it costs more than the line says
	Off  float64  `json:"off"`            // as a share of what the costs rise by over the levels above zero
	P    float64  `json:"p"`              // that the costs lie on a line; t tests of what is left at each level, corrected for their number
	Poor bool     `json:"poor"`           // by more than chance and by more than a little
	Bend string   `json:"bend,omitempty"` // which way costs leave the line, where they do: "steeper" or "flatter" towards higher levels
}

// mostFirst is the largest count at which levels above zero may begin: the line is
// followed from there down to none.
const mostFirst = 10

// counts says whether the levels count something.
func (s *sweep) counts() bool {
	fraction := func(x float64) bool { return x != math.Trunc(x) }
	return s.unit == "" && s.x[0] >= 0 && !slices.ContainsFunc(s.x, fraction) && s.x[s.first()] <= mostFirst
}

// first is the index of the first level above zero.
func (s *sweep) first() int {
	if s.x[0] == 0 {
		return 1
	}
	return 0
}

// breakdowns are those of all arms whose layers have a factor that counts something.
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
					f.parts = []*hypothesis{f.ask(t, j, AnyPart), f.ask(t, j, EachPart)}
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

// breakdown puts what was judged into the form of the result, and explains it.
func (x explainer) breakdown(f *costFit, run *Run, unfinished map[[2]string]Reason) Breakdown {
	b := Breakdown{Cell: x.plan.Cells[f.cell].ID, Arm: f.of, Factor: f.factor, Held: f.held, Metric: f.metric, X: f.x, LeftOut: f.leftOut, Rounds: f.rounds}
	for _, a := range f.indices {
		b.Arms = append(b.Arms, x.plan.Arms[a].Name)
	}
	add := func(name PartName, c Comparison, values []float64) {
		p := Part{Comparison: c, Part: name}
		if f.ratio() {
			at := f.located(values).Interval
			p.Amount = &at
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

// costFit is the lines of what the arms of a sweep cost above the baseline, in the metric's unit: through
// the levels above zero, by round.
type costFit struct {
	sweep
	*roundFits // from rounds whose values are costs by level, positive ones, and last the baseline's value
	cell, base int
	metric     experiment.Metric
	failed     [][]bool // of rounds that lack a value since a program failed: at which levels, and last whether in the baseline
	parts      []*hypothesis
}

// costs fits the costs of the arms of a sweep in a cell. What a trial's place within the
// round does is taken away, as it is from pairs.
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
	above := s.x[s.first():]
	f.roundFits = t.fitRounds(list, s.first(), points(above), lineAt(above))
	return f
}

// ratio says whether costs are told as shares of the baseline.
func (f *costFit) ratio() bool { return f.metric.Scale != experiment.Difference }

// amounts are a part's values by round, in the metric's unit.
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

// missing counts the rounds in which programs failed by what that does to a part: more cost at
// one level makes it larger, at another one smaller.
func (f *costFit) missing(p PartName) (n contrast.Missing) {
	weights, all := make([]float64, len(f.x)+1), 0.0
	for k := range f.x {
		costs := make([]float64, len(f.x))
		costs[k] = 1
		line, _ := stats.FitLine(f.x[f.first():], costs[f.first():]) // as it did with the values
		weights[k] = f.amount(p, costs, line)
		all += weights[k]
	}
	weights[len(f.x)] = -all
	for _, failed := range f.failed {
		more, less := false, false
		for k, broke := range failed {
			more, less = more || broke && weights[k] > negligible, less || broke && weights[k] < -negligible
		}
		n.Add(less || !more, more || !less) // the slope is the same whatever the baseline is
	}
	return n
}

// negligible is a weight of no value, but for rounding.
const negligible = 1e-9

// scaled gives costs on the scale of overheads: of a ratio metric, as shares of the round's baseline.
func (f *costFit) scaled(amounts []float64) []float64 {
	if !f.ratio() {
		return amounts
	}
	return f.each(func(i int) float64 { return contrast.Finite(amounts[i] / f.from[i].values[len(f.indices)]) })
}

// per is by what a bound on the cost of all is divided to be one on a part's: so many as there
// are at most add to each other.
func (f *costFit) per(p PartName) float64 {
	if p == EachPart {
		return f.x[len(f.x)-1]
	}
	return 1
}

// largestShare bounds what a part may be of the baseline, where less than nothing is left of it.
const largestShare = 1 - 1e-6

// ask makes the hypothesis on a part. Of each, all together are to lie within the margin of equivalence.
func (f *costFit) ask(t *table, j *judgement, p PartName) *hypothesis {
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
	h := j.askTogether(t, f.cell, last, f.base, f.of, d)
	h.unplanned = true
	h.bias /= f.per(p)
	return h
}

// miss looks at how far each level lies from the line through the others; nil where
// these are too few to make a line that could miss it. What a line leaves at a level, over one less the weight
// of that level's value in its own place on the line, is the distance from the line through the other
// levels (Cook and Weisberg 1982, section 2.2): one test serves both.
func (f *costFit) miss(confidence float64) *Miss {
	x := f.x[f.first():]
	if len(x) < leastLevels || len(f.rounds) < 2 {
		return nil
	}
	found := &Miss{X: x[len(x)-1], P: 1}
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	least, left := math.Inf(1), make([]float64, len(x))
	low, high := math.Inf(1), math.Inf(-1)
	for k := len(x) - 1; k >= 0; k-- { // of levels that say the same, the highest
		weight := 1/float64(len(x)) + (x[k]-mean)*(x[k]-mean)/squares
		residuals := f.residuals(k)
		for i := range residuals {
			residuals[i] /= 1 - weight
		}
		by := f.units(f.scaled(residuals))
		cost := stat.Mean(f.scaled(f.each(func(i int) float64 { return f.value(i, k) })), nil)
		low, high = min(low, cost), max(high, cost)
		left[k] = stat.Mean(by, nil) * (1 - weight)
		p := nothingLeft(by)
		if p >= least*(1-1e-6) {
			continue
		}
		least = p
		found.X, found.P = x[k], min(1, p*float64(independent(len(x))))
		found.By = meanOf(by, confidence)
	}
	if high > low {
		found.Off = contrast.Finite(math.Abs(found.By.Point) / (high - low))
	}
	if found.Poor = poor(found.P, found.Off); found.Poor {
		found.Bend = bend(x, left)
	}
	return found
}

// meanOf is a mean with its t interval, and the mean alone where values do not vary.
func meanOf(values []float64, confidence float64) Interval {
	e, err := stats.PairedT(values, confidence)
	if err != nil {
		return pointOnly(stat.Mean(values, nil))
	}
	return finite(e.Interval)
}
