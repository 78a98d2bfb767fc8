package load

import (
	"math/rand/v2"
	"time"
)

// arrivals generates the intended times of a span, in order. The times count from the start of the span.
type arrivals struct {
	gap     float64 // mean time between requests, in ns
	poisson bool
	random  *rand.Rand
	n       int64   // number of constant arrivals so far
	phase   float64 // delay of constant arrivals, as a share of gap
	at      float64 // last Poisson arrival, in ns
}

// Times returns a function that generates the intended times of an open loop. The times count from the start
// of the span.
func (s Span) Times() func() time.Duration {
	return newArrivals(s, rand.New(rand.NewPCG(s.Seed, 0x7461_7265))).next
}

func newArrivals(s Span, random *rand.Rand) *arrivals {
	return &arrivals{gap: 1e9 / s.Rate, poisson: s.Arrivals == Poisson, phase: s.Phase, random: random}
}

// next returns the next intended time. Constant arrivals are computed from their number, since a running sum
// would accumulate rounding errors.
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

// draw returns the index of a kind of request.
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
