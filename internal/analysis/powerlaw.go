package analysis

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/stats"
)

// A workload may declare a metric as a product of powers of its factors (experiment.PowerLaw): DNS queries are proxies
// × hosts × families ÷ TTL. The logarithm of the product is a plane over the factors' logarithms, with the exponents as
// slopes.
//
// The plane is fitted in each round (fits.go), to all cells of the workload. The residuals of the cells show whether
// the law holds at all.

// PowerLaw describes how a metric depends on all factors of a workload together.
type PowerLaw struct {
	Workload string            `json:"workload"`       // workload of the cells
	Metric   experiment.Metric `json:"metric"`         // metric that the law describes
	Held     []factor.Level    `json:"held,omitempty"` // levels, the same in all Cells, of the factors that are not in the law
	Factors  []PowerLawFactor  `json:"factors"`        // factors of the law with several levels, in the order of the plan
	Cells    []string          `json:"cells"`          // cells of the fit
	Arms     []PowerLawArm     `json:"arms"`           // arms with a value in every cell in at least one round, in the plan's order
}

// PowerLawFactor is one factor of a law.
type PowerLawFactor struct {
	Factor   string    `json:"factor"`         // "hosts"
	Unit     string    `json:"unit,omitempty"` // unit of the levels; "" if they count something
	Levels   []float64 `json:"levels"`         // levels in Unit, ascending
	Expected float64   `json:"expected"`       // exponent that the workload declares
}

// PowerLawArm is the law fitted to one arm.
type PowerLawArm struct {
	Arm       string     `json:"arm"`       // name of the arm
	Rounds    []int      `json:"rounds"`    // rounds that have a value in every cell; the law is fitted to these rounds
	Exponents []Exponent `json:"exponents"` // one exponent per factor, in the order of Factors
	// Unity is the metric's value that the law gives where every factor is 1 in its own unit.
	Unity     Interval `json:"unity"`
	PointOnly bool     `json:"pointOnly,omitempty"` // the values allow no interval: Unity holds only a point
	Method    string   `json:"method"`              // method of the interval of Unity
	Misfit    Misfit   `json:"misfit"`              // the cell whose values lie farthest from the law
}

// Exponent is the power to which the law raises a factor.
type Exponent struct {
	Interval
	PointOnly  bool   `json:"pointOnly,omitempty"`  // the values allow no interval
	Method     string `json:"method"`               // method by which the interval is computed, as for comparisons
	Unexpected bool   `json:"unexpected,omitempty"` // the whole interval is farther than exponentMiss from the expected exponent
}

// exponentMiss is the largest deviation of an exponent that does not matter: 2 % of the metric for a factor that grows
// from 1 to 10.
const exponentMiss = 0.01

// Misfit is the cell whose values lie farthest from the law.
type Misfit struct {
	Cell string  `json:"cell"` // ID of the cell
	Off  float64 `json:"off"`  // typical value minus the law's value, as a share of the law's value: -0.1 is 10 % below
	P    float64 `json:"p"`    // p-value of "all cells lie on the law", from a t test at each cell; 1: untestable
	Poor bool    `json:"poor"` // the law fits poorly: P is 0.01 or less, and Off is 5 % or more in either direction
}

func powerLaws(t *table) []PowerLaw {
	if !t.plan.Paired() {
		return nil
	}
	var list []PowerLaw
	for _, f := range lawsOf(t.plan) {
		l := PowerLaw{Workload: t.plan.Cells[f.cells[0]].Workload, Metric: f.metric, Held: f.held, Factors: f.factors, Arms: []PowerLawArm{}}
		for _, c := range f.cells {
			l.Cells = append(l.Cells, t.plan.Cells[c].ID)
		}
		for a, arm := range t.plan.Arms {
			if one, there := t.law(f, l.Cells, a); there {
				one.Arm = arm.Name
				l.Arms = append(l.Arms, one)
			}
		}
		if len(l.Arms) > 0 {
			list = append(list, l)
		}
	}
	return list
}

// lawCells holds the cells to which one power law is fitted.
type lawCells struct {
	metric  experiment.Metric
	held    []factor.Level
	cells   []int // indices of the cells in the plan
	factors []PowerLawFactor
	x       [][]float64 // logarithms of the levels, by cell and factor
}

// lawsOf returns the power laws that the cells of a plan declare, in the plan's order. A law that has too few cells for
// a test is left out.
func lawsOf(plan *experiment.Plan) []lawCells {
	at := map[string]int{}
	var list []lawCells
	for i, c := range plan.Cells {
		if c.PowerLaw == nil || c.Metric(c.PowerLaw.Metric) == nil {
			continue
		}
		f := lawCells{metric: *c.Metric(c.PowerLaw.Metric)}
		for _, l := range c.Levels {
			if _, of := c.PowerLaw.Exponents[l.Factor]; !of {
				f.held = append(f.held, l)
			}
		}
		id := fmt.Sprintf("%q,%q,%v,%q", c.Workload, f.metric.Name, c.PowerLaw.Exponents, f.held)
		if _, known := at[id]; !known {
			at[id], list = len(list), append(list, f)
		}
		list[at[id]].cells = append(list[at[id]].cells, i)
	}
	for i := range list {
		list[i].read(plan)
	}
	return slices.DeleteFunc(list, func(l lawCells) bool { return len(l.factors) == 0 || len(l.cells) < len(l.factors)+2 })
}

// read reads the levels of the power law's factors as numbers. If a level is not a positive number, it has no
// logarithm, and read drops the law.
func (f *lawCells) read(plan *experiment.Plan) {
	f.x = make([][]float64, len(f.cells))
	first := plan.Cells[f.cells[0]]
	for k, level := range first.Levels {
		expected, of := first.PowerLaw.Exponents[level.Factor]
		if !of {
			continue
		}
		texts := make([]string, len(f.cells))
		for i, c := range f.cells {
			if levels := plan.Cells[c].Levels; k < len(levels) && levels[k].Factor == level.Factor {
				texts[i] = levels[k].Value
			}
		}
		x, unit := readLevels(texts)
		if slices.ContainsFunc(x, func(v float64) bool { return !(v > 0) }) { // true for NaN, too
			f.factors = nil
			return
		}
		levels := slices.Compact(slices.Sorted(slices.Values(x)))
		if len(levels) < 2 {
			continue
		}
		f.factors = append(f.factors, PowerLawFactor{Factor: level.Factor, Unit: unit, Levels: levels, Expected: expected})
		for i, v := range x {
			f.x[i] = append(f.x[i], math.Log(v))
		}
	}
}

// law fits the power law l to one arm's values. there is false if no round has a value in every cell of the law.
func (t *table) law(l lawCells, ids []string, arm int) (a PowerLawArm, there bool) {
	list := t.completeRounds(l.cells, []int{arm}, l.metric, nil)
	for i := range list {
		list[i].values = stats.Mapped(list[i].values, math.Log)
	}
	f := t.fitRounds(list, 0, l.x)
	if len(f.rounds) == 0 {
		return a, false
	}
	a.Rounds = f.rounds
	for j, factor := range l.factors {
		at := f.located(f.slopes(j))
		a.Exponents = append(a.Exponents, Exponent{at.Interval, at.PointOnly, at.Method,
			!at.PointOnly && (at.Lo > factor.Expected+exponentMiss || at.Hi < factor.Expected-exponentMiss)})
	}
	at := f.levelled(f.each(func(i int) float64 { return f.fits[i].Intercept }))
	a.Unity, a.Method, a.PointOnly = finite(stats.Interval(at.Interval).Map(math.Exp)), at.Method, at.PointOnly
	left, worst, p := f.missed(len(ids))
	a.Misfit = Misfit{Cell: ids[worst], Off: contrast.Finite(math.Expm1(left[worst])), P: p}
	a.Misfit.Poor = poor(p, a.Misfit.Off)
	return a, true
}
