package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sums of independent increments cross any bound with probability alpha at most, and each look
// spends its share of alpha.
func TestLooks(t *testing.T) {
	at := []int{6, 9, 13, 19, 28, 40}
	const alpha = 0.025
	bounds := make([]float64, len(at))
	for k := range at {
		l, err := NewLooks(at[:k+1], 40)
		if err != nil {
			t.Fatal(err)
		}
		bounds[k] = -distuv.UnitNormal.Quantile(l.Level(alpha))
		if p := l.P(l.Level(alpha)); math.Abs(p-alpha) > 1e-6 {
			t.Errorf("the level of look %d is reached at %v", k+1, p)
		}
		if p, q := l.P(0.4), l.P(0.9); !(p < q && q <= 1) {
			t.Errorf("large p: %v and %v", p, q)
		}
	}
	const runs = 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	crossed, usual := make([]int, len(at)), 0
	for range runs {
		sum, n, most := 0., 0, 0.
		z := make([]float64, len(at))
		for k, to := range at {
			sum += math.Sqrt(float64(to-n)) * rng.NormFloat64()
			n = to
			z[k] = sum / math.Sqrt(float64(n))
			most = max(most, math.Abs(z[k]))
		}
		if most >= distuv.UnitNormal.Quantile(0.975) {
			usual++
		}
		for k := range z {
			if z[k] >= bounds[k] {
				crossed[k]++
				break
			}
		}
	}
	all := 0
	for k, n := range crossed {
		all += n
		want := alpha * math.Pow(float64(at[k])/40, spending)
		if got := float64(all) / runs; math.Abs(got-want) > 4*math.Sqrt(want/runs) {
			t.Errorf("spent up to look %d: %v, want %v", k+1, got, want)
		}
	}
	t.Logf("bounds %.3f; who looks as often at the usual two-sided 5 %% claims in %.1f %%", bounds, 100*float64(usual)/runs)
	if l, err := NewLooks([]int{12}, 12); err != nil || l.Level(0.025) != 0.025 {
		t.Errorf("one look at all: %v, %v", l, err)
	}
	for _, bad := range [][]int{nil, {0}, {3, 3}, {5, 50}} {
		if _, err := NewLooks(bad, 40); err == nil {
			t.Errorf("looks at %v are accepted", bad)
		}
	}
}

func BenchmarkLooks(b *testing.B) {
	for b.Loop() {
		l, _ := NewLooks([]int{6, 9, 13, 19, 28, 40}, 40)
		l.Level(0.025)
	}
}
