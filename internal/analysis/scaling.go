package analysis

import (
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/stats"
)

// A metric may grow with a numeric factor of a workload: bytes per object. The growth is the slope of a line through
// the levels, fitted in each round (fits.go).

// Scaling describes how a metric grows with one factor of a workload: one line per arm through the values at the
// levels. Headline metrics with values at two levels have a Scaling even without a line.
type Scaling struct {
	Workload string            `json:"workload"`           // workload of the cells
	Factor   string            `json:"factor"`             // factor whose levels are numbers, such as "objects"
	Held     []factor.Level    `json:"held,omitempty"`     // levels of the other factors, the same in all Cells
	Cells    []string          `json:"cells"`              // one cell per level, in ascending order
	X        []float64         `json:"x"`                  // levels in Unit
	Unit     string            `json:"unit,omitempty"`     // unit of the levels; "" if they count something
	LeftOut  []string          `json:"leftOut,omitempty"`  // levels that are not numbers, such as "max"
	Baseline string            `json:"baseline,omitempty"` // name of the arm that the other arms are compared with
	Metric   experiment.Metric `json:"metric"`
	Arms     []ScalingArm      `json:"arms"` // lines of the arms that have a round with a value at every level, in the plan's order; none if trials are not pairs
}

// ScalingArm is the fitted line of one arm. A slope is the metric's change, in its unit, per unit of the factor. It is
// no overhead: a positive slope is an increase of the metric.
type ScalingArm struct {
	Arm       string     `json:"arm"`    // name of the arm
	Rounds    []int      `json:"rounds"` // rounds that have a value at every level
	Slopes    []float64  `json:"slopes"` // one slope per round
	Slope     Interval   `json:"slope"`
	PointOnly bool       `json:"pointOnly,omitempty"` // true if Slope and Line are estimates without intervals, as the values allow none
	Method    string     `json:"method"`              // method of the slope's interval, as in comparisons
	Base      *Interval  `json:"base,omitempty"`      // height of the line at level 0; nil if the levels are no count and no rate
	Line      []Interval `json:"line"`                // height of the fitted line at each level of the factor
	Means     []float64  `json:"means"`               // means of the values at each level, over Rounds
	Fit       Fit        `json:"fit"`
	// Difference is the slope of the arm minus that of the baseline, over common rounds. Nil: the baseline itself, no
	// common round, or other settings of the workload.
	Difference *RoundValue `json:"difference,omitempty"`
	// BaseDifference is the base (the height at zero) of the arm's line minus that of the baseline's line, over the
	// rounds that both arms have.
	BaseDifference *RoundValue `json:"baseDifference,omitempty"`
}

// RoundValue is an estimate that is computed from one number per round, such as the difference of two slopes.
type RoundValue struct {
	Interval
	Rounds    int     `json:"rounds"`              // number of rounds that the estimate rests on
	PointOnly bool    `json:"pointOnly,omitempty"` // the values allow no interval
	P         float64 `json:"p"`                   // two-sided p-value of the hypothesis "the number is 0", without correction
	Method    string  `json:"method"`              // method of the interval
}

// Fit describes how well a line fits the values.
type Fit struct {
	// Off is the largest distance of a level's mean from the line, as a share of the range of the means.
	Off float64 `json:"off"`
	At  float64 `json:"at"` // level whose mean is furthest from the line; Off is its distance
	P   float64 `json:"p"`  // p-value of "the means lie on a line", from t tests of the residual at each level; 1 if untestable
	// Bend says how the means curve away from the line as levels rise, by a quadratic curve: "steeper" or "flatter";
	// "": no clear curve.
	Bend  string `json:"bend,omitempty"`
	Poor  bool   `json:"poor"`            // the line fits poorly: P is 0.01 or less, and Off is 5 % or more
	Below bool   `json:"below,omitempty"` // the mean at level At lies below the line; otherwise above
}

func scalings(t *table) (list []Scaling) {
	cells := t.plan.Cells
	for _, l := range sweepsOf(len(cells), func(i int) (string, []factor.Level) { return cells[i].Workload, cells[i].Levels }) {
		for _, m := range l.metrics(t.plan) {
			s := Scaling{Workload: l.of, Factor: l.factor, Held: l.held, X: l.x, Unit: l.unit,
				LeftOut: l.leftOut, Metric: m, Baseline: t.plan.ArmWith(experiment.Baseline), Arms: []ScalingArm{}}
			measured := 0 // number of levels with at least one value
			for _, c := range l.indices {
				s.Cells = append(s.Cells, t.plan.Cells[c].ID)
				if sameForm(&t.plan.Cells[c], m) && slices.ContainsFunc(t.slots[c], func(arm []slot) bool { return len(sample(arm, m)) > 0 }) {
					measured++
				}
			}
			everywhere := !slices.ContainsFunc(l.indices, func(c int) bool { return !sameForm(&t.plan.Cells[c], m) })
			if t.plan.Paired() && everywhere {
				s.Arms = append(s.Arms, t.lines(l, m)...)
			}
			if len(s.Arms) > 0 || m.Headline && measured >= leastLevels-1 {
				list = append(list, s)
			}
		}
	}
	return list
}

func (s *sweep) metrics(plan *experiment.Plan) (list []experiment.Metric) {
	for _, c := range s.indices {
		for _, m := range plan.Cells[c].Metrics {
			if !slices.ContainsFunc(list, func(known experiment.Metric) bool { return known.Name == m.Name }) {
				list = append(list, m)
			}
		}
	}
	return list
}

func sameForm(cell *experiment.Cell, m experiment.Metric) bool {
	own := cell.Metric(m.Name)
	return own != nil && own.Unit == m.Unit && own.Scale == m.Scale
}

func (t *table) lines(s sweep, m experiment.Metric) []ScalingArm {
	base := role(t.plan, experiment.Baseline)
	var list []ScalingArm
	var baseline *roundFits
	for a, arm := range t.plan.Arms {
		f := t.fitRounds(t.completeRounds(s.indices, []int{a}, m, nil), 0, stats.Points(s.x))
		if a == base {
			baseline = f
		}
		if len(f.rounds) == 0 {
			continue
		}
		one := s.describe(f)
		one.Arm = arm.Name
		if a != base && baseline != nil && !slices.ContainsFunc(s.indices, func(c int) bool { return t.unlike(c, a, base) != nil }) {
			one.Difference = f.less(baseline, func(l stats.Plane) float64 { return l.Slopes[0] })
			if one.Base != nil {
				one.BaseDifference = f.less(baseline, func(l stats.Plane) float64 { return l.Intercept })
			}
		}
		list = append(list, one)
	}
	return list
}

func (s *sweep) describe(f *roundFits) ScalingArm {
	slope := f.levelled(f.slopes(0))
	a := ScalingArm{Rounds: f.rounds, Slopes: f.slopes(0), Slope: slope.Interval, Method: slope.Method, PointOnly: slope.PointOnly}
	for k, x := range s.x {
		mean := stats.Mean(f.each(func(i int) float64 { return f.value(i, k) }))
		a.Line, a.Means = append(a.Line, f.levelled(f.heights(x)).Interval), append(a.Means, contrast.Finite(mean))
	}
	if s.unit == "" || s.unit == "1/s" {
		a.Base = new(f.levelled(f.heights(0)).Interval)
	}
	left, worst, p := f.missed(independentTests(len(s.x)))
	a.Fit = Fit{P: p, At: s.x[worst], Below: left[worst] < 0}
	if rise := slices.Max(a.Means) - slices.Min(a.Means); rise > 0 {
		a.Fit.Off = contrast.Finite(math.Abs(left[worst]) / rise)
	}
	if a.Fit.Poor = poor(p, a.Fit.Off); a.Fit.Poor {
		a.Fit.Bend = bend(s.x, left)
	}
	return a
}
