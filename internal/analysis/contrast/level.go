package contrast

import (
	"math"

	"tare/internal/stats"
)

// levelParts is the number of consecutive parts of a run whose means the interval of Level uses. On a
// machine that drifts, neighbouring parts are alike. The interval is therefore widened partsAlike times, so
// that it holds its confidence even if the machine drifts in a random walk (TestCoverage of package cost).
const (
	levelParts = 4
	partsAlike = 1.8
)

// Level estimates the centre of one arm's values. The machine's drift cancels in differences within rounds,
// but not in the values of one arm. The interval therefore also contains the interval of batch means:
// Student's t over the means of the four quarters of the run (Alexopoulos and Seila 1998, Handbook of
// Simulation, chapter 7).
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
