package staircase

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

var requests = Search{Least: 1, Most: 1e7, Finest: 1.02, Turns: 8, Unit: "per second"}

// A search ends near the load that is carried in half of the tries, wherever it begins.
func TestFind(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	coarse := requests
	coarse.Finest, coarse.Turns = 1.1, 4
	for _, c := range []struct {
		search    Search
		bias, dev float64
	}{{requests, 0.02, 0.06}, {coarse, 0.04, 0.10}} {
		for _, c.search.First = range []float64{10, 1000, 50_000} {
			var sum, squares float64
			const searches, truth = 400, 3000.0
			for range searches {
				tries := 0
				found, err := c.search.Find(func(load float64) (bool, error) {
					tries++
					return math.Log(load/truth) < 0.03*draw.NormFloat64(), nil // a server whose capacity moves by 3 %
				})
				if err != nil || tries > MostTries {
					t.Fatalf("%+v: %v after %d tries", c.search, err, tries)
				}
				x := math.Log(found / truth)
				sum, squares = sum+x, squares+x*x
			}
			mean := sum / searches
			sd := math.Sqrt(squares/searches - mean*mean)
			if math.Abs(mean) > c.bias || sd > c.dev {
				t.Errorf("%+v: off by %.1f %% on average, a deviation of %.1f %%", c.search, 100*mean, 100*sd)
			}
		}
	}
}

func TestWithoutEnd(t *testing.T) {
	s := requests
	s.First = 1000
	broken := errors.New("broken")
	for _, c := range []struct {
		carried bool
		err     error
		want    string
	}{
		{true, nil, "all were carried, up to 10000000 per second"},
		{false, nil, "none was carried, down to 1 per second"},
		{false, broken, "broken"},
	} {
		if _, err := s.Find(func(load float64) (bool, error) {
			if load < s.Least*(1-1e-9) || load > s.Most*(1+1e-9) {
				t.Errorf("%v is tried", load)
			}
			return c.carried, c.err
		}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
