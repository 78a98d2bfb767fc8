package figure

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/report/wording"
)

// Axis maps values to the range 0…1. With Bend > 0, the axis is linear within about ±Bend and logarithmic beyond
// (inverse hyperbolic sine). With Log = true, it is logarithmic, and both ends are positive.
type Axis struct {
	Lo, Hi float64
	Bend   float64
	Log    bool
}

// At returns the position of v, clamped to 0…1.
func (a Axis) At(v float64) float64 {
	lo, hi := a.transform(a.Lo), a.transform(a.Hi)
	at := (a.transform(v) - lo) / (hi - lo)
	if hi <= lo || math.IsNaN(at) { // NaN: the ends of the axis are farther apart than a float64 can express
		return 0.5
	}
	return min(1, max(0, at))
}

func (a Axis) transform(v float64) float64 {
	switch {
	case a.Log:
		return math.Log(max(v, math.SmallestNonzeroFloat64))
	case a.Bend > 0:
		return math.Asinh(v / a.Bend)
	}
	return v
}

func (a Axis) inverse(v float64) float64 {
	switch {
	case a.Log:
		return math.Exp(v)
	case a.Bend > 0:
		return math.Sinh(v) * a.Bend
	}
	return v
}

// scale says how the axis is scaled, such as "logarithmic scale"; "": the axis is linear.
func (a Axis) scale(write func(float64) string) string {
	switch {
	case a.Log:
		return "logarithmic scale"
	case a.Bend > 0:
		return "even to ±" + write(a.Bend) + ", then logarithmic"
	}
	return ""
}

func (a Axis) even() bool { return !a.Log && a.Bend <= 0 }

// BendRatio is the usual value of bendRatio, a parameter of the function Overheads.
const BendRatio = 12

// Overheads returns an axis that covers all intervals, zero and the margin. If the largest bound is more than bendRatio
// times the typical bound, the axis is not linear (Axis.Bend).
func Overheads(list []analysis.Interval, margin, bendRatio float64) Axis {
	margin = max(margin, 0)
	a := Axis{Lo: -1.5 * margin, Hi: 1.5 * margin}
	var bounds []float64
	for _, i := range list {
		lo, hi := bounded(i.Lo), bounded(i.Hi)
		a.Lo, a.Hi = min(a.Lo, lo), max(a.Hi, hi)
		bounds = append(bounds, max(math.Abs(lo), math.Abs(hi)))
	}
	if a.Lo == a.Hi {
		return Axis{Lo: -0.05, Hi: 0.05}
	}
	if len(bounds) > 0 {
		slices.Sort(bounds)
		typical, largest := max(bounds[(len(bounds)-1)/2], margin), bounds[len(bounds)-1]
		if typical > 0 && largest > bendRatio*typical {
			return Axis{Lo: a.Lo * 1.15, Hi: a.Hi * 1.15, Bend: typical}
		}
	}
	room := (a.Hi - a.Lo) * 0.04
	return Axis{Lo: a.Lo - room, Hi: a.Hi + room}
}

// bounded limits a value to a range that labels can show. Values beyond the range are drawn at the edge.
func bounded(v float64) float64 { return min(1e15, max(-1e15, v)) }

func (a Axis) ticks(n int) []float64 {
	switch {
	case a.Log:
		return a.logTicks(n)
	case a.Bend > 0:
		return a.bentTicks(n)
	}
	step := roundStep((a.Hi - a.Lo) / float64(max(n, 1)))
	if step <= 0 || !wording.Finite(step) {
		return nil
	}
	var list []float64
	for i := math.Ceil(a.Lo/step - 1e-9); i*step <= a.Hi+step*1e-9 && len(list) <= 2*n+2; i++ {
		list = append(list, i*step+0) // adding 0 turns −0 into 0
	}
	return list
}

// unit returns the unit for the axis's labels, such as ms. base is the unit of the values, such as s.
func (a Axis) unit(base string) wording.Scale {
	return wording.ScaleOf(base, max(math.Abs(a.Lo), math.Abs(a.Hi)))
}

// inUnit returns about n ticks at round numbers of a unit, with labels. On uneven axes and from the value large, labels
// have four significant digits.
func (a Axis) inUnit(unit wording.Scale, n int, large float64) (ticks []float64, labels []string) {
	ticks = Axis{Lo: a.Lo / unit.Div, Hi: a.Hi / unit.Div, Bend: a.Bend / unit.Div, Log: a.Log}.ticks(n)
	decimals := 0
	if !a.even() {
		decimals = 10 // any value above 9: each label then gets as many decimals as its own number needs
	} else if len(ticks) > 1 {
		decimals = max(0, int(math.Ceil(-math.Log10(ticks[1]-ticks[0])-1e-9)))
	}
	for i, t := range ticks {
		label := wording.Fixed(t, decimals)
		if decimals > 9 || math.Abs(t) >= large {
			label = wording.TrimZeros(wording.Number(t, 4))
		}
		ticks[i], labels = t*unit.Div, append(labels, label)
	}
	return ticks, labels
}

// logTicks returns ticks at powers of ten and, if there are few, at multiples such as 2 and 5 times a power.
func (a Axis) logTicks(n int) []float64 {
	first, last := math.Floor(math.Log10(a.Lo)), math.Ceil(math.Log10(a.Hi))
	every := max(1, math.Ceil((last-first)/float64(2*max(n, 1))))
	multiples := []float64{1, 2, 5}
	switch decades := last - first; {
	case decades*3 > float64(3*n):
		multiples = []float64{1}
	case decades*3 > float64(2*n):
		multiples = []float64{1, 3}
	}
	var list []float64
	for p := first; p <= last && len(list) <= 6*n; p += every {
		for _, m := range multiples {
			if v := m * math.Pow(10, p); v >= a.Lo && v <= a.Hi {
				list = append(list, v)
			}
		}
	}
	return list
}

// bentTicks returns ticks for a bent axis: zero, and round values with enough room for their labels. Powers of ten come
// before other values.
func (a Axis) bentTicks(n int) []float64 {
	list := []float64{0}
	gap := 0.75 / float64(n)
	free := func(t float64) bool {
		return t >= a.Lo && t <= a.Hi && !slices.ContainsFunc(list, func(o float64) bool { return math.Abs(a.At(t)-a.At(o)) < gap })
	}
	start := math.Pow(10, math.Floor(math.Log10(a.Bend)))
	for _, m := range []float64{1, 5, 2} {
		for v := start * m; v <= max(-a.Lo, a.Hi); v *= 10 {
			for _, t := range []float64{-v, v} {
				if free(t) {
					list = append(list, t)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// roundStep returns the smallest step 1, 2 or 5 × 10ⁿ that is at least raw.
func roundStep(raw float64) float64 {
	if raw <= 0 || !wording.Finite(raw) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// percentTick labels a tick of an axis of overheads, without "cost" or "gain".
func percentTick(v float64) string {
	if v == 0 {
		return "0"
	}
	return wording.TrimZeros(wording.Fixed(math.Abs(v)*100, 4)) + " %"
}

// costOrGain puts "cost" or "gain" before the label of a tick.
func costOrGain(v float64, label string) string {
	switch label = strings.TrimPrefix(label, wording.MinusSign); {
	case v > 0:
		return "cost " + label
	case v < 0:
		return "gain " + label
	}
	return label
}

// axisOver returns an axis that covers values, with a little room at both ends.
func axisOver(values ...float64) Axis {
	a := Axis{Lo: math.Inf(1), Hi: math.Inf(-1)}
	for _, v := range values {
		if wording.Finite(v) {
			a.Lo, a.Hi = min(a.Lo, bounded(v)), max(a.Hi, bounded(v))
		}
	}
	if a.Lo > a.Hi {
		return Axis{Lo: 0, Hi: 1}
	}
	room := (a.Hi - a.Lo) * 0.05
	room = cmp.Or(room, max(math.Abs(a.Hi)*0.05, 1e-12))
	return Axis{Lo: a.Lo - room, Hi: a.Hi + room}
}
