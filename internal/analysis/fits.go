package analysis

import (
	"errors"
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// A fit describes a round's values by a few numbers: by a line through the levels of a factor (scaling.go,
// breakdown.go), a plane over the logarithms of factors (powerlaw.go), or a sum with the signs of a factorial design
// (factorial.go).
//
// Each round gets a fit of its own. The trials of a round drift together, but the noise of different rounds is
// independent. The fitted numbers are therefore independent values, which the estimators of overheads take. A single
// fit to all rounds would count a round's drift as noise, and repeated points as information.

// completeRound is a round in which all trials of a fit have a usable value.
type completeRound struct {
	round  int
	trials []*journal.Trial
	values []float64 // values of the fitted trials
}

// completeRounds returns the rounds with a value of each arm in each cell. It calls failed (unless nil) for incomplete
// rounds with failed programs: who[i] tells whether trial i failed. failed must not keep who.
func (t *table) completeRounds(cells, arms []int, m experiment.Metric, failed func(who []bool)) []completeRound {
	list, n := make([]completeRound, 0, len(t.rounds)), len(cells)*len(arms)
	who := make([]bool, 0, n)
	for _, round := range t.rounds {
		r := completeRound{round: round, trials: make([]*journal.Trial, 0, n), values: make([]float64, 0, n)}
		who = who[:0]
		for _, c := range cells {
			for _, a := range arms {
				s := t.slot(c, a, round)
				who = append(who, s.broke())
				if v, ok := value(s.valid, m); ok {
					r.trials, r.values = append(r.trials, s.valid), append(r.values, v)
				}
			}
		}
		switch {
		case len(r.values) == n:
			list = append(list, r)
		case failed != nil && slices.Contains(who, true):
			failed(who)
		}
	}
	return list
}

// roundSet holds the rounds of an estimate. The estimate is made from one number per round.
type roundSet struct {
	plan   *experiment.Plan
	rounds []int
	setUps []int // set-up of each round; nil: each round has a set-up of its own
}

// setOf returns the set of complete rounds. The set-up of each round is taken from its trial with the given index.
func (t *table) setOf(list []completeRound, index int) roundSet {
	s := roundSet{plan: t.plan}
	for _, r := range list {
		s.rounds, s.setUps = append(s.rounds, r.round), append(s.setUps, r.trials[index].SetUp)
	}
	s.setUps = t.sharedSetUps(s.setUps)
	return s
}

func (s *roundSet) pilot() int {
	n, _ := slices.BinarySearch(s.rounds, s.plan.Rounds+1)
	return n
}

// data returns numbers, one per round, as contrasts in the form that the estimators of overheads need.
func (s *roundSet) data(m experiment.Metric, numbers []float64) contrast.Data {
	return contrast.Data{Metric: m, Paired: true, Uneven: true, Contrasts: numbers, Rounds: s.rounds, SetUps: s.setUps, Pilot: s.pilot()}
}

// units returns the independent values: the given numbers, one per round, or their means over set-ups if rounds share a
// set-up.
func (s *roundSet) units(numbers []float64) []float64 {
	d := s.data(experiment.Metric{}, numbers)
	units, _, _ := d.Units()
	return units
}

// located estimates the centre of some numbers, one number per round. If an interval cannot be computed, both its
// bounds equal the centre.
func (s *roundSet) located(numbers []float64) RoundValue {
	return s.estimated(numbers, contrast.Rules.Estimate)
}

// levelled estimates the centre of one arm's numbers, one per round. They contain the machine's drift, and the interval
// allows for it.
func (s *roundSet) levelled(numbers []float64) RoundValue {
	return s.estimated(numbers, contrast.Rules.Level)
}

func (s *roundSet) estimated(numbers []float64, estimator func(contrast.Rules, *contrast.Data) contrast.Estimate) RoundValue {
	d := s.data(experiment.Metric{Scale: experiment.Difference}, numbers)
	e := estimator(contrast.RulesOf(s.plan), &d)
	if !e.Main.OK {
		return RoundValue{Interval: pointOnly(stats.Median(numbers)), Rounds: len(s.rounds), PointOnly: true, P: 1, Method: e.Method}
	}
	return RoundValue{Interval: finite(e.Main.At), Rounds: len(s.rounds), P: e.Main.P, Method: e.Method}
}

func finite(at stats.Interval) Interval { return Interval(at.Map(contrast.Finite)) }

func pointOnly(at float64) Interval { return finite(stats.Interval{Point: at, Lo: at, Hi: at}) }

type roundFits struct {
	roundSet
	from   []completeRound
	offset int           // index of a round's first value that is fitted
	points [][]float64   // coordinates of the fitted values
	fits   []stats.Plane // fitted planes, by round
}

// fitRounds fits a plane to each round's values at the given points: the values from index offset on. Rounds that
// cannot be fitted are left out.
func (t *table) fitRounds(list []completeRound, offset int, points [][]float64) *roundFits {
	f := &roundFits{offset: offset, points: points}
	for _, r := range list {
		p, err := stats.FitPlane(points, r.values[offset:offset+len(points)])
		if err == nil && !slices.ContainsFunc(append(p.Slopes, p.Intercept), tooLarge) {
			f.from, f.fits = append(f.from, r), append(f.fits, p)
		}
	}
	if len(list) > 0 {
		f.roundSet = t.setOf(f.from, len(list[0].trials)-1)
	}
	return f
}

func (f *roundFits) value(i, k int) float64 { return f.from[i].values[f.offset+k] }

// tooLarge reports whether a number is too large to be squared and summed.
func tooLarge(v float64) bool { return !(math.Abs(v) < 1e150) } // true for NaN, too

func (f *roundFits) each(number func(i int) float64) []float64 {
	numbers := make([]float64, len(f.fits))
	for i := range numbers {
		numbers[i] = number(i)
	}
	return numbers
}

func (f *roundFits) slopes(j int) []float64 {
	return f.each(func(i int) float64 { return f.fits[i].Slopes[j] })
}

func (f *roundFits) heights(x ...float64) []float64 {
	return f.each(func(i int) float64 { return f.fits[i].At(x...) })
}

func (f *roundFits) residuals(k int) []float64 {
	return f.each(func(i int) float64 { return f.value(i, k) - f.fits[i].At(f.points[k]...) })
}

// less returns the centre of f's number minus the number of other, such as a slope, over the rounds with both fits;
// nil: no such round.
func (f *roundFits) less(other *roundFits, number func(stats.Plane) float64) *RoundValue {
	both := roundSet{plan: f.plan}
	var differences []float64
	for i, round := range f.rounds {
		if k, there := slices.BinarySearch(other.rounds, round); there {
			both.rounds = append(both.rounds, round)
			differences = append(differences, number(f.fits[i])-number(other.fits[k]))
			if f.setUps != nil {
				both.setUps = append(both.setUps, f.setUps[i])
			}
		}
	}
	if len(both.rounds) == 0 {
		return nil
	}
	return new(both.located(differences))
}

const (
	fitLevel = 0.01 // largest p-value at which a fit counts as wrong
	fitMiss  = 0.05 // smallest deviation that matters, as a share; many rounds show even tiny deviations
)

// poor reports whether values lie farther from a fit than chance explains (p), and far enough to matter (off).
func poor(p, off float64) bool { return p <= fitLevel && math.Abs(off) >= fitMiss }

// missed returns the mean residual at each point, the index of the largest, and the p-value of "all are zero",
// multiplied by the number of tests.
func (f *roundFits) missed(tests int) (left []float64, worst int, p float64) {
	p = 1
	for k := range f.points {
		residuals := f.residuals(k)
		mean := stats.Mean(residuals)
		if left = append(left, mean); math.Abs(mean) > math.Abs(left[worst]) {
			worst = k
		}
		p = min(p, residualP(f.units(residuals))*float64(tests))
	}
	return left, worst, p
}

func residualP(residuals []float64) float64 {
	e, err := stats.PairedT(residuals, 0.95)
	switch {
	case err == nil:
		return e.P
	case errors.Is(err, stats.ErrConstant) && residuals[0] != 0:
		return 0
	}
	return 1
}

// independentTests returns the number of tests that a p-value is corrected for. The number is 1 for three levels: one
// residual determines the two other residuals.
func independentTests(levels int) int {
	if levels == leastLevels {
		return 1
	}
	return levels
}

// bend returns how values curve away from a line, by a quadratic curve; "": the curve explains less than half of the
// squared residuals.
func bend(x, left []float64) string {
	square := stats.Mapped(x, func(v float64) float64 { return v * v })
	line, err := stats.FitLine(x, square)
	if err != nil {
		return ""
	}
	var product, squares, all float64
	for i, v := range x {
		curve := square[i] - line.At(v)
		product += curve * left[i]
		squares += curve * curve
		all += left[i] * left[i]
	}
	switch {
	case squares == 0 || product*product/squares < all/2:
		return ""
	case product > 0:
		return "steeper"
	}
	return "flatter"
}
