package staircase

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// searches are a fine and a coarse search.
var searches = []Search{
	{Fineness: Fine, Near: 1000, Least: 1, Most: 1e7, Unit: "per second"},
	{Fineness: Coarse, Near: 1000, Least: 1, Most: 1e7, Unit: "per second"},
}

// A search ends near the load that is carried in half of the tries, wherever it begins.
func TestFind(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for i, most := range []struct{ bias, deviation float64 }{{0.0015, 0.012}, {0.0035, 0.025}} {
		s := searches[i]
		for _, s.Near = range []float64{10, 1000, 50_000} {
			var sum, squares float64
			const n, truth = 2000, 3000.0
			for range n {
				tries := 0
				found, err := s.Find(draw.Uint64(), func(load float64) (bool, error) {
					tries++
					return math.Log(load/truth) < 0.03*draw.NormFloat64(), nil // a server whose capacity varies by 3 %
				})
				if err != nil || tries > MostTries {
					t.Fatalf("%d turns near %v: %v after %d tries", s.Turns, s.Near, err, tries)
				}
				x := math.Log(found / truth)
				sum, squares = sum+x, squares+x*x
			}
			mean := sum / n
			if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean) > most.bias || deviation > most.deviation {
				t.Errorf("%d turns near %v: off by %.2f %% on average, a deviation of %.2f %%", s.Turns, s.Near, 100*mean, 100*deviation)
			}
		}
	}
}

// Without noise, a result is equally likely anywhere within half a finest step of the truth.
func TestFindOfAQuietServer(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for _, s := range searches {
		half := math.Ldexp(doubling, -s.Halvings) / 2
		var parts [4]int
		const n = 4000
		for range n {
			truth := math.Exp(math.Log(200) + 3*draw.Float64())
			found, err := s.Find(draw.Uint64(), func(load float64) (bool, error) { return load < truth, nil })
			off := math.Log(found/truth) / half
			if err != nil || math.Abs(off) > 1 {
				t.Fatalf("%d turns: %v where the truth is %v: %v", s.Turns, found, truth, err)
			}
			parts[int(2*off+2)]++
		}
		for _, k := range parts {
			if math.Abs(float64(k)-n/4) > 4*math.Sqrt(n*3/16) {
				t.Errorf("%d turns: quarters of the errors' range have %v of %d", s.Turns, parts, n)
			}
		}
	}
}

// Searches usually take the stated number of tries.
func TestTries(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	for _, s := range searches {
		tries := 0.0
		const n = 4000
		for range n {
			truth, noise := s.Near*math.Exp2(4*draw.Float64()-2), 0.03*draw.Float64()
			if _, err := s.Find(draw.Uint64(), func(load float64) (bool, error) {
				tries++
				return math.Log(load/truth) < noise*draw.NormFloat64(), nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(tries/n-float64(s.Usual)) > 1 {
			t.Errorf("%d turns: %.1f tries on average, not %d", s.Turns, tries/n, s.Usual)
		}
	}
}

// Searches begin anywhere within a doubling about Near, and within the bounds.
func TestFirst(t *testing.T) {
	for _, c := range []struct{ near, least, most, from, to float64 }{
		{1000, 1, 1e7, 707.1, 1414.2}, {400, 1, 400, 200, 400}, {10, 9, 500, 9, 18}, {10, 10, 15, 10, 15},
	} {
		s := Search{Near: c.near, Least: c.least, Most: c.most}
		lowest, highest := math.Inf(1), 0.0
		for seed := range uint64(1000) {
			lowest, highest = min(lowest, s.First(seed)), max(highest, s.First(seed))
		}
		if lowest < c.from || highest > c.to+0.1 || lowest > c.from*1.01 || highest < c.to*0.99 {
			t.Errorf("near %v within %v and %v: from %v to %v", c.near, c.least, c.most, lowest, highest)
		}
	}
}

func TestWithoutEnd(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		carried bool
		err     error
		want    string
	}{
		{true, nil, "rate: the search for the capacity: all were carried, up to 10000000 per second"},
		{false, nil, "rate: the search for the capacity: none was carried, down to 1 per second"},
		{false, broken, "broken"},
	} {
		s := searches[0]
		if _, err := s.Find(1, func(load float64) (bool, error) {
			if load < s.Least*(1-1e-9) || load > s.Most*(1+1e-9) {
				t.Errorf("%v is tried", load)
			}
			return c.carried, c.err
		}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A search ends even if tries are carried at random.
func TestNoise(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 8))
	tries := 0
	if _, err := searches[0].Find(1, func(float64) (bool, error) { tries++; return draw.IntN(2) == 0, nil }); tries > MostTries {
		t.Errorf("%v after %d tries", err, tries)
	}
	const want = "rate: the search for the capacity: it was not found in 40 tries"
	for turns := range 10 { // the last four use the finest step, and then all loads are carried
		tries = 0
		s := searches[0]
		s.Most = 1e99
		_, err := s.Find(1, func(float64) (bool, error) { tries++; return tries > turns || tries%2 == 0, nil })
		if err == nil || err.Error() != want {
			t.Errorf("%v after %d turns, want %s", err, turns, want)
		}
	}
}
