package analysis

import (
	"tare/analysis/contrast"
	"tare/stats"
)

// ranks says whether a method claims nothing that the signed-rank test does not.
func ranks(method string) bool {
	return method == contrast.MethodSignedRank || method == contrast.MethodBoth
}

// unitEffects remembers the minimum detectable effect for a deviation of 1, which
// takes longer to work out than all the rest of a comparison.
type unitEffects map[unitCase]float64

type unitCase struct {
	n            int
	alpha, power float64
	ranks        bool
}

// at is 0 where so few pairs can claim nothing.
func (u unitEffects) at(c unitCase) float64 {
	v, ok := u[c]
	if !ok {
		if c.ranks {
			v = contrast.Finite(stats.SignedRankDetectableEffect(1, c.n, c.alpha, c.power))
		} else {
			v = contrast.Finite(stats.DetectableEffect(1, c.n, c.alpha, c.power))
		}
		u[c] = v
	}
	return v
}
