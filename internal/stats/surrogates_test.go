package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// With about one bin per value, the grid gives the distance of the values themselves.
func TestEnergyGrid(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		n := 12 + random.IntN(60)
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(random.IntN(energyBins)) // no more different values than bins
		}
		x = Shifted(x, -Mean(x))
		e := newEnergy(x)
		_, want := e.bestSplit(e.ranks, 3)
		g := newEnergyGrid(x)
		if got := g.largest(x, 3); math.Abs(got-want) > 0.35*want {
			t.Errorf("%d values: %v, want about %v", n, got, want)
		}
		// The largest distance by the definition, for these bins.
		most := 0.0
		for k := 3; k <= n-3; k++ {
			sum := 0.0
			for j, w := range g.widths {
				left, whole := 0.0, 0.0
				for i, b := range g.bins {
					if int(b) <= j {
						whole++
						if i < k {
							left++
						}
					}
				}
				sum += w * math.Pow(left-float64(k)*whole/float64(n), 2)
			}
			most = max(most, 2*float64(n)/float64(k*(n-k))*sum)
		}
		if got := g.largest(x, 3); math.Abs(got-most) > 1e-9*most {
			t.Errorf("%d values: %v, by the definition %v", n, got, most)
		}
	}
	if got := newEnergyGrid(make([]float64, 20)).largest(make([]float64, 20), 5); got != 0 {
		t.Errorf("equal values: %v", got)
	}
}

// related returns a series of deviation 1 with an autocorrelation.
func related(random *rand.Rand, n int, r float64) []float64 {
	x := make([]float64, n)
	state := random.NormFloat64()
	for i := range x {
		x[i] = state
		state = r*state + math.Sqrt(1-r*r)*random.NormFloat64()
	}
	return x
}

// Surrogates have the autocorrelation and the deviation of their series, but not its step.
func TestSurrogates(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for _, r := range []float64{0, 0.3, 0.6} {
		x := related(random, 2000, r)
		for i := range x[1000:] {
			x[1000+i] += 2
		}
		s := NewSurrogates(x, []int{1000}, random)
		if got := s.correlation; math.Abs(got-r) > 0.06 {
			t.Errorf("autocorrelation %v taken for %v", r, got)
		}
		var lag, step float64
		for range 20 {
			y := slices.Clone(s.Next())
			lag += Lag1(y) / 20
			first, _ := meanSD(y[:1000])
			second, _ := meanSD(y[1000:])
			step += math.Abs(second-first) / 20
		}
		if math.Abs(lag-s.correlation) > 0.05 || step > 0.4 {
			t.Errorf("autocorrelation %v: surrogates have %v, and steps of %v", r, lag, step)
		}
	}
}

// Levels that are not known yet do not count as wandering.
func TestSurrogatesOfManyLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 2))
	x := related(random, 400, 0)
	for i := range x {
		x[i] += 4 * float64(i/40%2)
	}
	if r := Lag1(x); r < 0.7 {
		t.Fatalf("the levels show as an autocorrelation of %v only", r)
	}
	if got := NewSurrogates(x, []int{200}, random).correlation; got > 0.2 {
		t.Errorf("autocorrelation taken for %v, want about 0", got)
	}
}

func TestReached(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	counted := 0
	draw := func() float64 { counted++; return random.ExpFloat64() }
	for _, c := range []struct {
		observed, alpha float64
		want            bool
		most            int // largest number of draws
	}{
		{0.1, 0.01, false, 30},
		{50, 0.01, true, 499},
		{50, 0.0001, true, 999}, // a clear case
		{50, 1e-9, false, 0},    // below what the draws can show
		{12, 0.0001, true, 19999},
	} {
		counted = 0
		if got := Significant(c.observed, c.alpha, draw); got != c.want || counted > c.most {
			t.Errorf("%v at %v: %v after %d draws, want %v after %d at most", c.observed, c.alpha, got, counted, c.want, c.most)
		}
	}
	claims := 0
	for range 20000 {
		if Significant(random.ExpFloat64(), 0.01, random.ExpFloat64) {
			claims++
		}
	}
	if claims > 250 {
		t.Errorf("%d of 20,000 claims at 1 %%", claims)
	}
}
