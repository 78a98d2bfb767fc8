package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func normals(n int, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	x := make([]float64, n)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	return x
}

func BenchmarkSignedRank(b *testing.B) {
	for _, n := range []int{12, 50, 200, 1000} {
		d := normals(n, 1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := SignedRank(d, 0.95); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReport is the work for one large report: 200 comparisons of 1,000 rounds each, by both
// estimators.
func BenchmarkReport(b *testing.B) {
	d := normals(1000, 1)
	for b.Loop() {
		for range 200 {
			if _, err := SignedRank(d, 0.95); err != nil {
				b.Fatal(err)
			}
			if _, err := PairedT(d, 0.95); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkSignedRankTies(b *testing.B) {
	d := normals(100, 1)
	for i := range d {
		d[i] = float64(int(d[i] * 3))
	}
	for b.Loop() {
		if _, err := SignedRank(d, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRankSum(b *testing.B) {
	for _, n := range []int{10, 50, 1000} {
		x, y := normals(n, 1), normals(n, 2)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := RankSum(x, y, 0.95); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPower(b *testing.B) {
	for b.Loop() {
		DetectableEffect(1, 12, 0.05, 0.8)
	}
}

func BenchmarkChangepoints(b *testing.B) {
	for _, n := range []int{50, 200, 1000} {
		flat := normals(n, 1)
		step := normals(n, 1)
		for i := range step[n/2:] {
			step[n/2+i] += 3
		}
		for name, x := range map[string][]float64{"flat": flat, "step": step} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					Changepoints(x, 0.01, 5, 1)
				}
			})
		}
	}
}

func BenchmarkOrderEffect(b *testing.B) {
	for _, n := range []int{8, 50} {
		x := normals(n, 1)
		at := make([]int, n)
		for i := range at {
			at[i] = i % 4
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := OrderEffect(x, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLarge runs each method on as many values per sample as imports have.
func BenchmarkLarge(b *testing.B) {
	const n = 50_000
	x, y := normals(n, 1), normals(n, 2)
	step := normals(n, 3)
	for i := range step[n/2:] {
		step[n/2+i] += 3
	}
	rounded := make([]float64, n)
	for i, v := range x {
		rounded[i] = float64(int(10 * v))
	}
	for _, method := range []struct {
		name string
		run  func() error
	}{
		{"RankSum", func() error { _, err := RankSum(x, y, 0.95); return err }},
		{"RankSum/ties", func() error { _, err := RankSum(rounded, rounded, 0.95); return err }},
		{"EquivalenceRankSum", func() error { _, err := equivalent(0.1)(RankSum(x, y, 0.5)); return err }},
		{"WelchT", func() error { _, err := WelchT(x, y, 0.95); return err }},
		{"SignedRank", func() error { _, err := SignedRank(x, 0.95); return err }},
		{"MedianInterval", func() error { _, _, err := MedianInterval(x, 0.95); return err }},
		{"Lag1", func() error { Lag1(x); return nil }},
		{"Trend", func() error { _, _, err := Trend(x); return err }},
		{"Dip", func() error { _, _, err := Dip(x); return err }},
		{"Changepoints/flat", func() error { Changepoints(x, 0.01, 5, 1); return nil }},
		{"Changepoints/step", func() error { Changepoints(step, 0.01, 5, 1); return nil }},
	} {
		b.Run(method.name, func(b *testing.B) {
			for b.Loop() {
				if err := method.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
