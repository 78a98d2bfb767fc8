package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Surrogates makes series that are like one in all but its changes: the null
// distribution of a search for changes among values that may resemble their
// neighbours.
//
// Shuffled values are exchangeable, and a series whose level wanders is not:
// against its shuffles the wandering looks like changes. So what is shuffled are
// the innovations of an autoregression of order one,
//
//	e(t) = (x(t) - mean) - φ (x(t-1) - mean),
//
// from which a series with the same φ is built again (the residual bootstrap of
// autoregressions: Bühlmann, Sieve bootstrap for time series, Bernoulli 3, 1997;
// without replacement). Where φ is 0 these are the shuffles of the values, and
// the test is the permutation test.
//
// Shuffling blocks of neighbours is the other way that is used. Blocks of four
// hold about the same level at φ = 0.3 and 0.6, but cannot see a level that
// lasts for fewer than three of them, nor anything in twenty values.
type Surrogates struct {
	correlation float64
	values      []float64 // shuffled in place: innovations, or the values themselves
	series      []float64
	random      *rand.Rand
}

// mostCorrelation bounds φ: what wanders more is hardly distinct from a walk.
const mostCorrelation = 0.9

// NewSurrogates takes a series of finite values and the changes that are asked
// about: indices of the first values of new levels, in order. φ is estimated
// around the levels between them, or else a change would count as wandering.
func NewSurrogates(x []float64, changes []int, random *rand.Rand) *Surrogates {
	s := &Surrogates{correlation: supposed(x, changes), values: slices.Clone(x), random: random}
	if s.correlation == 0 {
		return s
	}
	s.series = make([]float64, len(x))
	mean, _ := meanSD(x)
	s.values[0] = (x[0] - mean) * s.start()
	for t := 1; t < len(x); t++ {
		s.values[t] = x[t] - mean - s.correlation*(x[t-1]-mean)
	}
	return s
}

// start scales a value of the series to an innovation, and the other way round.
func (s *Surrogates) start() float64 { return math.Sqrt(1 - s.correlation*s.correlation) }

// Next gives another series of the same length. It holds until the next call.
// With φ above 0 its mean is about 0.
func (s *Surrogates) Next() []float64 {
	s.random.Shuffle(len(s.values), func(i, j int) { s.values[i], s.values[j] = s.values[j], s.values[i] })
	if s.correlation == 0 {
		return s.values
	}
	last := s.values[0] / s.start()
	s.series[0] = last
	for t := 1; t < len(s.values); t++ {
		last = s.correlation*last + s.values[t]
		s.series[t] = last
	}
	return s.series
}

// Reached says whether a statistic as large as the observed one is drawn with a
// probability of alpha at most: (1 + larger) / (1 + draws) ≤ alpha. It stops
// once that cannot be any more.
//
// It also stops after 999 draws in a clear case. With 95 % confidence the largest
// of them, t, is reached with a probability of 0.003 at most. The tails of the
// statistics here, sums of squares and the largest of many of them, fall
// exponentially, for which P(T > ft) ≤ P(T > t)^f. So a value of more than f·t is
// reached with a probability of 0.003^f at most: f is taken such that this is alpha.
func Reached(observed, alpha float64, draw func() float64) bool {
	draws := changepointPermutations(alpha)
	allowed := int(math.Floor(alpha*float64(draws+1)+1e-9)) - 1
	clear := max(math.Log(alpha)/math.Log(3./clearDraws), 1)
	larger, largest := 0, 0.0
	for i := range draws {
		if larger > allowed {
			return false
		}
		if i == clearDraws && observed > clear*largest {
			return true
		}
		q := draw()
		if largest = max(largest, q); q >= observed {
			larger++
		}
	}
	return larger <= allowed
}

// clearDraws is how many draws decide a clear case.
const clearDraws = 999

// Neighbours estimates the autocorrelation at lag one of what is left of a series
// of finite values when the level between its changes has been taken out, with the
// bias of so short a series added: Lag1 loses about (1+3r)/n where one level is
// taken out, and more with each further one.
func Neighbours(x []float64, changes []int) float64 {
	r, levels := Lag1(Residuals(x, changes)), float64(len(changes)+1)
	return r + (levels+(1+2*levels)*max(r, 0))/float64(len(x))
}

// supposed is the autocorrelation that surrogates have: that of neighbours with
// half a standard error, to be on the safe side. It is 0 where there is none.
//
// Changes that are not known yet look like wandering. They hardly touch
// differences of neighbours, so these say how much there can be at most: one
// less than the squared differences at lag two over those at lag one, the
// largest tenth of each left out (as with medians by Chakar, Lebarbier,
// Lévy-Leduc and Robin, Bernoulli 23, 2017), and one standard error.
func supposed(x []float64, changes []int) float64 {
	n := float64(len(x))
	return max(min(Neighbours(x, changes)+0.5/math.Sqrt(n), differencing(x)+1/math.Sqrt(n), mostCorrelation), 0)
}

// Residuals are finite values minus the mean of their own level, outliers pulled in
// to four robust standard deviations from its median: a level of some values may
// stand out, an outlier may not.
func Residuals(x []float64, changes []int) []float64 {
	out := make([]float64, 0, len(x))
	bounds := slices.Concat([]int{0}, changes, []int{len(x)})
	for i := range bounds[1:] {
		level := x[bounds[i]:bounds[i+1]]
		centre := Median(level)
		for _, v := range level {
			out = append(out, v-centre)
		}
	}
	sizes := make([]float64, len(out))
	for i, v := range out {
		sizes[i] = math.Abs(v)
	}
	if reach := 4 * 1.4826 * Median(sizes); reach > 0 { // else most values are the same
		for i, v := range out {
			out[i] = min(max(v, -reach), reach)
		}
	}
	for i := range bounds[1:] {
		level := out[bounds[i]:bounds[i+1]]
		mean := 0.0
		for _, v := range level {
			mean += v / float64(len(level))
		}
		for k := range level {
			level[k] -= mean
		}
	}
	return out
}

// differencing is the autocorrelation by differences, whatever levels there are.
func differencing(x []float64) float64 {
	size := func(lag int) float64 {
		var squares []float64
		for t := lag; t < len(x); t++ {
			squares = append(squares, (x[t]-x[t-lag])*(x[t]-x[t-lag]))
		}
		slices.Sort(squares)
		keep := (len(squares)*9 + 9) / 10
		sum := 0.0
		for _, v := range squares[:keep] {
			sum += v
		}
		return sum / float64(keep)
	}
	if one := size(1); one > 0 {
		return size(2)/one - 1
	}
	return 0
}
