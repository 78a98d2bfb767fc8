package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// pairs holds the noise of contrasts. Each round has one contrast.
type pairs struct {
	sd        float64 // standard deviation of a contrast
	scale     float64 // standard error of the estimate by ranks, times √n, in the unit of a contrast
	residuals []float64
}

func (p *pairs) err(n int) float64 { return p.scale / math.Sqrt(float64(n)) }

func (p *pairs) claim(n int, alpha float64) float64 {
	return criticalDistance(p.err(n), signedRankNull(n).level(alpha), float64(n-1))
}

func (p *pairs) equal(n int, alpha float64) float64 {
	return criticalDistance(max(p.scale, p.sd)/math.Sqrt(float64(n)), signedRankNull(n).level(2*alpha), float64(n-1))
}

// criticalDistance returns the distance from 0 at which t is significant at a two-sided level: the quantile of t
// times the standard error.
func criticalDistance(err, level, df float64) float64 {
	if level <= 0 || df < 1 {
		return math.Inf(1)
	}
	return -StudentQuantile(level/2, df) * err
}

func (p *pairs) most() int { return 120 }

// simulation returns a function that simulates and tests one run. Counting Walsh averages is faster than computing
// intervals.
func (p *pairs) simulation(n int, a *Aim) func(*rand.Rand, float64) bool {
	null := signedRankNull(n)
	claim, equal, shown := null.depth(a.Alpha), null.depth(2*a.Alpha), null.depth(a.Shown)
	t := -StudentQuantile(a.Alpha, float64(n-1)) / math.Sqrt(float64(n))
	e := make(walshAverages, n)
	return func(rng *rand.Rand, effect float64) bool {
		for i := range e {
			k := rng.IntN(2 * len(p.residuals))
			e[i] = p.residuals[k/2]
			if k%2 == 1 {
				e[i] = -e[i]
			}
		}
		slices.Sort(e)
		if differs(e, effect, claim) {
			return true
		}
		if a.Margin <= 0 || !inside(e, effect, a.Margin, equal) || a.Reach > 0 && !inside(e, effect, a.Reach, shown) {
			return false
		}
		mean, sd := meanSD(e)
		return math.Abs(mean+effect)+t*sd < a.Margin
	}
}

// differs reports whether 0 lies outside an interval: from the depth-th smallest to the depth-th largest member, plus
// the effect.
func differs(members combinations, effect float64, depth int) bool {
	below := members.atMost(-effect)
	return min(below, members.size()-below) < depth
}

// inside reports whether an interval lies between -half and half: from the depth-th smallest to the depth-th largest
// member, plus the effect.
func inside(members combinations, effect, half float64, depth int) bool {
	return members.atMost(-half-effect) < depth && members.size()-members.atMost(half-effect) < depth
}

// samples is the noise of unpaired data: one sample of each arm, with independent values.
type samples struct {
	scale float64 // standard deviation of the difference of two values, one of each sample, as believed
	x, y  []float64
}

func (s *samples) err(n int) float64 { return s.scale / math.Sqrt(float64(n)) }

func (s *samples) claim(n int, alpha float64) float64 {
	return criticalDistance(s.err(n), rankSumNull(n, n).level(alpha), float64(2*n-2))
}

func (s *samples) equal(n int, alpha float64) float64 { return s.claim(n, 2*alpha) }

func (s *samples) most() int { return maxExactRankSum }

func (s *samples) simulation(n int, a *Aim) func(*rand.Rand, float64) bool {
	null := rankSumNull(n, n)
	claim, equal, shown := null.depth(a.Alpha), null.depth(2*a.Alpha), null.depth(a.Shown)
	d := differences{x: make([]float64, n), y: make([]float64, n)}
	return func(rng *rand.Rand, effect float64) bool {
		for i := range n { // x and y are drawn in turn, so that their first values are the same for every n
			d.x[i], d.y[i] = s.x[rng.IntN(len(s.x))], s.y[rng.IntN(len(s.y))]
		}
		slices.Sort(d.x)
		slices.Sort(d.y)
		meanX, sdX := meanSD(d.x)
		meanY, sdY := meanSD(d.y)
		if sdX == 0 && sdY == 0 {
			return false
		}
		se, df := welchError(sdX, sdY, n, n)
		mean := math.Abs(meanY - meanX + effect)
		t := func(level float64) float64 { return -se * StudentQuantile(level, math.Floor(df)) } // quantiles of whole degrees of freedom are cached
		switch {
		case differs(d, effect, claim) && mean > t(a.Alpha/2):
			return true
		case a.Margin <= 0 || !inside(d, effect, a.Margin, equal) || mean+t(a.Alpha) > a.Margin:
			return false
		}
		return a.Reach <= 0 || inside(d, effect, a.Reach, shown) && mean+t(a.Shown/2) < a.Reach
	}
}

// triples is the noise of rounds in which one or two other arms ran.
type triples struct {
	pairs
	apart   []float64 // half the difference of the two other arms in the round of each residual; NaN: only one other arm ran
	lone    int       // number of rounds in which only one other arm ran
	removed bool      // set if position effects were subtracted from the values
}

// claim takes the same number of other arms for every round, although the rounds may differ: the number that most
// rounds have.
func (t *triples) claim(n int, alpha float64) float64 {
	if 2*t.lone >= len(t.apart) {
		return t.pairs.claim(n, alpha)
	}
	return criticalDistance(t.err(n), alignedLevel(n, alpha), AlignedDF(n))
}

func (t *triples) equal(n int, alpha float64) float64 {
	byT := criticalDistance(t.sd/math.Sqrt(float64(n)), 2*alpha, float64(n-1))
	return max(byT, t.claim(n, 2*alpha))
}

// AlignedDF returns the approximate degrees of freedom of a shift's error, if each of n rounds has the arm and two
// other arms.
func AlignedDF(n int) float64 { return 1.5 * float64(n-1) }

func (t *triples) most() int { return 80 }

// simulation returns a function that draws n rounds from the observed rounds, and tests the drawn rounds. Random signs
// make the noise symmetric.
func (t *triples) simulation(n int, a *Aim) func(*rand.Rand, float64) bool {
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
