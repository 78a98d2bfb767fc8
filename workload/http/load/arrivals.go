package load

import (
	"math/rand/v2"
	"time"
)

// arrivals gives the intended times of a span, from its beginning, in order.
type arrivals struct {
	gap     float64 // mean, in ns
	poisson bool
	random  *rand.Rand
	n       int64   // how many constant ones were given
	phase   float64 // in gaps
	at      float64 // the last of a Poisson process, in ns
}

// Times gives the intended times of an open loop, from the beginning of its warm-up, one after the other.
func (s Span) Times() func() time.Duration {
	return newArrivals(s, rand.New(rand.NewPCG(s.Seed, 0x7461_7265))).next
}

func newArrivals(s Span, random *rand.Rand) *arrivals {
	return &arrivals{gap: 1e9 / s.Rate, poisson: s.Arrivals == Poisson, phase: s.Phase, random: random}
}

// next is the next intended time. Constant ones are counted and not added up, so that errors
// of rounding do not grow.
func (a *arrivals) next() time.Duration {
	if a.poisson {
		a.at += a.random.ExpFloat64() * a.gap
		return time.Duration(a.at)
	}
	at := (float64(a.n) + a.phase) * a.gap
	a.n++
	return time.Duration(at)
}

// mix draws kinds of requests by their weights.
type mix struct {
	upTo   []float64 // running sums of the weights
	random *rand.Rand
}

func newMix(requests []Request, random *rand.Rand) *mix {
	m := &mix{random: random}
	sum := 0.0
	for _, r := range requests {
		if r.Weight == 0 {
			r.Weight = 1
		}
		sum += r.Weight
		m.upTo = append(m.upTo, sum)
	}
	return m
}

// draw gives the index of a request.
func (m *mix) draw() int {
	last := len(m.upTo) - 1
	if last <= 0 {
		return 0
	}
	x := m.random.Float64() * m.upTo[last]
	for i, upTo := range m.upTo {
		if x < upTo {
			return i
		}
	}
	return last
}
