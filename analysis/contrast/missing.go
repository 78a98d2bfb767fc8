package contrast

import (
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// Missing counts the trials that would be data had their program not failed. Of pairs
// it is the pairs: each lacks a value of one side at least, and none was lost to
// anything else.
type Missing struct{ Pairs, Baseline, Treated int }

// Any says whether a trial is missing.
func (m Missing) Any() bool { return m != Missing{} }

// farther is by how much a value that takes a missing one's place lies beyond the
// largest contrast seen, and beyond the margin of equivalence.
const farther = 2

// Imputed gives the data with a value in the place of every missing one that is worse
// than all that were seen, for a sign of +1 (contrasts are then large), or better, for
// -1. Methods that go by ranks cannot tell how far beyond the others it lies.
func (d *Data) Imputed(sign, margin float64) Data {
	full := *d
	full.Missing = Missing{}
	if d.Paired {
		beyond := 2 * farther * margin
		for _, c := range d.Contrasts {
			beyond = max(beyond, farther*math.Abs(c))
		}
		if beyond == 0 {
			beyond = 1
		}
		n := d.Missing.Pairs
		typical := stats.Median(d.Baseline)
		full.Contrasts = extended(d.Contrasts, sign*beyond, n)
		full.Baseline = extended(d.Baseline, typical, n)
		full.Treated = extended(d.Treated, d.at(typical, sign*beyond), n)
		full.Rounds, full.Moved = extended(d.Rounds, 0, n), extended(d.Moved, 0, n)
		if d.apart != nil {
			full.Control, full.apart = extended(d.Control, typical, n), extended(d.apart, 0, n) // a third trial weighs as much as it would have
		}
		if d.Places != nil {
			full.Places = extended(d.Places, [3]float64{}, n)
		}
		if d.SetUps != nil { // each counts by itself
			full.SetUps = slices.Clip(d.SetUps)
			for i := range n {
				full.SetUps = append(full.SetUps, -1-i)
			}
		}
		return full
	}
	if d.Size() == 0 {
		return full
	}
	base, arm := d.samples()
	all := append(slices.Clone(base), arm...)
	lo, hi := slices.Min(all), slices.Max(all)
	beyond := max(hi-lo, 2*farther*margin)
	low, high := d.valueOf(lo-beyond), d.valueOf(hi+beyond)
	if sign < 0 {
		low, high = high, low
	}
	full.Baseline = extended(d.Baseline, low, d.Missing.Baseline)
	full.Treated = extended(d.Treated, high, d.Missing.Treated)
	return full
}

// at is the arm's value that has a contrast to one of the baseline.
func (d *Data) at(base, contrast float64) float64 {
	switch {
	case d.Metric.Scale != experiment.Difference:
		return base * math.Exp(min(max(contrast, -steepest), steepest))
	case d.Metric.Better == experiment.Higher:
		return base - contrast
	}
	return base + contrast
}

// valueOf is the value that stands at x on the scale of samples.
func (d *Data) valueOf(x float64) float64 {
	switch {
	case d.Metric.Scale != experiment.Difference:
		return math.Exp(min(max(x, -steepest), steepest))
	case d.Metric.Better == experiment.Higher:
		return -x
	}
	return x
}

func extended[T any](list []T, v T, n int) []T {
	return append(slices.Clip(list), slices.Repeat([]T{v}, n)...)
}

// Survives is the estimate in which only that stands which would also stand if every
// missing value were the worst, or the best: intervals that hold all three, and the
// largest p of each test. No trial that failed shows an arm to be equivalent, whatever
// the others say: its cost has no upper end. Without missing values it is the estimate
// itself.
func (r Rules) Survives(d *Data, e Estimate) Estimate {
	if !d.Missing.Any() {
		return e
	}
	for _, sign := range []float64{1, -1} {
		full := d.Imputed(sign, r.MarginOf(d))
		other := r.Estimate(&full)
		e.Main, e.T = survivor(e.Main, other.Main), survivor(e.T, other.T)
	}
	e.Main.Equiv, e.T.Equiv = 1, 1
	return e
}

func survivor(a, b View) View {
	if !a.OK || !b.OK {
		a.P, a.Equiv = 1, 1
		return a
	}
	return hull(a, b)
}
