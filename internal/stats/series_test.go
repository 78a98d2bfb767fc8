package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLag1Edges(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0}, {[]float64{1, 2}, 0}, {[]float64{0.1, 0.1, 0.1, 0.1}, 0}, {[]float64{1, -1, 1, -1}, -0.75}, {[]float64{1, 2, math.NaN()}, math.NaN()},
	} {
		if got := Lag1(c.x); math.Abs(got-c.want) > 1e-15 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("Lag1(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

func TestDipEdges(t *testing.T) {
	uniform := make([]float64, 100_000)
	for i := range uniform {
		uniform[i] = float64(i)
	}
	apart := make([]float64, 40)
	for i := range apart {
		apart[i] = float64(i%2) + float64(i)/1e6
	}
	for _, c := range []struct {
		name string
		x    []float64
		d, p float64
	}{
		{"all equal", []float64{7, 7, 7, 7}, 1. / 8, 1},
		{"evenly spread", uniform, 0.5e-5, 1},
		{"as far apart as numbers can be", []float64{-math.MaxFloat64, -1e308, 0, 1e-320, 1e308, math.MaxFloat64}, 0.0927114107711334, 0.898},
		{"two heaps", apart, 0.2499905000095, 0.0001},
	} {
		d, p, err := Dip(c.x)
		if err != nil || math.Abs(d-c.d) > 1e-9 || math.Abs(p-c.p) > 0.001 {
			t.Errorf("%s: dip %v, p %v, %v; want %v, %v", c.name, d, p, err, c.d, c.p)
		}
	}
}

// p never rises with the dip, and never leaves (0, 1], at any size.
func TestDipPIsMonotone(t *testing.T) {
	for _, n := range []int{4, 5, 7, 11, 14, 25, 99, 3000, 20000, 1_000_000} {
		last := 1.
		for d := 0.5 / float64(n); d <= 0.25; d += 0.25 / 997 {
			p := dipP(n, d)
			if !(p > 0 && p <= last) {
				t.Fatalf("n = %d: p %v at dip %v, after %v", n, p, d, last)
			}
			last = p
		}
	}
}

func TestTrendEdges(t *testing.T) {
	line := func(n int, slope float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 5 + slope*float64(i)
		}
		return x
	}
	for _, c := range []struct {
		name     string
		x        []float64
		slope, p float64
	}{
		{"all equal", line(8, 0), 0, 1},
		{"falling, 2 of 4!", line(4, -2), -2, 2. / 24},
		{"rising, beyond the exact sizes", line(51, 1), 1, 0},
		{"a line of blocks", line(50000, 0.25), 0.25, 0},
		{"a line of blocks and a rest", line(601, -0.5), -0.5, 0},
	} {
		slope, p, err := Trend(c.x)
		if err != nil || math.Abs(slope-c.slope) > 1e-12 || math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%s: slope %v, p %v, %v; want %v, %v", c.name, slope, p, err, c.slope, c.p)
		}
	}
}

func TestOrderEffectEdges(t *testing.T) {
	rising := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	positions := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range []struct {
		name      string
		values    []float64
		positions []int
		want      float64
	}{
		{"all equal", []float64{4, 4, 4, 4}, []int{0, 1, 0, 1}, 1},
		{"perfect order of 5: 2 of 120", rising[:5], positions[:5], 2. / 120},
		{"perfect order of 10: 2 of 10!", rising, positions, 2. / 3628800},
	} {
		if got, err := OrderEffect(c.values, c.positions); math.Abs(got-c.want) > 1e-15 || err != nil {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

func TestChangepoints(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	series := func(levels ...float64) []float64 { // 25 values per level
		var x []float64
		for _, level := range levels {
			for range 25 {
				x = append(x, level+random.NormFloat64())
			}
		}
		return x
	}
	spike := series(0, 0)
	spike[20] = 40
	early := append([]float64{30}, series(0, 0)...) // a single first value of another level
	for _, c := range []struct {
		name string
		x    []float64
		want []int // each within 3 values
	}{
		{"nothing", nil, nil},
		{"constant", make([]float64, 50), nil},
		{"one step", series(0, 0, 4, 4), []int{50}},
		{"up and down", series(0, 5, 0), []int{25, 50}},
		{"three levels", series(0, 3, 9, 9), []int{25, 50}},
		{"lone spike", spike, nil},
		{"lone first value", early, nil},
		{"too short", []float64{0, 0, 0, 9, 9, 9}, nil},
		{"not finite", []float64{0, math.NaN()}, nil},
	} {
		got := Changepoints(c.x, 0.01, 5, 1)
		same := slices.EqualFunc(got, c.want, func(a, b int) bool { return a-b <= 3 && b-a <= 3 })
		if !same || !slices.Equal(got, Changepoints(c.x, 0.01, 5, 1)) {
			t.Errorf("%s: changes at %v, want %v", c.name, got, c.want)
		}
	}
}
