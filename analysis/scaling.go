package analysis

import (
	"math"
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/experiment/factor"
	"tare/stats"
)

// Where the cells of a workload differ in one factor whose levels are numbers,
// the question is not only what an arm costs at each of them, but how the cost
// grows: so many bytes for each object, so much time for each rule. That is the
// slope of a line through the levels.
//
// The line is fitted anew in each round. A round is what drifts together, so that
// the slopes of rounds, and the differences between an arm's slope and the
// baseline's in the same round, are independent values with noise of their own;
// their intervals come from the same estimators as every other one. One line
// through the points of all rounds would count as noise what a round has in
// common, and as information what its points do not tell anew.

// leastLevels is the number of levels from which a line can be doubted, and from
// which levels make a curve.
const leastLevels = 3

// Scaling is how one metric of a workload grows with a factor of its cells: the
// levels, at which the cells' own series and comparisons stand, and lines through
// them. A headline metric has one with or without lines.
type Scaling struct {
	Workload string            `json:"workload"`           // whose cells these are
	Factor   string            `json:"factor"`             // whose levels are numbers: "objects"
	Held     []factor.Level    `json:"held,omitempty"`     // the other factors
	Cells    []string          `json:"cells"`              // by level, in ascending order
	X        []float64         `json:"x"`                  // the levels, in Unit
	Unit     string            `json:"unit,omitempty"`     // of the levels; "" for a number of things
	LeftOut  []string          `json:"leftOut,omitempty"`  // levels that are no numbers, such as "max"
	Baseline string            `json:"baseline,omitempty"` // name of the arm that the others are compared with
	Metric   experiment.Metric `json:"metric"`
	Arms     []ScalingArm      `json:"arms"` // in the plan's order; those with a value at every level in some round, so none where trials are no pairs
}

// ScalingArm is the line of one arm. Slopes are in the metric's unit per unit of
// the factor, with the metric's own sign: no overheads.
type ScalingArm struct {
	Arm       string     `json:"arm"`    // name
	Rounds    []int      `json:"rounds"` // those with a value at every level
	Slopes    []float64  `json:"slopes"` // one per round
	Slope     Interval   `json:"slope"`
	PointOnly bool       `json:"pointOnly,omitempty"` // Slope and Line are points without intervals: the values allow none
	Method    string     `json:"method"`              // of the interval of the slope, as in comparisons
	Base      *Interval  `json:"base,omitempty"`      // height of the line at none, where levels are a number of things or a rate; nil: elsewhere
	Line      []Interval `json:"line"`                // height of the line at each level
	Means     []float64  `json:"means"`               // of the values at each level, in these rounds
	Fit       Fit        `json:"fit"`
	// Difference is the arm's slope less the baseline's, in the rounds that both
	// have; nil for the baseline, and where there is no such round.
	Difference *RoundValue `json:"difference,omitempty"`
	// BaseDifference is the same of Base.
	BaseDifference *RoundValue `json:"baseDifference,omitempty"`
}

// RoundValue is where a number lies that each round has a value of, as the difference of two slopes.
type RoundValue struct {
	Interval
	Rounds    int     `json:"rounds"`              // that have one
	PointOnly bool    `json:"pointOnly,omitempty"` // the values allow no interval
	P         float64 `json:"p"`                   // two-sided, that it is 0; not corrected for the number of lines
	Method    string  `json:"method"`              // of the interval
}

func scalings(t *table) []Scaling {
	var list []Scaling
	for _, l := range ladders(t.plan) {
		for _, m := range l.metrics(t.plan) {
			s := Scaling{Workload: t.plan.Cells[l.steps[0]].Workload, Factor: l.factor, Held: l.held, X: l.x, Unit: l.unit,
				LeftOut: l.leftOut, Metric: m, Baseline: t.plan.ArmWith(experiment.Baseline), Arms: []ScalingArm{}}
			for _, c := range l.steps {
				s.Cells = append(s.Cells, t.plan.Cells[c].ID)
			}
			if t.plan.Paired() && l.everywhere(t.plan, m) {
				s.Arms = append(s.Arms, t.lines(l, m)...)
			}
			if len(s.Arms) > 0 || m.Headline && t.measured(l, m) >= leastLevels-1 {
				list = append(list, s)
			}
		}
	}
	return list
}

// measured is at how many levels there is any value of a metric.
func (t *table) measured(l ladder, m experiment.Metric) (levels int) {
	for _, c := range l.steps {
		if own := t.plan.Cells[c].Metric(m.Name); own == nil || own.Unit != m.Unit || own.Scale != m.Scale {
			continue
		}
		for a := range t.plan.Arms {
			if len(t.sample(c, a, m)) > 0 {
				levels++
				break
			}
		}
	}
	return levels
}

// metrics are those of a ladder's cells, each once.
func (l *ladder) metrics(plan *experiment.Plan) []experiment.Metric {
	var list []experiment.Metric
	for _, c := range l.steps {
		for _, m := range plan.Cells[c].Metrics {
			if !slices.ContainsFunc(list, func(known experiment.Metric) bool { return known.Name == m.Name }) {
				list = append(list, m)
			}
		}
	}
	return list
}

func (l *ladder) everywhere(plan *experiment.Plan, m experiment.Metric) bool {
	return !slices.ContainsFunc(l.steps, func(c int) bool {
		own := plan.Cells[c].Metric(m.Name)
		return own == nil || own.Unit != m.Unit || own.Scale != m.Scale
	})
}

func (t *table) lines(l ladder, m experiment.Metric) []ScalingArm {
	base := role(t.plan, experiment.Baseline)
	var list []ScalingArm
	var baseline *climbing
	for a, arm := range t.plan.Arms {
		c := t.climbs(l, a, m)
		if a == base {
			baseline = &c
		}
		if len(c.rounds) == 0 {
			continue
		}
		s := c.describe(t.plan, l)
		s.Arm = arm.Name
		if a != base && baseline != nil && !slices.ContainsFunc(l.steps, func(c int) bool { return t.unlike(c, a, base) != nil }) {
			s.Difference = c.beyond(t.plan, *baseline, func(l stats.Line) float64 { return l.Slope })
			if s.Base != nil {
				s.BaseDifference = c.beyond(t.plan, *baseline, func(l stats.Line) float64 { return l.Intercept })
			}
		}
		list = append(list, s)
	}
	return list
}

// climbing is the values of one arm at all levels, in the rounds that have them.
type climbing struct {
	wholeRounds
	values [][]float64 // by round and level
	lines  []stats.Line
}

// climbs collects the values of an arm and fits a line to each round.
func (t *table) climbs(l ladder, arm int, m experiment.Metric) (c climbing) {
	c.wholeRounds = t.whole(l.steps, arm, m, func(y []float64) bool {
		line, err := stats.FitLine(l.x, y)
		if err != nil || !moderate(line.Slope) || !moderate(line.Intercept) {
			return false
		}
		c.values, c.lines = append(c.values, y), append(c.lines, line)
		return true
	})
	return c
}

// wholeRounds are the rounds that have a value of all that something is fitted to.
type wholeRounds struct {
	rounds []int
	setUps []int // by round; nil: no two share one
}

// whole collects the rounds in which an arm has a value in each of some cells, if these values can be fitted.
func (t *table) whole(cells []int, arm int, m experiment.Metric, fit func(values []float64) bool) (w wholeRounds) {
	for _, round := range t.rounds {
		y, setUp := make([]float64, 0, len(cells)), 0
		for _, cell := range cells {
			if at, there := slices.BinarySearch(t.at[cell], round); there {
				s := &t.slots[cell][arm][at]
				if v, ok := value(s.valid, m); ok {
					y, setUp = append(y, v), s.valid.SetUp
				}
			}
		}
		if len(y) == len(cells) && fit(y) {
			w.rounds, w.setUps = append(w.rounds, round), append(w.setUps, setUp)
		}
	}
	w.setUps = t.sharedSetUps(w.setUps)
	return w
}

// each gives something for each round.
func (w *wholeRounds) each(of func(i int) float64) []float64 {
	values := make([]float64, len(w.rounds))
	for i := range values {
		values[i] = of(i)
	}
	return values
}

// moderate says whether a number can be squared and summed.
func moderate(v float64) bool { return math.Abs(v) < 1e150 } // false for NaN

func (c *climbing) describe(plan *experiment.Plan, l ladder) ScalingArm {
	s := ScalingArm{Rounds: c.rounds, Slopes: c.each(func(i int) float64 { return c.lines[i].Slope })}
	slope := c.levelled(plan, s.Slopes)
	s.Slope, s.Method, s.PointOnly = slope.Interval, slope.Method, slope.PointOnly
	height := func(x float64) Interval {
		return c.levelled(plan, c.each(func(i int) float64 { return c.lines[i].At(x) })).Interval
	}
	for k, x := range l.x {
		sum := 0.0
		for i := range c.lines {
			sum += c.values[i][k] / float64(len(c.lines))
		}
		s.Line, s.Means = append(s.Line, height(x)), append(s.Means, contrast.Finite(sum))
	}
	if l.unit == "" || l.unit == "1/s" {
		base := height(0)
		s.Base = &base
	}
	s.Fit = c.fit(l, s.Means)
	return s
}

// beyond compares something of the lines of an arm with the baseline's, round by round.
func (c *climbing) beyond(plan *experiment.Plan, base climbing, of func(stats.Line) float64) *RoundValue {
	var both wholeRounds
	var differences []float64
	for i, round := range c.rounds {
		if k, there := slices.BinarySearch(base.rounds, round); there {
			both.rounds = append(both.rounds, round)
			differences = append(differences, of(c.lines[i])-of(base.lines[k]))
			if c.setUps != nil {
				both.setUps = append(both.setUps, c.setUps[i])
			}
		}
	}
	if len(both.rounds) == 0 {
		return nil
	}
	d := both.located(plan, differences)
	return &d
}

// located estimates where values of one per round lie, as everywhere else; where rounds
// share set-ups, these are the unit. Where the values allow no interval, it gives their middle.
func (w *wholeRounds) located(plan *experiment.Plan, values []float64) RoundValue {
	return w.estimated(plan, values, contrast.Rules.Estimate)
}

// levelled is the same for values of one arm, in which the machine's drift does not cancel.
func (w *wholeRounds) levelled(plan *experiment.Plan, values []float64) RoundValue {
	return w.estimated(plan, values, contrast.Rules.Level)
}

func (w *wholeRounds) estimated(plan *experiment.Plan, values []float64, by func(contrast.Rules, *contrast.Data) contrast.Estimate) RoundValue {
	d := contrast.Data{Metric: experiment.Metric{Scale: experiment.Difference}, Paired: true, Uneven: true, Contrasts: values, SetUps: w.setUps}
	for _, round := range w.rounds {
		if round <= plan.Rounds {
			d.Pilot++
		}
	}
	e := by(contrast.RulesOf(plan), &d)
	if !e.Main.OK {
		v := contrast.Finite(stats.Quantile(slices.Sorted(slices.Values(values)), 0.5))
		return RoundValue{Interval: Interval{v, v, v}, Rounds: len(w.rounds), PointOnly: true, P: 1, Method: e.Method}
	}
	i := e.Main.At
	at := Interval{contrast.Finite(i.Point), contrast.Finite(i.Lo), contrast.Finite(i.Hi)}
	return RoundValue{Interval: at, Rounds: len(w.rounds), P: e.Main.P, Method: e.Method}
}
