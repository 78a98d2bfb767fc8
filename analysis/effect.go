package analysis

import (
	"math"

	"tare/analysis/contrast"
	"tare/stats"
)

// unitEffects remembers the minimum detectable effect for a deviation of 1, which
// takes longer to work out than all the rest of a comparison.
type unitEffects map[unitCase]float64

type unitCase struct {
	n            int // pairs, or values of the baseline
	treated      int // values of the arm; 0: pairs
	alpha, power float64
	ranks        bool
}

// at is 0 where so few pairs can claim nothing.
func (u unitEffects) at(c unitCase) float64 {
	v, ok := u[c]
	if !ok {
		switch {
		case c.treated > 0 && c.ranks:
			v = stats.RankSumDetectableEffect(1, c.n, c.treated, c.alpha, c.power)
		case c.treated > 0:
			v = stats.WelchDetectableEffect(1, 1, c.n, c.treated, c.alpha, c.power)
		case c.ranks:
			v = stats.SignedRankDetectableEffect(1, c.n, c.alpha, c.power)
		default:
			v = stats.DetectableEffect(1, c.n, c.alpha, c.power)
		}
		v = contrast.Finite(v)
		u[c] = v
	}
	return v
}

func unitOf(h *hypothesis, alpha, power float64) unitCase {
	c := unitCase{n: len(h.Contrasts), alpha: alpha, power: power, ranks: contrast.Ranks(h.Method)}
	if !h.Paired {
		c.n, c.treated = len(h.Baseline), len(h.Treated)
	}
	return c
}

// deviation is that of one contrast. Of independent samples it is the deviation
// that gives the difference of both the standard error it has, if both had it:
// the smaller sample's counts for more.
func deviation(h *hypothesis) float64 {
	if h.Paired {
		return h.SD
	}
	m, n := float64(len(h.Baseline)), float64(len(h.Treated))
	return math.Hypot(h.Spread[0]*math.Sqrt(n), h.Spread[1]*math.Sqrt(m)) / math.Sqrt(m+n)
}

// needed is how many rounds, or values of each arm, would resolve the observed
// effect; 0 if over the most or if that cannot be said.
func needed(h *hypothesis, alpha, power float64) int {
	effect := math.Abs(h.Main.At.Point)
	if h.Paired {
		return stats.SignedRankRoundsNeeded(effect, h.SD, alpha, power, mostRounds)
	}
	return stats.RankSumNeeded(effect, h.SD, alpha, power, mostRounds)
}
