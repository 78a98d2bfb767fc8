package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	signFlips   = 1999 // number of subsets that are drawn if not all subsets are used
	mostSubsets = 11   // largest number of values for which all subsets are used
)

// SignFlip estimates the mean of d, usually one difference per round, if the noise is symmetric. The randomisation
// test of Fisher (1935) flips the signs of values. The bounds of the interval are means of random subsets of the
// values (Hartigan 1969, "Using subsample values as typical values", Journal of the American Statistical Association
// 64). SignFlip suits counts: if most differences are zero, ranks lose most of the information.
//
// SignFlip needs as many values as [SignedRank]. P is two-sided. With more than 11 values, P comes from 1,999 random
// subsets, which are the same for all samples of one size.
func SignFlip(d []float64, confidence float64) (Estimate, error) {
	const name = "sign flip"
	if err := checkPairs(name, d, confidence); err != nil {
		return Estimate{}, err
	}
	means := subsetMeans(d)
	tail := (1 - confidence) / 2 * (1 + 1e-12)
	k := int(tail * float64(len(means)+1))
	if k < 1 {
		return Estimate{}, fmt.Errorf("%s: %d subsets give no interval of %g %%: %w", name, len(means), 100*confidence, ErrTooFew)
	}
	e := Estimate{Interval: Interval{Point: stat.Mean(d, nil), Lo: means[k-1], Hi: means[len(means)-k]}, N: len(d)}
	e.Lo, e.Hi = min(e.Lo, e.Point), max(e.Hi, e.Point)
	e.P = twoSided(tailAt(means, 0))
	e.equivalence = bothTails(func(shift float64) (lower, upper float64) {
		lower, upper = tailAt(means, -shift)
		return upper, lower
	})
	return e, nil
}

// tailAt returns the shares of the sorted subset means that lie at v or below, and at v or above. Both counts include
// one additional mean at v.
func tailAt(means []float64, v float64) (lower, upper float64) {
	below, _ := slices.BinarySearch(means, v)
	upTo, _ := slices.BinarySearch(means, math.Nextafter(v, math.Inf(1)))
	all := float64(len(means) + 1)
	return float64(upTo+1) / all, float64(len(means)-below+1) / all
}

// subsetMeans returns the sorted means of all nonempty subsets of x, or of random subsets if x is long.
func subsetMeans(x []float64) []float64 {
	n := len(x)
	var means []float64
	add := func(in func(i int) bool) {
		sum, count := 0.0, 0
		for i, v := range x {
			if in(i) {
				sum, count = sum+v, count+1
			}
		}
		if count > 0 {
			means = append(means, sum/float64(count))
		}
	}
	if n <= mostSubsets {
		for set := range 1 << n {
			add(func(i int) bool { return set>>i&1 == 1 })
		}
	} else {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		for len(means) < signFlips {
			var bits uint64
			add(func(i int) bool {
				if i%64 == 0 {
					bits = rng.Uint64()
				}
				return bits>>(i%64)&1 == 1
			})
		}
	}
	slices.Sort(means)
	return means
}
