package stats

import (
	"math"
	"math/rand/v2"
)

// triples is the noise of rounds in which one or two others ran beside the arm.
type triples struct {
	pairs
	apart   []float64 // half the difference of the others, by residual; NaN: only one other ran
	lone    int       // number of rounds with one other
	removed bool      // AlignedRounds.PositionsRemoved
}

// mostly reports whether most rounds have two others. Calculations for normal noise then assume that all
// rounds have two others.
func (t *triples) mostly() bool { return 2*t.lone < len(t.apart) }

func (t *triples) claim(n int, alpha float64) float64 {
	if !t.mostly() {
		return t.pairs.claim(n, alpha)
	}
	return criticalDistance(t.err(n), alignedLevel(n, alpha), AlignedDF(n))
}

func (t *triples) equal(n int, alpha float64) float64 {
	byT := criticalDistance(t.sd/math.Sqrt(float64(n)), 2*alpha, float64(n-1))
	return max(byT, t.claim(n, 2*alpha))
}

// AlignedDF returns the approximate degrees of freedom of the error of a shift, estimated from n
// rounds with two others: each value beyond the mean of its round adds information.
func AlignedDF(n int) float64 { return 1.5 * float64(n-1) }

func (t *triples) most() int { return 80 }

// trials draws rounds. In each round, the sign of the arm's distance from the others flips at random, and
// so does the order of the others. The noise is assumed symmetric, and the arm's noise keeps its observed
// spread.
func (t *triples) trials(n int, a *Aim) func(*rand.Rand, float64) bool {
	r := AlignedRounds{Contrasts: make([]float64, n), OthersDelta: make([]float64, n), PositionsRemoved: t.removed}
	factor := 0.0
	if n > 1 {
		factor = -StudentQuantile(a.Alpha, float64(n-1)) / math.Sqrt(float64(n))
	}
	return func(rng *rand.Rand, effect float64) bool {
		for i := range n {
			k := rng.IntN(4 * len(t.residuals))
			c, h := t.residuals[k/4], t.apart[k/4]
			if k&1 != 0 {
				c = -c
			}
			if k&2 != 0 {
				h = -h
			}
			r.Contrasts[i], r.OthersDelta[i] = c+effect, h
		}
		rounds, err := r.align("drawn rounds")
		if err != nil {
			return false
		}
		if lower, upper := rounds.normalTails(0); twoSided(lower, upper) <= a.Alpha {
			return true
		}
		inside := func(half, level float64) bool {
			if _, above := rounds.normalTails(-half); above > level {
				return false
			}
			below, _ := rounds.normalTails(half)
			return below <= level
		}
		if mean, sd := meanSD(r.Contrasts); a.Margin <= 0 || math.Abs(mean)+factor*sd >= a.Margin {
			return false
		}
		return inside(a.Margin, a.Alpha) && (a.Reach <= 0 || inside(a.Reach, a.Shown/2))
	}
}
