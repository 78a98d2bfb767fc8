package load

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Arrivals is the distribution of an open loop's intended times.
type Arrivals string

const (
	Constant Arrivals = "constant" // evenly spaced
	Poisson  Arrivals = "poisson"  // random, with exponentially distributed gaps
)

// Span is a period of load. It is an open loop if Rate is set, and a closed loop if Workers is set.
type Span struct {
	Rate     float64  `json:"rate,omitempty"`     // requests per second
	Arrivals Arrivals `json:"arrivals,omitempty"` // "": Constant
	// Seed is the seed for arrivals and kinds of requests. Clients that share a load need different seeds.
	Seed uint64 `json:"seed,omitempty"`
	// Phase shifts constant arrivals, as a share (0 to 1) of the time between two requests. For example, two clients
	// with phases 0 and 0.5 send in turn.
	Phase float64 `json:"phase,omitempty"`
	// Workers is the number of requests under way at a time, at most Connections × Streams.
	Workers int `json:"workers,omitempty"`
	// Duration is the measured time.
	Duration time.Duration `json:"duration"`
	// Drain is the time after the measured time. In it, overdue requests are still sent, and responses still count.
	// 0 means the session's Timeout.
	Drain time.Duration `json:"drain,omitempty"`
	// Start is the time at which the span begins. Several clients with the same Start begin together. Zero: the span
	// begins at once.
	Start time.Time `json:"start,omitzero"`
}

// Validate returns all errors of the span.
func (s Span) Validate() error {
	var wrong []error
	no := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	switch {
	case s.Rate != 0 && s.Workers != 0:
		no("rate and workers: only one of them")
	case s.Rate == 0 && s.Workers == 0:
		no("give a rate (open loop) or workers (closed loop)")
	case s.Rate != 0 && !(s.Rate > 0 && s.Rate <= mostRate):
		no("rate %v: it must be over 0, and at most %v per second", s.Rate, mostRate)
	case s.Workers < 0:
		no("workers %d: it must not be negative", s.Workers)
	}
	switch s.Arrivals {
	case "", Constant, Poisson:
	default:
		no("arrivals %q: it must be one of %s, %s", s.Arrivals, Constant, Poisson)
	}
	if !(s.Phase >= 0 && s.Phase <= 1) {
		no("phase %v: it must be 0 to 1", s.Phase)
	}
	if s.Duration <= 0 {
		no("duration %v: it must be positive", s.Duration)
	}
	if s.Drain < 0 {
		no("drain %v: it must not be negative", s.Drain)
	}
	return errors.Join(wrong...)
}

// arrivals generates the intended times of a span, in order. The times count from the start of the span.
type arrivals struct {
	gap     float64 // mean time between requests, in ns
	poisson bool
	random  *rand.Rand
	n       int64   // number of constant arrivals so far
	phase   float64 // delay of all constant arrivals, as a share of the time between two arrivals
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

// next returns the next intended time. A constant arrival is its number times the gap: a running sum would
// accumulate rounding errors.
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
	upTo   []float64 // upTo[i]: sum of the weights of the first i+1 kinds of requests
	random *rand.Rand
}

func newMix(requests []Request, random *rand.Rand) *mix {
	m := &mix{random: random}
	sum := 0.0
	for _, r := range requests {
		sum += cmp.Or(r.Weight, 1)
		m.upTo = append(m.upTo, sum)
	}
	return m
}

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
