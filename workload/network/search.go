package network

import (
	"context"
	"math"

	"tare/experiment/quantity"
	"tare/workload"
)

// The search for the highest UDP rate within a loss limit is a binary search as
// in RFC 2544, section 26.1, with a limit above zero in place of none, and with
// the loss verification of ETSI GS NFV-TST 009, section 12.3.3, against losses
// that pass:
//
//   - The first step offers the link's rate, or as much as the sender can give
//     where the link has no cap. If that is within the limit, it is the result.
//     Otherwise the rate that the sender reached is the upper end of the bracket,
//     and the rate that was received is the next to be tried: where the link is
//     the bottleneck, that is its capacity.
//   - Until a rate is within the limit, each step takes a quarter off; from then
//     on, each goes to the geometric mean of the bracket, until its ends are no
//     more than resolution apart. The lower end is the result.
//   - A step whose loss is over the limit, but not more than passing times, is
//     repeated once and counts as failed only if it fails again: a pause of the
//     receiver's CPU loses as many packets in a short step.
//   - A step within the limit in which the sender reached clearly less than it
//     was to offer ends the search: no more can be offered.
const (
	resolution = 0.01 // relative width of the bracket at which the search ends
	quarter    = 0.75 // factor between rates as long as none is within the limit
	passing    = 20   // losses up to this many times the limit are tried again
	reached    = 0.97 // share of the offered rate that counts as reached
	usualSteps = 8    // for estimates of time
	maxSteps   = 30   // after which the trial is given up
)

// step is one run of the search. Rates are in bit/s of payload, each way.
type step struct {
	Offered  float64 `json:"offered"` // 0: as much as the sender can give
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
	Loss     float64 `json:"loss"` // share of the packets
	Within   bool    `json:"within"`
}

// search looks for the highest rate within the limit.
type search struct {
	limit float64 // share of packets that may be lost
	try   func(ctx context.Context, n int, offered float64) (step, error)
	steps []step
}

// find gives the highest rate within the limit, at or below ceiling (0: no ceiling).
func (s *search) find(ctx context.Context, ceiling float64) (float64, error) {
	first, err := s.step(ctx, ceiling)
	if err != nil || first.Within {
		return first.Offered, err
	}
	lower, upper, next := 0.0, first.Sent, first.Received
	for lower == 0 || upper/lower > 1+resolution {
		at, err := s.verified(ctx, min(next, upper*0.999))
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

// verified tries a rate, and again if it failed by so little that the loss may
// have been a passing one.
func (s *search) verified(ctx context.Context, offered float64) (step, error) {
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
