package figure

import (
	"math"
	"slices"

	"tare/internal/analysis"
	"tare/internal/report/wording"
)

// Levels have an even axis if they are spaced evenly enough, else a logarithmic one.
const (
	// minGapRatio is the ratio of the largest to the smallest gap between levels above which their axis
	// is logarithmic.
	minGapRatio = 3
	// minValueRatio is the ratio of the largest to the smallest value above which the axis of values is
	// logarithmic. With a lower ratio small values remain visible.
	minValueRatio = 30
	// overheadBendRatio is bendRatio for overheads at levels. Near a capacity they outgrow all others.
	overheadBendRatio = 6
)

// levelAxis returns the axis of ascending levels of a factor. It is logarithmic if the gaps between
// levels are uneven and the logarithm makes them more even. With a level of zero, the axis is linear up
// to the next level.
func levelAxis(x []float64) Axis {
	even := axisOver(x...)
	if len(x) < 3 || x[0] < 0 {
		return even
	}
	if gapRatio(x) < minGapRatio {
		return even
	}
	if x[0] == 0 {
		bent := Axis{Lo: even.Lo, Hi: even.Hi, Bend: x[1]}
		if spread := transformed(bent, x); gapRatio(spread) < gapRatio(x) {
			return bent.around(x)
		}
		return even
	}
	byLog := Axis{Lo: x[0], Hi: x[len(x)-1], Log: true}
	if gapRatio(transformed(byLog, x)) < gapRatio(x) {
		return byLog.around(x)
	}
	return even
}

// gapRatio returns the ratio of the largest to the smallest gap between neighbours.
func gapRatio(x []float64) float64 {
	least, most := math.Inf(1), 0.0
	for i := range x[1:] {
		gap := x[i+1] - x[i]
		least, most = min(least, gap), max(most, gap)
	}
	return most / least
}

func transformed(a Axis, x []float64) []float64 {
	list := make([]float64, len(x))
	for i, v := range x {
		list[i] = a.transform(v)
	}
	return list
}

// around gives the axis a little room at both ends of ascending values.
func (a Axis) around(x []float64) Axis {
	lo, hi := a.transform(x[0]), a.transform(x[len(x)-1])
	room := (hi - lo) * 0.05
	a.Lo, a.Hi = a.inverse(lo-room), a.inverse(hi+room)
	return a
}

// axes returns the axes of the levels, of the values at them, and of overheads. A fitted straight line
// needs an even axis of levels.
func (l Lines) axes() (across, up, on Axis) {
	across = levelAxis(l.X)
	var ends []float64
	var drawn []analysis.Interval
	for _, a := range l.Arms {
		if a.Fitted != nil {
			across = axisOver(l.X...)
		}
		for k, i := range a.Fitted {
			if k >= a.From {
				ends = append(ends, i.Point)
			}
		}
		for _, p := range a.Estimates {
			if p.Known {
				ends = append(ends, p.At.Point)
			}
			if p.Known && l.Bars {
				ends = append(ends, 0, p.At.Lo, p.At.Hi) // the baseline is at zero
			}
		}
		for _, v := range a.Values {
			ends = append(ends, v...)
		}
		for _, p := range a.Overheads {
			switch {
			case p.Known && p.Point:
				drawn = append(drawn, analysis.Interval{Point: p.At.Point, Lo: p.At.Point, Hi: p.At.Point})
			case p.Known:
				drawn = append(drawn, p.At)
			}
		}
	}
	return across, l.values(ends), overheads(drawn, l.Margin, overheadBendRatio)
}

// values returns the axis of values. It is logarithmic if small values would otherwise be invisible.
func (l Lines) values(ends []float64) Axis {
	ends = slices.DeleteFunc(slices.Clone(ends), func(v float64) bool { return !wording.Finite(v) })
	fitted := slices.ContainsFunc(l.Arms, func(a Line) bool { return a.Fitted != nil })
	if len(ends) > 0 && !fitted {
		slices.Sort(ends)
		lo, hi := bounded(ends[0]), bounded(ends[len(ends)-1])
		if lo > 0 && hi/lo >= minValueRatio {
			return Axis{Log: true}.around([]float64{lo, hi})
		}
	}
	return axisOver(ends...)
}
