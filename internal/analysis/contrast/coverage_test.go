package contrast

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/experiment"
	"tare/internal/stats"
)

var runs = flag.Int("runs", 2000, "simulated comparisons in each case of TestCoverage")

// TestCoverage counts how often the 95 % interval of two independent samples contains the true
// value, and how often the interval of ranks alone does. docs/method.md quotes it; -v prints it.
func TestCoverage(t *testing.T) {
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	skewed := func(r *rand.Rand) float64 { return r.ExpFloat64() }
	spiky := func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() }
	for _, c := range []struct {
		name   string
		m, n   int
		spread float64 // spread of the arm; the baseline's is 1
		noise  func(*rand.Rand) float64
	}{
		{"normal", 4, 4, 1, normal},
		{"normal", 6, 6, 1, normal},
		{"normal", 30, 30, 1, normal},
		{"skewed", 6, 6, 1, skewed},
		{"skewed", 30, 30, 1, skewed},
		{"spiky", 30, 30, 1, spiky},
		{"normal", 60, 20, 2.5, normal},
		{"normal", 40, 12, 3, normal},
		{"normal", 100, 10, 5, normal},
		{"normal", 10, 100, 5, normal},
	} {
		random := rand.New(rand.NewPCG(uint64(c.m), uint64(c.n)))
		draw := func(n int, spread float64) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Exp(0.01 * spread * c.noise(random))
			}
			return x
		}
		holds := func(i stats.Interval) int {
			if i.Lo <= 0 && 0 <= i.Hi {
				return 1
			}
			return 0
		}
		both, ranks := 0, 0
		for range *runs {
			d := Data{Metric: experiment.Metric{Better: experiment.Lower, Scale: experiment.Ratio}, Baseline: draw(c.m, 1), Treated: draw(c.n, c.spread)}
			both += holds(level95.Estimate(&d).Main.At)
			x, y := d.Scaled()
			alone, err := stats.RankSum(x, y, level95.Confidence)
			if err != nil {
				t.Fatal(err)
			}
			ranks += holds(alone.Interval)
		}
		share, n := float64(both)/float64(*runs), float64(*runs)
		t.Logf("%s, %3d + %3d values, spreads 1 and %v: %.1f %%, by ranks alone %.1f %%", c.name, c.m, c.n, c.spread, 100*share, 100*float64(ranks)/n)
		if least := 0.945 - 3*math.Sqrt(0.05*0.95/n); share < least {
			t.Errorf("%s, %d + %d values, spreads 1 and %v: %.2f %% hold, under %.2f %%", c.name, c.m, c.n, c.spread, 100*share, 100*least)
		}
	}
}
