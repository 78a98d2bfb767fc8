package report

import (
	"math"
	"slices"
	"strings"

	"tare/analysis"
	"tare/wording"
)

// axis maps values to 0…1. With bend above zero it is linear within about ±bend
// and logarithmic beyond (the inverse hyperbolic sine), so that one arm that
// costs tenfold does not flatten the others.
type axis struct {
	lo, hi float64
	bend   float64
}

// at is the place of v, kept within 0…1.
func (a axis) at(v float64) float64 {
	lo, hi := a.warp(a.lo), a.warp(a.hi)
	if hi <= lo || math.IsNaN(v) {
		return 0.5
	}
	at := (a.warp(v) - lo) / (hi - lo)
	if math.IsNaN(at) {
		return 0.5 // values too far apart for arithmetic
	}
	return min(1, max(0, at))
}

func (a axis) warp(v float64) float64 {
	if a.bend > 0 {
		return math.Asinh(v / a.bend)
	}
	return v
}

// crowded is how many times larger than the typical bound the largest must be
// for an axis to bend.
const crowded = 12

// overheadAxis is the common axis of comparisons on one scale: it holds all
// intervals, zero and the margin.
func overheadAxis(cs []analysis.Comparison, margin float64) axis {
	margin = max(margin, 0)
	a := axis{lo: -1.5 * margin, hi: 1.5 * margin}
	var bounds []float64
	for _, c := range cs {
		if !wording.Judged(c) {
			continue
		}
		lo, hi := bounded(c.Overhead.Lo), bounded(c.Overhead.Hi)
		a.lo, a.hi = min(a.lo, lo), max(a.hi, hi)
		bounds = append(bounds, max(abs(lo), abs(hi)))
	}
	if a.lo == a.hi {
		return axis{lo: -0.05, hi: 0.05}
	}
	if len(bounds) > 0 {
		slices.Sort(bounds)
		typical := max(bounds[(len(bounds)-1)/2], margin)
		if largest := bounds[len(bounds)-1]; typical > 0 && largest > crowded*typical {
			a.bend = typical
		}
	}
	if a.bend > 0 {
		return axis{lo: a.lo * 1.15, hi: a.hi * 1.15, bend: a.bend}
	}
	room := (a.hi - a.lo) * 0.04
	return axis{lo: a.lo - room, hi: a.hi + room}
}

// bounded keeps the ends of an axis within what can be computed with and
// labelled; what lies beyond is drawn at the edge.
func bounded(v float64) float64 { return min(1e15, max(-1e15, v)) }

// ticks are round values on the axis, about n of them.
func (a axis) ticks(n int) []float64 {
	if a.bend > 0 {
		return a.bentTicks(n)
	}
	step := roundStep((a.hi - a.lo) / float64(max(n, 1)))
	if step <= 0 || !wording.Finite(step) {
		return nil
	}
	var list []float64
	for i := math.Ceil(a.lo/step - 1e-9); i*step <= a.hi+step*1e-9 && len(list) <= 2*n+2; i++ {
		v := i * step
		if i == 0 {
			v = 0
		}
		list = append(list, v)
	}
	return list
}

// bentTicks are zero and round values to both sides that leave room for labels,
// powers of ten before their multiples.
func (a axis) bentTicks(n int) []float64 {
	list := []float64{0}
	gap := 0.75 / float64(n)
	free := func(t float64) bool {
		return t >= a.lo && t <= a.hi && !slices.ContainsFunc(list, func(o float64) bool { return abs(a.at(t)-a.at(o)) < gap })
	}
	start := math.Pow(10, math.Floor(math.Log10(a.bend)))
	for _, m := range []float64{1, 5, 2} {
		for v := start * m; v <= max(-a.lo, a.hi); v *= 10 {
			for _, t := range []float64{-v, v} {
				if free(t) {
					list = append(list, t)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// roundStep is the next step of the kind 1, 2, 5 × 10ⁿ at or above raw.
func roundStep(raw float64) float64 {
	if raw <= 0 || !wording.Finite(raw) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// percentTick labels a tick of an overhead axis.
func percentTick(v float64) string {
	if v == 0 {
		return "0"
	}
	s := wording.TrimZeros(wording.Fixed(v*100, 4))
	if !strings.HasPrefix(s, wording.MinusSign) {
		s = "+" + s
	}
	return s + " %"
}

// hold is an axis over values with a little room at both ends; a single value
// gets some of its own size.
func hold(values ...float64) axis {
	a := axis{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, v := range values {
		if wording.Finite(v) {
			a.lo, a.hi = min(a.lo, bounded(v)), max(a.hi, bounded(v))
		}
	}
	if a.lo > a.hi {
		return axis{lo: 0, hi: 1}
	}
	room := (a.hi - a.lo) * 0.05
	if room == 0 {
		room = max(abs(a.hi)*0.05, 1e-12)
	}
	return axis{lo: a.lo - room, hi: a.hi + room}
}
