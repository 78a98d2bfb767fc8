package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The figures are from Simpson's rule over the densities, with bisection for the effect. Power and
// exaggeration ratio are those of Gelman & Carlin's retrodesign.
func TestExaggeration(t *testing.T) {
	for _, c := range []struct{ p, alpha, power, factor float64 }{
		{1e-12, 0.05, 1, 1},
		{0.0005, 0.05, 0.91035, 1.05385},
		{0.00579, 0.05, 0.50226, 1.40412}, // z is the threshold plus √(2/π): half of the runs claim
		{0.02, 0.05, 0.1205, 3.1682},
		{0.2, 0.05, 0.07717, 4.94725},
		{0.001, 0.01, 0.40272, 1.41254},
	} {
		power, factor := Exaggeration(c.p, c.alpha)
		if math.Abs(power-c.power) > 1e-4 || math.Abs(factor/c.factor-1) > 1e-4 {
			t.Errorf("p = %v at %v: power %.3f, factor %.3f; want %v and %v", c.p, c.alpha, power, factor, c.power, c.factor)
		}
	}
	for _, bad := range [][2]float64{{math.NaN(), 0.05}, {1, 0.05}, {0.01, 0}, {-1, 0.05}} {
		if power, factor := Exaggeration(bad[0], bad[1]); !math.IsNaN(power) || !math.IsNaN(factor) {
			t.Errorf("Exaggeration(%v) = %v, %v", bad, power, factor)
		}
	}
	// Simulated experiments of that power show the factor.
	rng := rand.New(rand.NewPCG(1, 1))
	z := 2.5
	p := 2 * StudentTail(z, 1e9)
	power, factor := Exaggeration(p, 0.05)
	effect := 0.0
	for claimedMean(effect, 1.959964) < z {
		effect += 1e-4
	}
	claims, sum := 0, 0.0
	const times = 200_000
	for range times {
		if x := math.Abs(effect + rng.NormFloat64()); x > 1.959964 {
			claims, sum = claims+1, sum+x
		}
	}
	if got := float64(claims) / times; math.Abs(got-power) > 0.004 {
		t.Errorf("%v of experiments claim, power %v", got, power)
	}
	if got := sum / float64(claims) / effect; math.Abs(got/factor-1) > 0.01 {
		t.Errorf("claims are %v times as large, factor %v", got, factor)
	}
}
