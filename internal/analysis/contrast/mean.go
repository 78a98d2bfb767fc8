package contrast

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// Mean returns the contrast of the arithmetic means, which capacity and money depend on, with its interval. ok is false
// for too few or constant values, and for a comparison of two overheads.
func (r Rules) Mean(d *Data) (at stats.Interval, ok bool) {
	if d.estimate != nil || d.withoutValues() {
		return stats.Interval{}, false
	}
	var err error
	switch {
	case d.Metric.Scale == experiment.Difference && d.Paired:
		contrasts, _, _ := d.Units()
		at, err = interval(stats.PairedT(contrasts, r.AtLook()))
	case d.Metric.Scale == experiment.Difference:
		base, arm := d.Scaled()
		at, err = interval(stats.WelchT(base, arm, r.Confidence))
	case d.Paired:
		base, arm := d.meanUnits()
		at, err = stats.LogMeanRatioPaired(base, arm, r.AtLook())
	default:
		at, err = stats.LogMeanRatio(d.Baseline, d.Treated, r.Confidence)
	}
	ok = err == nil && !math.IsNaN(at.Point) && !math.IsNaN(at.Lo) && !math.IsNaN(at.Hi)
	return at, ok
}

func interval(e stats.Estimate, err error) (stats.Interval, error) { return e.Interval, err }

// MeanBeyond reports whether the arithmetic means of both arms differ by more than the margin of equivalence, without a
// test.
func (r Rules) MeanBeyond(d *Data) bool {
	margin := r.MarginOf(d)
	if d.estimate != nil || d.withoutValues() || d.Metric.Scale == experiment.Difference || margin <= 0 || d.Size() == 0 {
		return false
	}
	base, arm := d.Baseline, d.Treated
	if d.Paired {
		base, arm = d.meanUnits()
	}
	ratio := floats.Sum(arm) / float64(len(arm)) / (floats.Sum(base) / float64(len(base)))
	return ratio > 0 && math.Abs(math.Log(ratio)) > margin
}

// meanUnits returns the values whose means are compared. The mean of baseline and control replaces the baseline's, and
// rounds of one set-up are averaged.
func (d *Data) meanUnits() (base, arm []float64) {
	base, arm = d.Baseline, d.Treated
	if d.Control != nil {
		base = slices.Clone(d.Baseline)
		for i, c := range d.Control {
			if !math.IsNaN(c) {
				base[i] = base[i]/2 + c/2
			}
		}
	}
	if d.SetUps == nil {
		return base, arm
	}
	var bases, arms []float64
	for _, block := range d.blocks() {
		b, a := 0.0, 0.0
		for _, i := range block {
			b, a = b+base[i]/float64(len(block)), a+arm[i]/float64(len(block))
		}
		bases, arms = append(bases, b), append(arms, a)
	}
	return bases, arms
}

// Level uses the means of levelParts parts of a run. A drift makes neighbours alike, so partsAlike widens the interval,
// enough for a random walk (TestCoverage of package cost).
const (
	levelParts = 4
	partsAlike = 1.8
)

// Level estimates the centre of one arm's values. Drift does not cancel here, so the interval contains that of batch
// means: Student's t over the run's quarters (Alexopoulos and Seila 1998, Handbook of Simulation, chapter 7).
func (r Rules) Level(d *Data) Estimate {
	e := r.Estimate(d)
	units, _, _ := d.Units()
	parts := min(levelParts, len(units))
	if !e.Main.OK || parts < 2 {
		return e
	}
	means := make([]float64, parts)
	for i, v := range units {
		k := ((i+1)*parts - 1) / len(units)
		means[k] += v / float64((k+1)*len(units)/parts-k*len(units)/parts)
	}
	half := partsAlike * Deviation(means) / math.Sqrt(float64(parts)) * stats.StudentQuantile((1+r.Confidence)/2, float64(parts-1))
	e.Main.At.Lo, e.Main.At.Hi = min(e.Main.At.Lo, e.Main.At.Point-half), max(e.Main.At.Hi, e.Main.At.Point+half)
	return e
}
