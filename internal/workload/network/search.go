package network

import (
	"context"
	"math"

	"tare/internal/experiment/quantity"
	"tare/internal/workload"
)

// The search for the highest UDP rate within a loss limit is a binary search as in RFC 2544, section 26.1, but with a
// limit above zero. It repeats steps whose loss may be temporary, following the loss verification of ETSI GS NFV-TST
// 009, section 12.3.3:
//
//   - The first step offers the link's rate, or as much as the sender can send if the link has no cap. If the loss is
//     within the limit, this rate is the result. Otherwise the search brackets the result: the sender's rate is the
//     bracket's upper end, and the received rate is tried next. If the link is the bottleneck, the received rate is
//     its capacity.
//   - Each further step takes a quarter off the rate until the loss is within the limit. Then each step tries the
//     geometric mean of the bracket, until the bracket's ends differ by no more than resolution. The lower end is the
//     result.
//   - A step whose loss is over the limit, but at most passing times the limit, is repeated once and fails only if it
//     fails again. A pause of the receiver's CPU can lose this many packets in a short step.
//   - The search ends at a step within the limit in which the sender clearly missed the offered rate: the sender
//     cannot send more.
const (
	resolution = 0.01 // relative width of the bracket at which the search ends
	quarter    = 0.75 // each rate is this share of the rate before it, as long as no rate is within the limit
	passing    = 20   // a step whose loss is up to this many times the limit is repeated
	reached    = 0.97 // share of the offered rate that the sender must reach
	usualSteps = 8    // typical number of steps, for estimates of time
	maxSteps   = 30   // largest number of steps; the trial then fails
)

// step is one run of the search. Rates are in bit/s of payload, in each direction.
type step struct {
	Offered  float64 `json:"offered"` // 0: as much as the sender can send
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
	Loss     float64 `json:"loss"` // share of packets
	Within   bool    `json:"within"`
}

// search finds the highest rate within the limit.
type search struct {
	limit float64 // share of packets that may be lost
	try   func(ctx context.Context, n int, offered float64) (step, error)
	steps []step
}

// find returns the highest rate within the limit, at or below ceiling (0: no ceiling).
func (s *search) find(ctx context.Context, ceiling float64) (float64, error) {
	first, err := s.step(ctx, ceiling)
	if err != nil || first.Within {
		return first.Offered, err
	}
	lower, upper, next := 0.0, first.Sent, first.Received
	for lower == 0 || upper/lower > 1+resolution {
		at, err := s.tryTwice(ctx, min(next, upper*0.999))
		if err != nil {
			return 0, err
		}
		if at.Within && at.Sent < reached*at.Offered {
			return at.Offered, nil
		}
		if at.Within {
			lower = at.Offered
		} else {
			upper = at.Offered
		}
		if lower == 0 {
			next = quarter * upper
		} else {
			next = math.Sqrt(lower * upper)
		}
	}
	return lower, nil
}

// tryTwice tries a rate. If the rate fails with a loss that may be temporary, it tries the rate once more.
func (s *search) tryTwice(ctx context.Context, offered float64) (step, error) {
	at, err := s.step(ctx, offered)
	if err != nil || at.Within || at.Loss > passing*s.limit {
		return at, err
	}
	return s.step(ctx, offered)
}

func (s *search) step(ctx context.Context, offered float64) (step, error) {
	if len(s.steps) == maxSteps {
		last := s.steps[maxSteps-1]
		return step{}, workload.Invalidf(workload.RuleRate,
			"no rate found in %d steps of which at most %v is lost; the last, %v, lost %.3g%%",
			maxSteps, quantity.Percent(s.limit), quantity.Rate(math.Round(last.Offered)), 100*last.Loss)
	}
	at, err := s.try(ctx, len(s.steps)+1, offered)
	if err != nil {
		return step{}, err
	}
	at.Offered = offered
	at.Within = at.Loss <= s.limit
	s.steps = append(s.steps, at)
	return at, nil
}
