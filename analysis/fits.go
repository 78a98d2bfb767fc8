package analysis

import (
	"errors"
	"math"
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/stats"
)

// A fit describes the values of several trials of a round by a few numbers: a line through the levels of a
// factor (scaling.go, breakdown.go), a plane over the logarithms of several (powerlaw.go), or a sum with the
// signs of a design (factorial.go).
//
// Each round is fitted by itself. A round is what drifts together, so that the numbers of rounds, and the
// differences between an arm's and the baseline's in the same round, are independent values with noise of
// their own; their intervals come from the same estimators as every other one. One fit to the points of all
// rounds would count as noise what a round has in common, and as information what its points repeat.

// completeRound is a round in which all trials that are fitted have a usable value.
type completeRound struct {
	round  int
	trials []*journal.Trial
	values []float64 // of these trials
}

// completeRounds collects the rounds with a value of each of the arms in each of the cells. For every other round in which
// programs failed it calls failed with who did, in a slice that the next call changes; nil: nobody asks.
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

// roundSet is the rounds that an estimate rests on, with one number for each.
type roundSet struct {
	plan   *experiment.Plan
	rounds []int
	setUps []int // by round; nil: no two share one
}

// setOf is the set of complete rounds. Their set-ups are those of the trials at an index.
func (t *table) setOf(list []completeRound, at int) roundSet {
	s := roundSet{plan: t.plan}
	for _, r := range list {
		s.rounds, s.setUps = append(s.rounds, r.round), append(s.setUps, r.trials[at].SetUp)
	}
	s.setUps = t.sharedSetUps(s.setUps)
	return s
}

// pilot counts the rounds of the pilot.
func (s *roundSet) pilot() (n int) {
	for _, round := range s.rounds {
		if round <= s.plan.Rounds {
			n++
		}
	}
	return n
}

// data takes one number per round for the contrasts of pairs.
func (s *roundSet) data(m experiment.Metric, numbers []float64) contrast.Data {
	return contrast.Data{Metric: m, Paired: true, Uneven: true, Contrasts: numbers, Rounds: s.rounds, SetUps: s.setUps, Pilot: s.pilot()}
}

// units are the independent ones of some numbers: themselves, or their means where rounds share set-ups.
func (s *roundSet) units(numbers []float64) []float64 {
	d := s.data(experiment.Metric{}, numbers)
	units, _, _ := d.Units()
	return units
}

// located estimates where numbers of one per round lie, as everywhere else; where rounds
// share set-ups, these are the unit. Where the numbers allow no interval, it gives their middle.
func (s *roundSet) located(numbers []float64) RoundValue {
	return s.estimated(numbers, contrast.Rules.Estimate)
}

// levelled is the same for numbers of one arm, in which the machine's drift does not cancel.
func (s *roundSet) levelled(numbers []float64) RoundValue {
	return s.estimated(numbers, contrast.Rules.Level)
}

func (s *roundSet) estimated(numbers []float64, by func(contrast.Rules, *contrast.Data) contrast.Estimate) RoundValue {
	d := s.data(experiment.Metric{Scale: experiment.Difference}, numbers)
	e := by(contrast.RulesOf(s.plan), &d)
	if !e.Main.OK {
		return RoundValue{Interval: pointOnly(stats.Median(numbers)), Rounds: len(s.rounds), PointOnly: true, P: 1, Method: e.Method}
	}
	return RoundValue{Interval: finite(e.Main.At), Rounds: len(s.rounds), P: e.Main.P, Method: e.Method}
}

// finite is an interval of finite numbers.
func finite(at stats.Interval) Interval { return Interval(at.Map(contrast.Finite)) }

// pointOnly is a point as an interval without width.
func pointOnly(at float64) Interval { return finite(stats.Interval{Point: at, Lo: at, Hi: at}) }

// roundFits are the fits to rounds.
type roundFits struct {
	roundSet
	from   []completeRound
	offset int           // index of the first value that is fitted
	points [][]float64   // where the fitted values lie
	fits   []stats.Plane // by round
}

// fitRounds fits the values from an offset on, as many as there are points. Rounds that have no fit are left out.
func (t *table) fitRounds(list []completeRound, offset int, points [][]float64, fit func(y []float64) (stats.Plane, error)) *roundFits {
	f := &roundFits{offset: offset, points: points}
	for _, r := range list {
		p, err := fit(r.values[offset : offset+len(points)])
		if err == nil && !slices.ContainsFunc(append(p.Slopes, p.Intercept), immoderate) {
			f.from, f.fits = append(f.from, r), append(f.fits, p)
		}
	}
	if len(list) > 0 {
		f.roundSet = t.setOf(f.from, len(list[0].trials)-1)
	}
	return f
}

// value is the one that is fitted at a point in a round.
func (f *roundFits) value(i, k int) float64 { return f.from[i].values[f.offset+k] }

// logarithms are those of the values; of what is not positive they are not finite, and have no fit.
func (r completeRound) logarithms() []float64 {
	y := make([]float64, len(r.values))
	for k, v := range r.values {
		y[k] = math.Log(v)
	}
	return y
}

// lineAt fits lines at levels.
func lineAt(x []float64) func(y []float64) (stats.Plane, error) {
	return func(y []float64) (stats.Plane, error) { return stats.FitLine(x, y) }
}

// immoderate says whether a number is too large to be squared and summed.
func immoderate(v float64) bool { return !(math.Abs(v) < 1e150) } // true for NaN

// each gives a number for each round.
func (f *roundFits) each(of func(i int) float64) []float64 {
	numbers := make([]float64, len(f.fits))
	for i := range numbers {
		numbers[i] = of(i)
	}
	return numbers
}

// slopes are those of one coordinate, by round.
func (f *roundFits) slopes(j int) []float64 {
	return f.each(func(i int) float64 { return f.fits[i].Slopes[j] })
}

// heights are those of the fits at a point, by round.
func (f *roundFits) heights(x ...float64) []float64 {
	return f.each(func(i int) float64 { return f.fits[i].At(x...) })
}

// residuals are what the fits leave at one of the points, by round.
func (f *roundFits) residuals(k int) []float64 {
	return f.each(func(i int) float64 { return f.value(i, k) - f.fits[i].At(f.points[k]...) })
}

// less estimates the difference between a number of these fits and the same number of other fits, round by round; nil: they
// have no round in common.
func (f *roundFits) less(other *roundFits, of func(stats.Plane) float64) *RoundValue {
	both := roundSet{plan: f.plan}
	var differences []float64
	for i, round := range f.rounds {
		if k, there := slices.BinarySearch(other.rounds, round); there {
			both.rounds = append(both.rounds, round)
			differences = append(differences, of(f.fits[i])-of(other.fits[k]))
			if f.setUps != nil {
				both.setUps = append(both.setUps, f.setUps[i])
			}
		}
	}
	if len(both.rounds) == 0 {
		return nil
	}
	d := both.located(differences)
	return &d
}

const (
	// fitLevel is the level at which a fit counts as missed: one of a hundred true ones does.
	fitLevel = 0.01
	// fitMiss is the share that is a little: with many rounds anything can be told from a line.
	fitMiss = 0.05
)

// poor says whether fits miss by more than chance and by more than a little.
func poor(p, off float64) bool { return p <= fitLevel && math.Abs(off) >= fitMiss }

// missed returns what the fits leave at each point on average, the index of the point with the most, and the p that nothing
// is left anywhere, corrected for a number of tests. Noise leaves as much above as below; a curve leaves the same in every round.
func (f *roundFits) missed(tests int) (left []float64, worst int, p float64) {
	p = 1
	for k := range f.points {
		residuals, mean := f.residuals(k), 0.0
		for _, v := range residuals {
			mean += v / float64(len(residuals))
		}
		if left = append(left, mean); math.Abs(mean) > math.Abs(left[worst]) {
			worst = k
		}
		p = min(p, nothingLeft(f.units(residuals))*float64(tests))
	}
	return left, worst, p
}

// nothingLeft is the p that residuals are 0 in the mean.
func nothingLeft(residuals []float64) float64 {
	e, err := stats.PairedT(residuals, 0.95)
	switch {
	case err == nil:
		return e.P
	case errors.Is(err, stats.ErrConstant) && residuals[0] != 0:
		return 0
	}
	return 1
}

// independent is by how many tests a p is to be corrected. What a line leaves at
// three levels is one number, told three times.
func independent(levels int) int {
	if levels == leastLevels {
		return 1
	}
	return levels
}

// bend says which way values leave a line: by the sign of the quadratic in what is left, if it accounts for half of
// it at least: a step or a single level does not make a curve.
func bend(x, left []float64) string {
	square := make([]float64, len(x))
	for i, v := range x {
		square[i] = v * v
	}
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
