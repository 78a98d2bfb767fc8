package stats

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// Holm returns the p-values corrected for their number (Holm 1979), in the order given. With claims up to 5 %, the
// chance of any false claim is at most 5 %. NaN counts as 1.
func Holm(p []float64) []float64 {
	adjusted := Mapped(p, func(v float64) float64 {
		if math.IsNaN(v) {
			return 1
		}
		return v
	})
	largest := 0.0
	for i, at := range ascending(adjusted) {
		largest = max(largest, min(1, adjusted[at]*float64(len(p)-i)))
		adjusted[at] = largest
	}
	return adjusted
}

// Exaggeration estimates from a claim's two-sided p-value how much such claims exaggerate the effect. power is the
// chance of a claim. factor is the average claimed size divided by the true size (type M error: Gelman & Carlin 2014,
// "Beyond power calculations", Perspectives on Psychological Science 9). The effect is taken as the maximum likelihood
// estimate given the claim (Zhong & Prentice 2008, "Bias-reduced estimators", Biostatistics 9). A p or alpha not
// between 0 and 1 gives NaN. A p above alpha counts as alpha.
func Exaggeration(p, alpha float64) (power, factor float64) {
	if !(p >= 0 && p < 1) || !(alpha > 0 && alpha < 1) {
		return math.NaN(), math.NaN()
	}
	c := -mathext.NormalQuantile(alpha / 2)
	z := c
	if p < alpha {
		z = min(-mathext.NormalQuantile(max(p, 1e-300)/2), 37)
	}
	// much: the true effect, in standard errors, at which claimed effects have the mean z
	_, much := bisect(0, z, 60, func(effect float64) bool { return claimedMean(effect, c) < z })
	power = normalCDF(much-c) + normalCDF(-much-c)
	size := much*(normalCDF(much-c)-normalCDF(-much-c)) + normalDensity(c-much) + normalDensity(c+much)
	return power, size / power / much
}

// claimedMean returns the mean of Z ~ N(effect, 1) given that |Z| > c.
func claimedMean(effect, c float64) float64 {
	claimed := normalCDF(effect-c) + normalCDF(-effect-c)
	return effect + (normalDensity(c-effect)-normalDensity(c+effect))/claimed
}

// Looks are planned analyses of data that are not complete yet. All looks together make no more false claims than one
// test. Up to a share t of the data, the looks may use up the share t^1.5 of alpha (Kim and DeMets 1987, Design and
// analysis of group sequential tests based on the type I error spending rate function, Biometrika 74). The bound of
// each look follows from the joint distribution of all looks (Armitage, McPherson and Rowe 1969, Repeated significance
// tests on accumulating data, Journal of the Royal Statistical Society A 132). Methods give levels and p-values of the
// last look.
//
// Intervals at the level of the last look keep their confidence at all looks together, whatever the reason for stopping
// (Jennison and Turnbull 1989, Interim analyses: the repeated confidence interval approach, Journal of the Royal
// Statistical Society B 51).
type Looks struct {
	at    []float64 // the data that exist at each look, as a share of all planned data; ascending
	table func() [lookLevels]float64
}

const (
	spending = 1.5
	// lookLevels is the number of tabulated levels of all looks together, from 50 % to about 1 in 10^8. Their normal
	// quantiles differ by lookStep.
	lookLevels, lookStep = 24, 0.25
	// Densities are integrated over lookGrid points. The first point is lookFloor standard deviations below 0.
	lookGrid, lookFloor = 100, 6.5
)

// NewLooks returns the looks after given numbers of values, in ascending order. The argument most is the number of
// values when the data are complete.
func NewLooks(at []int, most int) (*Looks, error) {
	l := &Looks{}
	for i, n := range at {
		if n < 1 || n > most || i > 0 && n <= at[i-1] {
			return nil, fmt.Errorf("looks at %v of %d values: %w", at, most, errArgument)
		}
		l.at = append(l.at, float64(n)/float64(most))
	}
	if len(l.at) == 0 {
		return nil, fmt.Errorf("no looks: %w", errArgument)
	}
	l.table = sync.OnceValue(func() (t [lookLevels]float64) {
		for i := range t {
			t[i] = l.last(normalTail(float64(i) * lookStep))
		}
		return t
	})
	return l, nil
}

// Level returns the level of the one-sided test at the last look. alpha is the one-sided significance level of all
// looks together.
func (l *Looks) Level(alpha float64) float64 {
	if len(l.at) == 1 && l.at[0] == 1 {
		return alpha
	}
	table := l.table()
	x := -mathext.NormalQuantile(alpha) / lookStep
	i := min(max(int(x), 0), lookLevels-2)
	z := table[i] + (x-float64(i))*(table[i+1]-table[i])
	return normalTail(z)
}

// P corrects a one-sided p-value of the last look for all looks: it is the smallest level of all looks with a claim.
// Nil looks change nothing.
func (l *Looks) P(p float64) float64 {
	if l == nil {
		return p
	}
	if p >= l.Level(0.5) {
		return max(p, 0.5)
	}
	low, _ := bisect(0, lookLevels*lookStep, 60, func(z float64) bool { return l.Level(normalTail(z)) > p })
	return normalTail(low)
}

// bisect halves a range a number of times. holds(x) must be true below some point of the range and false above it; this
// point stays in the range.
func bisect(low, high float64, steps int, holds func(float64) bool) (float64, float64) {
	for range steps {
		if mid := (low + high) / 2; holds(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, high
}

// last returns the bound at the last look, in standard deviations. With this bound, the chance of a false claim is
// alpha over all looks together.
func (l *Looks) last(alpha float64) float64 {
	var points, density []float64 // density of the sum, for runs that stayed below the bounds of all earlier looks
	var width, before, bound float64
	for k, t := range l.at {
		spent := alpha * math.Pow(t, spending)
		var crossed func(z float64) float64 // chance that the sum is above z at this look, and was below the bounds of all earlier looks
		if k == 0 {
			crossed = normalTail
		} else {
			deviation := math.Sqrt(t - l.at[k-1])
			crossed = func(z float64) (p float64) {
				for i, x := range points {
					p += density[i] * normalTail((z*math.Sqrt(t)-x)/deviation)
				}
				return p * width
			}
		}
		low := 0.
		if crossed(0) < spent-before {
			low = -9
		}
		_, bound = bisect(low, 9, 50, func(z float64) bool { return crossed(z) > spent-before })
		before = spent
		if k == len(l.at)-1 {
			break
		}
		from, to := -lookFloor*math.Sqrt(t), bound*math.Sqrt(t)
		next, values := make([]float64, lookGrid), make([]float64, lookGrid)
		step := (to - from) / lookGrid
		for i := range next {
			x := from + (float64(i)+0.5)*step
			next[i] = x
			if k == 0 {
				values[i] = normalDensity(x/math.Sqrt(t)) / math.Sqrt(t)
				continue
			}
			deviation := math.Sqrt(t - l.at[k-1])
			for j, y := range points {
				values[i] += density[j] * normalDensity((x-y)/deviation) / deviation
			}
			values[i] *= width
		}
		points, density, width = next, values, step
	}
	return bound
}
