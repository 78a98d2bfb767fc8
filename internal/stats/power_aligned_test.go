package stats

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/test/slow"
)

var alignedPowerN = flag.Int("alignedpower.n", 1500, "simulated runs behind each share of TestAlignedRankPower")

// TestAlignedRankPower compares AlignedRankPower with the share of claims of the test.
func TestAlignedRankPower(t *testing.T) {
	slow.Test(t)
	for _, c := range []struct {
		n     int
		alpha float64
		slack float64
	}{
		{6, 0.05, 0.03}, {8, 0.05, 0.03}, {12, 0.05, 0.03}, {20, 0.05, 0.03}, {60, 0.05, 0.03}, {10, 0.1, 0.03},
		{6, 0.0125, 0.03}, {12, 0.0125, 0.03}, {6, 0.05 / 12, 0.03}, {10, 0.05 / 12, 0.03}, {7, 0.05 / 40, 0.03},
		{7, 0.05 / 12, 0.05}, {8, 0.05 / 40, 0.05}, // some levels are above the smallest p
	} {
		for _, power := range []float64{0.5, 0.8, 0.95} {
			effect := AssuredEffect(power, 1e6, func(effect float64) float64 { return AlignedRankPower(effect, math.Sqrt(1.5), c.n, c.alpha) })
			rng := rand.New(rand.NewPCG(uint64(c.n), 1))
			r := AlignedRounds{Contrasts: make([]float64, c.n), OthersDelta: make([]float64, c.n)}
			found := 0
			for range *alignedPowerN {
				for i := range c.n {
					a, x, y := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
					r.Contrasts[i], r.OthersDelta[i] = effect+a-(x+y)/2, (y-x)/2
				}
				a, err := r.align("test")
				if err != nil {
					t.Fatal(err)
				}
				if lower, upper := a.tails(0); twoSided(lower, upper) <= c.alpha {
					found++
				}
			}
			got := float64(found) / float64(*alignedPowerN)
			t.Logf("%d rounds at %.4f: %.3f, said %.2f", c.n, c.alpha, got, power)
			if math.Abs(got-power) > c.slack+3*math.Sqrt(power*(1-power)/float64(*alignedPowerN)) {
				t.Errorf("%d rounds at %.4f: %.3f, said %.2f", c.n, c.alpha, got, power)
			}
		}
	}
}

// TestAssuredEffect draws the deviation in whose unit an effect is given.
func TestAssuredEffect(t *testing.T) {
	slow.Test(t)
	for _, n := range []int{6, 10, 30} {
		at := func(effect float64) float64 { return AlignedRankPower(effect, 1, n, 0.05) }
		told := AssuredEffect(0.8, float64(n-1), at)
		rng := rand.New(rand.NewPCG(uint64(n), 2))
		sum, plain, x := 0.0, 0.0, make([]float64, n)
		const times = 2000
		known := AssuredEffect(0.8, 1e6, at)
		for range times {
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			_, sd := meanSD(x)
			sum += at(sd*told) / times
			plain += at(sd*known) / times
		}
		t.Logf("%d rounds: %.3f on average, %.3f as if the deviation were known", n, sum, plain)
		if math.Abs(sum-0.8) > 0.015 || plain > sum {
			t.Errorf("%d rounds: found with %.3f, and %.3f as if the deviation were known", n, sum, plain)
		}
	}
	never := func(float64) float64 { return 0 }
	for name, got := range map[string]float64{
		"no power":           AssuredEffect(0.8, 5, never),
		"certainty":          AssuredEffect(1, 5, func(float64) float64 { return 1 }),
		"no degrees":         AssuredEffect(0.8, 0, func(float64) float64 { return 1 }),
		"too few rounds":     AssuredEffect(0.8, 2, func(e float64) float64 { return AlignedRankPower(e, 1, 3, 0.05) }),
		"power of no spread": AlignedRankPower(1, 0, 10, 0.05),
		"power at no level":  AlignedRankPower(1, 1, 10, 0),
		"power of no rounds": AlignedRankPower(1, 1, 0, 0.05),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, n := range []int{4, 7} { // without effect, if only the smallest p is a claim, the power is that p
		if got, want := AlignedRankPower(0, 1, n, AlignedRankLeast(0, n)), AlignedRankLeast(0, n); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d rounds at their smallest p: %v, want %v", n, got, want)
		}
	}
	if got := AlignedRankPower(1, 1, 3, 0.05); got != 0 {
		t.Errorf("three rounds claim with %v", got)
	}
	if got := rankEfficiency * rankEfficiency; math.Abs(alignedEfficiency*alignedEfficiency-0.9661) > 1e-4 || math.Abs(got-0.9549) > 1e-4 {
		t.Errorf("efficiencies %v, %v", alignedEfficiency*alignedEfficiency, got)
	}
}
