package stats

import (
	"fmt"
	"math"
)

// Weighted is a sample with a weight. The weight multiplies the sample's mean in a sum.
type Weighted struct {
	Weight float64
	Values []float64
}

// WelchSum estimates a weighted sum of the means of independent samples with unequal variances,
// with the Welch–Satterthwaite degrees of freedom (Welch 1947). Each sample needs at least two
// values. The weights -1 and 1 give WelchT; -1, 1, 1, -1 give the difference of two differences.
func WelchSum(samples []Weighted, confidence float64) (Estimate, error) {
	const name = "Welch sum"
	if err := checkConfidence(name, confidence); err != nil {
		return Estimate{}, err
	}
	sum, se, df, err := welchSum(name, samples)
	if err != nil {
		return Estimate{}, err
	}
	n := 0
	for _, s := range samples {
		n += len(s.Values)
	}
	return studentEstimate(sum, se, df, confidence, n), nil
}

// welchSum returns the weighted sum of the means, its standard error and the
// degrees of freedom.
func welchSum(name string, samples []Weighted) (sum, se, df float64, err error) {
	if err := checkCount(name+", samples", len(samples), 1); err != nil {
		return 0, 0, 0, err
	}
	var variance, spread, magnitude float64
	for i, s := range samples {
		which := fmt.Sprintf("%s, sample %d", name, i+1)
		if math.IsNaN(s.Weight) || math.IsInf(s.Weight, 0) {
			return 0, 0, 0, fmt.Errorf("%s: weight %v is not a finite number: %w", which, s.Weight, errArgument)
		}
		if err := checkValues(which, s.Values, 2); err != nil {
			return 0, 0, 0, err
		}
		mean, sd := meanSD(s.Values)
		n := float64(len(s.Values))
		v := s.Weight * s.Weight * sd * sd / n
		sum += s.Weight * mean
		variance += v
		spread += v * v / (n - 1)
		magnitude = max(magnitude, math.Abs(s.Weight*mean))
	}
	se = math.Sqrt(variance)
	if negligible(se, magnitude) {
		return 0, 0, 0, fmt.Errorf("%s: no sample varies: %w", name, ErrConstant)
	}
	return sum, se, variance * variance / spread, nil
}
