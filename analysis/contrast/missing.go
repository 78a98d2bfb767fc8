package contrast

import (
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// Missing counts the trials that would be data had their program not failed, by the side
// on which it did. Of pairs it counts those that lack a value for that.
type Missing struct{ Baseline, Treated, Both int }

// Count is how many values, or pairs, are missing.
func (m Missing) Count() int { return m.Baseline + m.Treated + m.Both }

// Add counts a pair by who failed in it, if anyone did.
func (m *Missing) Add(baseline, treated bool) {
	switch {
	case baseline && treated:
		m.Both++
	case baseline:
		m.Baseline++
	case treated:
		m.Treated++
	}
}

// farther is by how much a failure that counts as worst lies beyond the largest contrast
// seen, and beyond the margin of equivalence.
const farther = 1.5

// Imputed gives the data with a value in the place of every missing one, as it speaks most
// for a large contrast (a sign of +1) or for a small one (-1). A failure on the side that
// is then the worse one counts as worse than all values seen; methods that go by ranks
// cannot tell by how much. Any other failure counts as no difference, which chance moves in
// that direction as far as it did any value seen.
func (d *Data) Imputed(sign, margin float64) Data {
	if d.imputed != nil {
		return d.imputed(sign, margin)
	}
	full := *d
	full.Missing = Missing{}
	if d.Paired {
		largest := 2 * farther * margin
		for _, c := range d.Contrasts {
			largest = max(largest, farther*math.Abs(c))
		}
		if largest == 0 {
			largest = 1
		}
		worst := d.Missing.Treated
		if Cost(sign, d.Metric) < 0 {
			worst = d.Missing.Baseline
		}
		full.put(sign*largest, worst)
		full.put(unlucky(sign, d.Contrasts), d.Missing.Count()-worst)
		return full
	}
	if d.Size() == 0 {
		return full
	}
	base, arm := d.Scaled()
	all := slices.Concat(base, arm)
	beyond := max(slices.Max(all)-slices.Min(all), 2*farther*margin)
	low, high := stats.Median(arm)+unlucky(-sign, base), farthest(sign, all)+sign*beyond
	if Cost(sign, d.Metric) < 0 {
		low, high = farthest(-sign, all)-sign*beyond, stats.Median(base)+unlucky(sign, arm)
	}
	full.Baseline = extended(d.Baseline, d.valueOf(low), d.Missing.Baseline)
	full.Treated = extended(d.Treated, d.valueOf(high), d.Missing.Treated)
	return full
}

// put adds n pairs of a contrast. A third trial weighs as much in them as it would have.
func (d *Data) put(contrast float64, n int) {
	if n == 0 {
		return
	}
	typical := stats.Median(d.Baseline)
	if !d.bare() {
		d.Baseline, d.Treated = extended(d.Baseline, typical, n), extended(d.Treated, d.at(typical, contrast), n)
	}
	d.Contrasts = extended(d.Contrasts, contrast, n)
	d.Rounds, d.Moved = extended(d.Rounds, 0, n), extended(d.Moved, 0, n)
	if d.controlDelta != nil {
		d.Control, d.controlDelta = extended(d.Control, typical, n), extended(d.controlDelta, 0, n)
	}
	if d.Places != nil {
		d.Places = extended(d.Places, [3]float64{}, n)
	}
	if d.SetUps != nil { // each counts by itself
		d.SetUps = slices.Clip(d.SetUps)
		for range n {
			d.SetUps = append(d.SetUps, -len(d.SetUps)-1)
		}
	}
}

// unlucky is by how much chance moved that value the most which it moved the farthest in a direction.
func unlucky(sign float64, x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return farthest(sign, x) - stats.Median(x)
}

// farthest is the one of several values that lies farthest in a direction.
func farthest(sign float64, x []float64) float64 {
	if sign < 0 {
		return slices.Min(x)
	}
	return slices.Max(x)
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

// Survives is the part of an estimate that withstands the missing values: an interval that
// reaches from where they speak for the smallest contrast to where they speak for the
// largest, and the p of the end that speaks against the estimate. No trial that failed shows
// an arm to be equivalent, whatever the others say: its cost has no upper end. Without
// missing values it is the estimate itself.
func (r Rules) Survives(d *Data, e Estimate) Estimate {
	if d.Missing.Count() == 0 {
		return e
	}
	small, large := d.Imputed(-1, r.MarginOf(d)), d.Imputed(1, r.MarginOf(d))
	least, most := r.Estimate(&small), r.Estimate(&large)
	e.Main, e.T = e.Main.within(least.Main, most.Main), e.T.within(least.T, most.T)
	return e
}

// within is the view that withstands the least and the most that missing pairs may have been. Its interval covers the
// intervals of all three views. Its p is at least the p of the view that speaks against its claim. It is never equivalent.
func (v View) within(least, most View) View {
	against := least
	if v.At.Point < 0 {
		against = most
	}
	switch v.Equiv = 1; {
	case !v.OK || !least.OK || !most.OK, v.At.Point*against.At.Point <= 0:
		v.P = 1
	default:
		v.P = max(v.P, against.P)
	}
	if v.OK && least.OK && most.OK {
		v.At.Lo, v.At.Hi = min(v.At.Lo, least.At.Lo), max(v.At.Hi, most.At.Hi)
	}
	return v
}
