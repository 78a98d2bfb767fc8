package contrast

import (
	"math"

	"tare/internal/stats"
)

// The interval of a level uses the means of this many consecutive parts of the run. On a machine
// that drifts, neighbouring parts are alike: the factor makes the interval cover even under a
// random walk (cost's TestCoverage).
const (
	levelParts = 4
	partsAlike = 1.8
)

// Level estimates the centre of one arm's values. The machine's drift does not cancel in it, as it
// does in differences within rounds. The interval therefore also covers that of batch means, by t
// over the quarters of the run (Alexopoulos and Seila 1998, Handbook of Simulation, chapter 7).
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
