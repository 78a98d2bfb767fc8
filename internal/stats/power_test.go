package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// studentTestPower returns the chance that a paired t test over n rounds claims an effect.
func studentTestPower(effect, sd float64, n int, alpha float64) float64 {
	return studentPower(math.Abs(effect)/sd*math.Sqrt(float64(n)), float64(n-1), -StudentQuantile(alpha/2, float64(n-1)))
}

func TestPowerEdges(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"no spread", DetectableEffect(0, 6, 0.05, 0.8), 0},
		{"one round", DetectableEffect(1, 1, 0.05, 0.8), math.NaN()},
		{"power below alpha", DetectableEffect(1, 6, 0.05, 0.01), math.NaN()},
		{"certainty", DetectableEffect(1, 6, 0.05, 1), math.NaN()},
		{"almost certainty", studentTestPower(DetectableEffect(1, 3, 0.05, 1-1e-9), 1, 3, 0.05), 1 - 1e-9},
		{"no effect: the level itself", studentTestPower(0, 1, 10, 0.05), 0.05},
		{"huge effect", studentTestPower(1e9, 1, 2, 0.001), 1},
		{"two rounds at a strict level", studentTestPower(DetectableEffect(1, 2, 1e-6, 0.9), 1, 2, 1e-6), 0.9},
		{"very many rounds", studentTestPower(DetectableEffect(1, 100000, 0.05, 0.9), 1, 100000, 0.05), 0.9},
		{"signed rank below six rounds", SignedRankPower(1, 1, 5, 0.05), 0},
		{"signed rank with nothing to claim", signedRankDetectable(1, 5, 0.05, 0.8), math.NaN()},
		{"signed rank of six: all of one sign", SignedRankPower(0, 1, 6, 0.05), 0.03125},
		{"signed rank, there and back", SignedRankPower(signedRankDetectable(2, 12, 0.05, 0.8), 2, 12, 0.05), 0.8},
		{"Welch without spread", WelchDetectableEffect(0, 0, 4, 4, 0.05, 0.8), 0},
		{"Welch of one value", WelchDetectableEffect(1, 1, 1, 4, 0.05, 0.8), math.NaN()},
		{"Welch, only one sample varies: t of that sample", WelchDetectableEffect(0, 2, 5, 7, 0.05, 0.8), DetectableEffect(2, 7, 0.05, 0.8)},
		{"Welch, power below alpha", WelchDetectableEffect(1, 1, 4, 4, 0.05, 0.01), math.NaN()},
		{"rank sum without spread", RankSumDetectableEffect(0, 4, 4, 0.05, 0.8), 0},
		{"rank sum with nothing to claim", RankSumDetectableEffect(1, 3, 4, 0.05, 0.8), math.NaN()},
		{"rank sum of an empty sample", RankSumDetectableEffect(1, 0, 4, 0.05, 0.8), math.NaN()},
		{"rank sum of 4 and 4: separation", rankSumPower(4, 4, 0.05)(0), 2. / 70},
		{"rank sum, there and back", rankSumPower(9, 7, 0.05)(RankSumDetectableEffect(3, 9, 7, 0.05, 0.8) / 3 / twoSampleError(9, 7)), 0.8},
		{"separation of 4 and 4: 2 of 70", RankSumLeast(4, 4), 2. / 70},
		{"separation of 3 and 5: 2 of 56", RankSumLeast(3, 5), 2. / 56},
		{"separation of 1 and 1: always", RankSumLeast(1, 1), 1},
		{"separation from nothing", RankSumLeast(0, 9), 1},
	} {
		if math.Abs(c.got-c.want) > 1e-9 || math.IsNaN(c.got) != math.IsNaN(c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// RankSumLeast equals the p of RankSum when the samples do not overlap.
func TestRankSumLeast(t *testing.T) {
	for _, size := range [][2]int{{4, 4}, {3, 5}, {9, 6}, {50, 50}, {51, 4}, {60, 80}} {
		m, n := size[0], size[1]
		x, y := make([]float64, m), make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}
		for i := range y {
			y[i] = float64(1000 + i)
		}
		got, err := RankSum(x, y, 0.5)
		if want := RankSumLeast(m, n); err != nil || !(math.Abs(got.P-want) <= 1e-12*want) {
			t.Errorf("%d and %d: p %v, %v; want %v", m, n, got.P, err, want)
		}
	}
}

func TestPowerAgainstGonum(t *testing.T) {
	for _, n := range []int{2, 3, 6, 12, 50, 1000} {
		for _, alpha := range []float64{0.05, 0.001} {
			for _, shift := range []float64{0, 0.5, 2, 5, 15, 30} {
				critical := StudentQuantile(1-alpha/2, float64(n-1))
				t0 := distuv.NoncentralT{Nu: float64(n - 1), Mu: shift}
				want := 1 - t0.CDF(critical) + t0.CDF(-critical)
				if got := studentPower(shift, float64(n-1), critical); math.Abs(got-want) > 1e-9 {
					t.Errorf("power for shift %v, n = %d, alpha = %v: %v, want %v", shift, n, alpha, got, want)
				}
			}
		}
	}
}
