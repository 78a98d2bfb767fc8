package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// BootstrapPercentile bounds a statistic of x between the percentiles of its
// values over resamples of x drawn with replacement (Efron 1979). It is for
// statistics without an interval of their own; for few values (n < 20 or so)
// it covers less often than asked, see the table in the package comment. The
// same seed gives the same interval. x must hold independent units: rounds or
// trials, never the requests inside a trial.
func BootstrapPercentile(x []float64, stat func([]float64) float64, confidence float64, resamples int, seed uint64) (Interval, error) {
	const name = "bootstrap"
	if err := checkFinite(name, x); err != nil {
		return Interval{}, err
	}
	return BootstrapRounds(len(x), onValues(x, stat), confidence, resamples, seed)
}

// BootstrapRounds is BootstrapPercentile for a statistic of whole rounds, such
// as a slope over a sweep: stat is given the numbers (from 0 to n-1) of the
// rounds in a resample, some of them more than once. It must not keep them.
func BootstrapRounds(n int, stat func(rounds []int) float64, confidence float64, resamples int, seed uint64) (Interval, error) {
	const name = "bootstrap"
	if err := checkBootstrap(name, n, confidence, resamples); err != nil {
		return Interval{}, err
	}
	point, replicates, err := replicate(name, n, stat, resamples, seed)
	if err != nil {
		return Interval{}, err
	}
	tail := (1 - confidence) / 2
	return Interval{Point: point, Lo: Quantile(replicates, tail), Hi: Quantile(replicates, 1-tail)}, nil
}

// BootstrapBCa is BootstrapPercentile with the percentiles moved to correct
// for bias and for a spread that depends on the value (Efron 1987: bias
// corrected and accelerated, acceleration by the jackknife). Values that do
// not vary give an interval of no width.
func BootstrapBCa(x []float64, stat func([]float64) float64, confidence float64, resamples int, seed uint64) (Interval, error) {
	const name = "BCa bootstrap"
	if err := checkFinite(name, x); err != nil {
		return Interval{}, err
	}
	if err := checkBootstrap(name, len(x), confidence, resamples); err != nil {
		return Interval{}, err
	}
	statistic := onValues(x, stat)
	point, replicates, err := replicate(name, len(x), statistic, resamples, seed)
	if err != nil {
		return Interval{}, err
	}
	jackknife := make([]float64, len(x))
	for left := range x {
		kept := make([]int, 0, len(x)-1)
		for i := range x {
			if i != left {
				kept = append(kept, i)
			}
		}
		jackknife[left] = statistic(kept)
	}
	if err := checkFinite(name+", jackknife", jackknife); err != nil {
		return Interval{}, err
	}
	return bcaInterval(point, replicates, jackknife, confidence), nil
}

// bcaInterval reads the corrected percentiles from the sorted replicates.
func bcaInterval(point float64, replicates, jackknife []float64, confidence float64) Interval {
	below, equal := 0.0, 0.0
	for _, r := range replicates {
		if r < point {
			below++
		} else if r == point {
			equal++
		}
	}
	share := (below + equal/2) / float64(len(replicates))
	if replicates[0] == replicates[len(replicates)-1] || share == 0 || share == 1 {
		// No spread, or a point beyond every resample: there is no bias to
		// correct, or no finite correction.
		return Interval{Point: point, Lo: min(point, replicates[0]), Hi: max(point, replicates[len(replicates)-1])}
	}
	mean, _ := meanSD(jackknife)
	var squares, cubes float64
	for _, j := range jackknife {
		squares += (mean - j) * (mean - j)
		cubes += (mean - j) * (mean - j) * (mean - j)
	}
	acceleration := 0.0
	if squares > 0 {
		acceleration = cubes / (6 * math.Pow(squares, 1.5))
	}
	bias := distuv.UnitNormal.Quantile(share)
	moved := func(p float64) float64 {
		z := bias + distuv.UnitNormal.Quantile(p)
		return distuv.UnitNormal.CDF(bias + z/(1-acceleration*z))
	}
	tail := (1 - confidence) / 2
	return Interval{Point: point, Lo: Quantile(replicates, moved(tail)), Hi: Quantile(replicates, moved(1-tail))}
}

// onValues turns a statistic of values into one of their numbers.
func onValues(x []float64, stat func([]float64) float64) func([]int) float64 {
	buffer := make([]float64, len(x))
	return func(rounds []int) float64 {
		sample := buffer[:len(rounds)]
		for i, at := range rounds {
			sample[i] = x[at]
		}
		return stat(sample)
	}
}

// replicate returns the statistic of all rounds and, sorted, of each resample.
func replicate(name string, n int, stat func([]int) float64, resamples int, seed uint64) (point float64, replicates []float64, err error) {
	rounds := make([]int, n)
	for i := range rounds {
		rounds[i] = i
	}
	point = stat(rounds)
	random := rand.New(rand.NewPCG(seed, 0))
	replicates = make([]float64, resamples)
	for r := range replicates {
		for i := range rounds {
			rounds[i] = random.IntN(n)
		}
		replicates[r] = stat(rounds)
	}
	if err := checkFinite(name+", statistic", append(slices.Clone(replicates), point)); err != nil {
		return 0, nil, err
	}
	slices.Sort(replicates)
	return point, replicates, nil
}

func checkBootstrap(name string, n int, confidence float64, resamples int) error {
	if err := checkConfidence(name, confidence); err != nil {
		return err
	}
	if err := checkCount(name, n, 2); err != nil {
		return err
	}
	if least := int(math.Ceil(2/(1-confidence) - 1e-9)); resamples < least {
		return fmt.Errorf("%s: %d resamples, at least %d needed at %g %%: %w", name, resamples, least, 100*confidence, ErrArgument)
	}
	return nil
}
