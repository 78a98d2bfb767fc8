package contrast

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// Missing counts the trials without a value, by the arm in which the program failed. For paired data, it counts the
// pairs in which a program failed.
type Missing struct{ Baseline, Treated, Both int }

// Count returns the number of missing values or pairs.
func (m Missing) Count() int { return m.Baseline + m.Treated + m.Both }

// Add counts a round in which a trial failed: in the baseline, in the treated arm, or in both. If neither trial failed,
// Add counts nothing.
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

// farther times the largest contrast seen is assumed where a failure counts as a pair's worst value. The assumed
// contrast is at least 3 margins.
const farther = 1.5

// Imputed fills in missing values so that the contrast grows (sign +1) or shrinks (−1). Failures of the arm that looks
// worse lie beyond all values seen; other failures show no difference, apart from noise.
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
		largest = cmp.Or(largest, 1)
		worst := d.Missing.Treated
		if Cost(sign, d.Metric) < 0 {
			worst = d.Missing.Baseline
		}
		full.addPairs(sign*largest, worst)
		full.addPairs(largestDeviation(sign, d.Contrasts), d.Missing.Count()-worst)
		return full
	}
	if d.Size() == 0 {
		return full
	}
	base, arm := d.Scaled()
	all := slices.Concat(base, arm)
	beyond := max(slices.Max(all)-slices.Min(all), 2*farther*margin)
	low, high := stats.Median(arm)+largestDeviation(-sign, base), farthest(sign, all)+sign*beyond
	if Cost(sign, d.Metric) < 0 {
		low, high = farthest(-sign, all)-sign*beyond, stats.Median(base)+largestDeviation(sign, arm)
	}
	full.Baseline = extended(d.Baseline, d.valueOf(low), d.Missing.Baseline)
	full.Treated = extended(d.Treated, d.valueOf(high), d.Missing.Treated)
	return full
}

func (d *Data) addPairs(contrast float64, n int) {
	if n == 0 {
		return
	}
	typical := stats.Median(d.Baseline)
	if !d.withoutValues() {
		d.Baseline, d.Treated = extended(d.Baseline, typical, n), extended(d.Treated, d.at(typical, contrast), n)
	}
	d.Contrasts = extended(d.Contrasts, contrast, n)
	d.Rounds, d.Moved = extended(d.Rounds, 0, n), extended(d.Moved, 0, n)
	if d.controlDelta != nil {
		d.Control, d.controlDelta = extended(d.Control, typical, n), extended(d.controlDelta, 0, n)
	}
	if d.PositionEffects != nil {
		d.PositionEffects = extended(d.PositionEffects, [3]float64{}, n)
	}
	if d.SetUps != nil { // each added pair counts as a set-up of its own
		d.SetUps = slices.Clip(d.SetUps)
		for range n {
			d.SetUps = append(d.SetUps, -len(d.SetUps)-1)
		}
	}
}

// largestDeviation returns the largest value minus the median. If sign is negative, it returns the smallest value minus
// the median.
func largestDeviation(sign float64, x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return farthest(sign, x) - stats.Median(x)
}

func farthest(sign float64, x []float64) float64 {
	if sign < 0 {
		return slices.Min(x)
	}
	return slices.Max(x)
}

// at returns the value that an arm must have so that its contrast with the baseline's value base is the given one.
func (d *Data) at(base, contrast float64) float64 {
	switch {
	case d.Metric.Scale != experiment.Difference:
		return base * boundedExp(contrast)
	case d.Metric.Better == experiment.Higher:
		return base - contrast
	}
	return base + contrast
}

// valueOf is the inverse of Scaled. It converts a number on the scale of contrasts to a value.
func (d *Data) valueOf(x float64) float64 {
	switch {
	case d.Metric.Scale != experiment.Difference:
		return boundedExp(x)
	case d.Metric.Better == experiment.Higher:
		return -x
	}
	return x
}

func extended[T any](list []T, v T, n int) []T {
	return append(slices.Clip(list), slices.Repeat([]T{v}, n)...)
}

// WithMissing changes an estimate so that it holds for any values of failed trials, assumed low and high. Failed trials
// never show equivalence, since their cost has no upper limit.
func (r Rules) WithMissing(d *Data, e Estimate) Estimate {
	if d.Missing.Count() == 0 {
		return e
	}
	small, large := d.Imputed(-1, r.MarginOf(d)), d.Imputed(1, r.MarginOf(d))
	least, most := r.Estimate(&small), r.Estimate(&large)
	e.Main, e.T = e.Main.within(least.Main, most.Main), e.T.within(least.T, most.T)
	return e
}

// within adapts an estimator's result to failed trials. least and most are its results with the lowest and the highest
// assumed contrasts.
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
