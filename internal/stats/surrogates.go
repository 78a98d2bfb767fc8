package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// surrogates generates series that resemble a given series, but have no changes. They are the null distribution of a
// search for changes among values that may resemble their neighbours. In shuffles of such values, slow waves would look
// like changes. Surrogates therefore shuffle the innovations of an autoregression of order one,
//
//	e(t) = (x(t) - mean) - φ (x(t-1) - mean),
//
// and build a series with the same φ (the residual bootstrap without replacement: Bühlmann, Sieve bootstrap for time
// series, Bernoulli 3, 1997). If φ is 0, surrogates are shuffles of the values.
//
// Shuffles of blocks of four values make about as many false claims. But they miss changes that last for fewer than
// three blocks, and any change in twenty values.
type surrogates struct {
	correlation float64
	values      []float64 // innovations, or the values themselves; shuffled in place
	series      []float64
	random      *rand.Rand
}

// mostCorrelation is the upper bound of φ, the correlation of neighbouring values. With a larger φ, a series can hardly
// be told from a random walk.
const mostCorrelation = 0.9

// NewSurrogates returns a maker of surrogates for finite values x. changes has the first index of each new segment; φ
// is estimated within segments.
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

// start returns the standard deviation of an innovation (the random part of a value), divided by the standard deviation
// of a value.
func (s *surrogates) start() float64 { return math.Sqrt(1 - s.correlation*s.correlation) }

// Next returns another random series of the same length, valid until the next call. If φ is above 0, its mean is about
// 0.
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

// A test makes about 2/alpha draws, within these bounds. 499 draws are enough for levels down to 0.4 %. Below 0.001 %,
// 99,999 draws never give a claim.
const (
	leastPermutations = 499
	mostPermutations  = 99_999
	clearDraws        = 999 // number of draws after which a clear case is decided
)

// Significant reports whether a random draw reaches the observed statistic with a probability of at most alpha: (1 +
// larger) / (1 + draws) ≤ alpha. Here larger is the number of draws that reach it. The test stops as soon as this
// cannot become true any more.
//
// In a clear case, the test stops after 999 draws. Let t be the largest of these draws. With 95 % confidence, a further
// draw reaches t with a probability of at most 0.003. The tails of the statistics fall exponentially, so a draw exceeds
// f·t with a probability of at most 0.003^f. The case is clear if the observed statistic exceeds f·t, with f such that
// 0.003^f is alpha.
func Significant(observed, alpha float64, draw func() float64) bool {
	draws := int(min(max(math.Ceil(2/alpha)-1, leastPermutations), mostPermutations))
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

// Neighbours estimates the autocorrelation at lag one within the segments between changes. It corrects Lag1, which is
// too low by about (1+3r)/n.
func Neighbours(x []float64, changes []int) float64 {
	r, levels := Lag1(Residuals(x, changes)), float64(len(changes)+1)
	return r + (levels+(1+2*levels)*max(r, 0))/float64(len(x))
}

// surrogateCorrelation returns Neighbours plus half a standard error, to be on the safe side, but at least 0.
//
// Changes that are not known yet look like slow waves, but hardly affect the differences between values. The upper
// bound
// is therefore the sum of squared differences at lag two, divided by the sum at lag one, minus one, plus one standard
// error. Both sums leave out their largest tenth (Chakar, Lebarbier, Lévy-Leduc and Robin, Bernoulli 23, 2017, take
// medians instead).
func surrogateCorrelation(x []float64, changes []int) float64 {
	n := float64(len(x))
	return max(min(Neighbours(x, changes)+0.5/math.Sqrt(n), differencing(x)+1/math.Sqrt(n), mostCorrelation), 0)
}

// Residuals subtracts from each value its segment's mean. Before that, outliers are moved to four robust standard
// deviations from the segment's median.
func Residuals(x []float64, changes []int) []float64 {
	out := make([]float64, 0, len(x))
	bounds := slices.Concat([]int{0}, changes, []int{len(x)})
	for i := range bounds[1:] {
		level := x[bounds[i]:bounds[i+1]]
		out = append(out, Shifted(level, -Median(level))...)
	}
	if reach := 4 * 1.4826 * Median(Mapped(out, math.Abs)); reach > 0 { // reach is 0 if at least half of the values equal their segment's median
		out = Mapped(out, func(v float64) float64 { return min(max(v, -reach), reach) })
	}
	for i := range bounds[1:] {
		level := out[bounds[i]:bounds[i+1]]
		copy(level, Shifted(level, -Mean(level)))
	}
	return out
}

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
