package figure

import (
	"math"
	"slices"

	"tare/analysis"
	"tare/wording"
)

// Levels stand evenly on their axis where they are spaced evenly enough; else by
// their logarithms.
const (
	// crampedLevels is how many times as far apart as the closest two levels the
	// furthest two neighbours must be for the axis to be logarithmic.
	crampedLevels = 3
	// crampedValues is how many times the least value the largest must be for an axis of
	// values to be logarithmic: below, what is small can still be seen.
	crampedValues = 30
	// crowdedLevels is the same for overheads, which near a capacity outgrow those below it.
	crowdedLevels = 6
)

// Levels is the axis of the levels of a factor, in ascending order. It is logarithmic where
// that spaces them more evenly and they are cramped otherwise; with a level of zero, even
// up to the first one above.
func Levels(x []float64) Axis {
	even := hold(x...)
	if len(x) < 3 || x[0] < 0 {
		return even
	}
	if cramped(x) < crampedLevels {
		return even
	}
	if x[0] == 0 {
		bent := Axis{Lo: even.Lo, Hi: even.Hi, Bend: x[1]}
		if spread := warped(bent, x); cramped(spread) < cramped(x) {
			return bent.around(x)
		}
		return even
	}
	byLog := Axis{Lo: x[0], Hi: x[len(x)-1], Log: true}
	if cramped(warped(byLog, x)) < cramped(x) {
		return byLog.around(x)
	}
	return even
}

// cramped is how many times as far apart as the closest neighbours the furthest are.
func cramped(x []float64) float64 {
	least, most := math.Inf(1), 0.0
	for i := range x[1:] {
		gap := x[i+1] - x[i]
		least, most = min(least, gap), max(most, gap)
	}
	return most / least
}

func warped(a Axis, x []float64) []float64 {
	list := make([]float64, len(x))
	for i, v := range x {
		list[i] = a.warp(v)
	}
	return list
}

// around gives the axis a little room at both ends of ascending values.
func (a Axis) around(x []float64) Axis {
	lo, hi := a.warp(x[0]), a.warp(x[len(x)-1])
	room := (hi - lo) * 0.05
	a.Lo, a.Hi = a.unwarp(lo-room), a.unwarp(hi+room)
	return a
}

// axes are those of the levels, of everything that is drawn at them, and of overheads.
// Where a straight line is fitted, it has to look like one.
func (l Lines) axes() (across, up, on Axis) {
	across = Levels(l.X)
	var ends []float64
	var drawn []analysis.Interval
	for _, a := range l.Arms {
		if a.Fitted != nil {
			across = hold(l.X...)
		}
		for k, i := range a.Fitted {
			if k >= a.From {
				ends = append(ends, i.Point)
			}
		}
		for _, p := range a.Places {
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
	return across, l.values(ends), overheads(drawn, l.Margin, crowdedLevels)
}

// values is the axis of values: logarithmic where they grow so much that what
// is small would not be seen.
func (l Lines) values(ends []float64) Axis {
	ends = slices.DeleteFunc(slices.Clone(ends), func(v float64) bool { return !wording.Finite(v) })
	fitted := slices.ContainsFunc(l.Arms, func(a Line) bool { return a.Fitted != nil })
	if len(ends) > 0 && !fitted {
		slices.Sort(ends)
		lo, hi := bounded(ends[0]), bounded(ends[len(ends)-1])
		if lo > 0 && hi/lo >= crampedValues {
			return Axis{Log: true}.around([]float64{lo, hi})
		}
	}
	return hold(ends...)
}
