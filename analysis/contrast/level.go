package contrast

import (
	"math"

	"tare/stats"
)

// The interval of a level goes by the means of so many parts of the run, in their order. Parts of a machine that drifts resemble
// their neighbours: the factor makes intervals hold where the drift is a random walk (cost's TestCoverage).
const (
	levelParts = 4
	partsAlike = 1.8
)

// Level estimates where the values of one arm lie. Unlike in a difference within rounds, the machine's drift does not cancel, and
// rounds that follow each other are no independent values: the interval holds that of t over the means of the four quarters
// of the run as well (batch means: Alexopoulos and Seila 1998, in Banks, Handbook of Simulation, chapter 7), wider by partsAlike.
func (r Rules) Level(d *Data) Estimate {
	e := r.Estimate(d)
	units, _, _ := d.Units()
	parts := min(levelParts, len(units))
	if !e.Main.OK || parts < 2 {
		return e
	}
	means := make([]float64, parts)
	for k := range means {
		part := units[k*len(units)/parts : (k+1)*len(units)/parts]
		for _, v := range part {
			means[k] += v / float64(len(part))
		}
	}
	half := partsAlike * Deviation(means) / math.Sqrt(float64(parts)) * stats.StudentQuantile((1+r.Confidence)/2, float64(parts-1))
	at := &e.Main.At
	at.Lo, at.Hi = min(at.Lo, at.Point-half), max(at.Hi, at.Point+half)
	return e
}
