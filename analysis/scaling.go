package analysis

import (
	"fmt"
	"maps"
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
	Line      []Interval `json:"line"`                // height of the line at each level
	Means     []float64  `json:"means"`               // of the values at each level, in these rounds
	Fit       Fit        `json:"fit"`
	// Difference is the arm's slope less the baseline's, in the rounds that both
	// have; nil for the baseline, and where there is no such round.
	Difference *SlopeDifference `json:"difference,omitempty"`
}

// SlopeDifference is how much steeper an arm's line is than the baseline's.
type SlopeDifference struct {
	Interval
	Rounds    int     `json:"rounds"`              // that both arms have
	PointOnly bool    `json:"pointOnly,omitempty"` // the values allow no interval
	P         float64 `json:"p"`                   // two-sided, of equal slopes; not corrected for the number of lines
	Method    string  `json:"method"`              // of the interval
}

func scalings(t *table) []Scaling {
	var list []Scaling
	for _, l := range ladders(t.plan) {
		for _, m := range l.metrics(t.plan) {
			s := Scaling{Workload: t.plan.Cells[l.cells[0]].Workload, Factor: l.factor, Held: l.held, X: l.x, Unit: l.unit,
				LeftOut: l.leftOut, Metric: m, Baseline: t.plan.ArmWith(experiment.Baseline), Arms: []ScalingArm{}}
			for _, c := range l.cells {
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
	for _, c := range l.cells {
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

// ladder is a set of cells that differ in one factor alone.
type ladder struct {
	factor, unit string
	held         []factor.Level
	cells        []int     // of the plan, by level in ascending order
	x            []float64 // the levels
	leftOut      []string  // levels that are no numbers
}

// metrics are those of the ladder's cells, each once.
func (l *ladder) metrics(plan *experiment.Plan) []experiment.Metric {
	var list []experiment.Metric
	for _, c := range l.cells {
		for _, m := range plan.Cells[c].Metrics {
			if !slices.ContainsFunc(list, func(known experiment.Metric) bool { return known.Name == m.Name }) {
				list = append(list, m)
			}
		}
	}
	return list
}

// ladders finds them, in the order of the plan.
func ladders(plan *experiment.Plan) []ladder {
	type key struct{ workload, factor, held string }
	at := map[key]*ladder{}
	var order []*ladder
	for c, cell := range plan.Cells {
		for k, l := range cell.Levels {
			held := slices.Concat(cell.Levels[:k], cell.Levels[k+1:])
			id := key{cell.Workload, l.Factor, fmt.Sprintf("%q", held)}
			if at[id] == nil {
				at[id] = &ladder{factor: l.Factor, held: held}
				order = append(order, at[id])
			}
			at[id].cells = append(at[id].cells, c)
		}
	}
	var list []ladder
	for _, l := range order {
		if l.climb(plan) {
			list = append(list, *l)
		}
	}
	return list
}

// climb reads the levels as numbers and puts the cells in their order. Levels that
// are words stand apart. It is false where too few are numbers, or one is there twice.
func (l *ladder) climb(plan *experiment.Plan) bool {
	levels := make([]string, len(l.cells))
	for i, c := range l.cells {
		for _, level := range plan.Cells[c].Levels {
			if level.Factor == l.factor {
				levels[i] = level.Value
			}
		}
	}
	x, unit := readLevels(levels)
	at := map[float64]int{} // cells by level
	for i, c := range l.cells {
		if math.IsNaN(x[i]) {
			l.leftOut = append(l.leftOut, levels[i])
			continue
		}
		at[x[i]] = c
	}
	if len(at) < leastLevels || len(at)+len(l.leftOut) != len(l.cells) {
		return false
	}
	l.x, l.unit, l.cells = slices.Sorted(maps.Keys(at)), unit, nil
	for _, level := range l.x {
		l.cells = append(l.cells, at[level])
	}
	return true
}

func (l *ladder) everywhere(plan *experiment.Plan, m experiment.Metric) bool {
	return !slices.ContainsFunc(l.cells, func(c int) bool {
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
		if a != base && baseline != nil {
			s.Difference = c.steeper(t.plan, *baseline)
		}
		list = append(list, s)
	}
	return list
}

// climbing is the values of one arm at all levels, in the rounds that have them.
type climbing struct {
	rounds []int
	values [][]float64 // by round and level
	lines  []stats.Line
}

// climbs collects the values of an arm and fits a line to each round.
func (t *table) climbs(l ladder, arm int, m experiment.Metric) climbing {
	var c climbing
	for _, round := range t.rounds {
		y := make([]float64, 0, len(l.x))
		for _, cell := range l.cells {
			if at, there := slices.BinarySearch(t.at[cell], round); there {
				if v, ok := value(t.slots[cell][arm][at].valid, m); ok {
					y = append(y, v)
				}
			}
		}
		line, err := stats.FitLine(l.x, y)
		if err != nil || !moderate(line.Slope) || !moderate(line.Intercept) { // a round that lacks a level
			continue
		}
		c.rounds, c.values, c.lines = append(c.rounds, round), append(c.values, y), append(c.lines, line)
	}
	return c
}

// moderate says whether a number can be squared and summed.
func moderate(v float64) bool { return math.Abs(v) < 1e150 } // false for NaN

func (c *climbing) describe(plan *experiment.Plan, l ladder) ScalingArm {
	s := ScalingArm{Rounds: c.rounds}
	for _, l := range c.lines {
		s.Slopes = append(s.Slopes, l.Slope)
	}
	at, method, _, ok := located(plan, s.Slopes, c.rounds)
	s.Slope, s.Method, s.PointOnly = at, method, !ok
	for k, x := range l.x {
		var heights []float64
		sum := 0.0
		for i, line := range c.lines {
			heights = append(heights, line.At(x))
			sum += c.values[i][k] / float64(len(c.lines))
		}
		height, _, _, _ := located(plan, heights, c.rounds)
		s.Line, s.Means = append(s.Line, height), append(s.Means, contrast.Finite(sum))
	}
	s.Fit = c.fit(l, s.Means)
	return s
}

// steeper compares the slopes of an arm with the baseline's, round by round.
func (c *climbing) steeper(plan *experiment.Plan, base climbing) *SlopeDifference {
	var rounds []int
	var differences []float64
	for i, round := range c.rounds {
		if k, both := slices.BinarySearch(base.rounds, round); both {
			rounds = append(rounds, round)
			differences = append(differences, c.lines[i].Slope-base.lines[k].Slope)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	at, method, p, ok := located(plan, differences, rounds)
	return &SlopeDifference{Interval: at, Rounds: len(rounds), PointOnly: !ok, P: p, Method: method}
}

// located estimates where values of one per round lie, as everywhere else. Where
// they allow no interval, it gives their middle.
func located(plan *experiment.Plan, values []float64, rounds []int) (at Interval, method string, p float64, ok bool) {
	d := contrast.Data{Metric: experiment.Metric{Scale: experiment.Difference}, Paired: true, Contrasts: values}
	for _, round := range rounds {
		if round <= plan.Rounds {
			d.Pilot++
		}
	}
	e := contrast.RulesOf(plan).Estimate(&d)
	if !e.Main.OK {
		v := contrast.Finite(stats.Quantile(slices.Sorted(slices.Values(values)), 0.5))
		return Interval{v, v, v}, e.Method, 1, false
	}
	i := e.Main.At
	return Interval{contrast.Finite(i.Point), contrast.Finite(i.Lo), contrast.Finite(i.Hi)}, e.Method, e.Main.P, true
}
