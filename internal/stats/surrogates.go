package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// surrogates generates series that resemble a given one except for its changes: the null
// distribution of a search for changes among values that may resemble their neighbours.
//
// Shuffled values are exchangeable, but a series whose level wanders is not: compared with its
// shuffles, the wandering looks like changes. Surrogates therefore shuffle the innovations of an
// autoregression of order one,
//
//	e(t) = (x(t) - mean) - φ (x(t-1) - mean),
//
// and build a series with the same φ from them (the residual bootstrap of autoregressions:
// Bühlmann, Sieve bootstrap for time series, Bernoulli 3, 1997; without replacement). If φ is 0
// these are the shuffles of the values, and the test is the permutation test.
//
// Shuffling blocks of neighbours is the usual alternative. Blocks of four have about the same level
// at φ = 0.3 and 0.6, but cannot detect a level that lasts for fewer than three of them, nor
// anything in twenty values.
type surrogates struct {
	correlation float64
	values      []float64 // innovations, or the values themselves; shuffled in place
	series      []float64
	random      *rand.Rand
}

// mostCorrelation bounds φ: a series that wanders more can hardly be told from a random walk.
const mostCorrelation = 0.9

// NewSurrogates takes a series of finite values and the changes to test: indices of the first
// values of new levels, in order. φ is estimated around the levels between them, since a change
// would otherwise count as wandering.
func NewSurrogates(x []float64, changes []int, random *rand.Rand) *surrogates {
	s := &surrogates{correlation: surrogateCorrelation(x, changes), values: slices.Clone(x), random: random}
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

// start returns the factor from a value of the series to an innovation, and its inverse.
func (s *surrogates) start() float64 { return math.Sqrt(1 - s.correlation*s.correlation) }

// Next returns another series of the same length. It is valid until the next call. If φ is above 0,
// its mean is about 0.
func (s *surrogates) Next() []float64 {
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

// Significant reports whether a random draw reaches the observed statistic with a probability of at
// most alpha: (1 + larger) / (1 + draws) ≤ alpha. It stops as soon as that has become impossible.
//
// It also stops after 999 draws in a clear case. With 95 % confidence the largest draw, t, is
// reached with a probability of at most 0.003. The tails of these statistics, sums of squares and
// the largest of many of them, fall exponentially, for which P(T > ft) ≤ P(T > t)^f. A value of
// more than f·t is therefore reached with a probability of at most 0.003^f: f is chosen so that
// this is alpha.
func Significant(observed, alpha float64, draw func() float64) bool {
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

// clearDraws is the number of draws that decide a clear case.
const clearDraws = 999

// Neighbours estimates the autocorrelation at lag one of a series of finite values, after
// subtracting the level between its changes. It corrects the bias of short series: Lag1 is too low
// by about (1+3r)/n if one level is subtracted, and by more with each further one.
func Neighbours(x []float64, changes []int) float64 {
	r, levels := Lag1(Residuals(x, changes)), float64(len(changes)+1)
	return r + (levels+(1+2*levels)*max(r, 0))/float64(len(x))
}

// surrogateCorrelation returns the autocorrelation for surrogates: that of neighbours plus half a standard
// error, to be on the safe side. It is 0 if there is none.
//
// Changes that are not known yet look like wandering. They hardly affect differences of neighbours,
// which therefore give an upper bound of the autocorrelation: one minus the squared differences at
// lag two over those at lag one, the largest tenth of each left out (as with medians by Chakar,
// Lebarbier, Lévy-Leduc and Robin, Bernoulli 23, 2017), plus one standard error.
func surrogateCorrelation(x []float64, changes []int) float64 {
	n := float64(len(x))
	return max(min(Neighbours(x, changes)+0.5/math.Sqrt(n), differencing(x)+1/math.Sqrt(n), mostCorrelation), 0)
}

// Residuals returns finite values minus the mean of their own level, with outliers moved to four
// robust standard deviations from their median: a level of several values may stand out, an outlier
// may not.
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
	if reach := 4 * 1.4826 * Median(sizes); reach > 0 { // otherwise most values are the same
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

// differencing returns the autocorrelation estimated from differences, whatever levels there are.
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
