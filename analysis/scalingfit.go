package analysis

import (
	"errors"
	"math"
	"slices"

	"tare/analysis/contrast"
	"tare/stats"
)

// Fit says how well a line describes the values.
type Fit struct {
	// Off is how far the mean at one level lies from the line, at most, as a share
	// of what the line, or the means, rise by from end to end.
	Off float64 `json:"off"`
	At  float64 `json:"at"` // that level
	P   float64 `json:"p"`  // that the means lie on a line, by t tests of what is left at each level; 1 if untestable
	// Bend says which way the means leave the line, by the quadratic that fits
	// best: "steeper" towards higher levels, "flatter"; "" where they do neither.
	Bend  string `json:"bend,omitempty"`
	Poor  bool   `json:"poor"`            // the line misses by more than chance and by more than a little
	Below bool   `json:"below,omitempty"` // the mean at that level lies below the line; else above
}

const (
	// fitLevel is the level at which a line counts as missed: one of a hundred
	// straight ones does.
	fitLevel = 0.01
	// fitMiss is the share of the rise that is a little: with many rounds anything
	// can be told from a line.
	fitMiss = 0.05
)

// fit looks at what the lines of the rounds leave at each level. Noise leaves as
// much above as below; a curve leaves the same in every round.
func (c *climbing) fit(l ladder, means []float64) Fit {
	f := Fit{P: 1, At: l.x[0]}
	worst, left := 0.0, make([]float64, len(l.x))
	for k, x := range l.x {
		residuals := make([]float64, len(c.lines))
		for i, line := range c.lines {
			residuals[i] = c.values[i][k] - line.At(x)
			left[k] += residuals[i] / float64(len(c.lines))
		}
		if math.Abs(left[k]) > worst {
			worst, f.At, f.Below = math.Abs(left[k]), x, left[k] < 0
		}
		f.P = min(f.P, missed(unitsOf(residuals, c.setUps))*float64(independent(len(l.x))))
	}
	if rise := slices.Max(means) - slices.Min(means); rise > 0 {
		f.Off = contrast.Finite(worst / rise)
	}
	f.Poor = f.P <= fitLevel && f.Off >= fitMiss
	if f.Poor {
		f.Bend = bend(l.x, left)
	}
	return f
}

// unitsOf are values of rounds, or their means where rounds share set-ups.
func unitsOf(values []float64, setUps []int) []float64 {
	d := contrast.Data{Paired: true, Contrasts: values, SetUps: setUps}
	units, _, _ := d.Units()
	return units
}

// independent is by how many tests a p is to be corrected. What a line leaves at
// three levels is one number, told three times.
func independent(levels int) int {
	if levels == leastLevels {
		return 1
	}
	return levels
}

// missed is the p that values left by a line are 0 in the mean.
func missed(residuals []float64) float64 {
	e, err := stats.PairedT(residuals, 0.95)
	switch {
	case err == nil:
		return e.P
	case errors.Is(err, stats.ErrConstant) && residuals[0] != 0:
		return 0
	}
	return 1
}

// bend is the sign of the quadratic in what is left, if it accounts for half of
// it at least: a step or a single level does not make a curve.
func bend(x, left []float64) string {
	square := make([]float64, len(x))
	for i, v := range x {
		square[i] = v * v
	}
	line, err := stats.FitLine(x, square)
	if err != nil {
		return ""
	}
	var product, squares, all float64
	for i, v := range x {
		curve := square[i] - line.At(v)
		product += curve * left[i]
		squares += curve * curve
		all += left[i] * left[i]
	}
	switch {
	case squares == 0 || product*product/squares < all/2:
		return ""
	case product > 0:
		return "steeper"
	}
	return "flatter"
}
