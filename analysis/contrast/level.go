package contrast

import (
	"math"

	"tare/stats"
)

// The interval of a level goes by the means of so many parts of the run, in their order. Parts of a machine that drifts resemble
// their neighbours: the factor makes intervals hold under a random walk, too (cost's TestCoverage).
const (
	levelParts = 4
	partsAlike = 1.8
)

// Level estimates where the values of one arm lie. The machine's drift does not cancel there, as it does in differences within rounds:
// the interval also holds that of batch means, by t over the quarters of the run (Alexopoulos and Seila 1998, Handbook of Simulation, chapter 7).
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
