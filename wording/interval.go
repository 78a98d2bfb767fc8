package wording

import (
	"math"
	"slices"
	"strings"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/experiment"
)

// Judged says whether a comparison has numbers to show.
func Judged(c analysis.Comparison) bool {
	o := c.Overhead
	if c.Verdict == analysis.Invalid || c.Rounds == 0 || !Finite(o.Point) || !Finite(o.Lo) || !Finite(o.Hi) || Unmeasurable(&c) {
		return false
	}
	if (c.Verdict == analysis.NotResolved || c.Verdict == analysis.Interim || c.Verdict == analysis.Restated) && o == (analysis.Interval{}) {
		// Zero is an estimate only where every round gave zero, or no value varies.
		return c.Rounds > 1 && (len(c.Overheads) > 0 || c.PointOnly && !c.Paired) && !slices.ContainsFunc(c.Overheads, func(v float64) bool { return v != 0 })
	}
	return true
}

// farthest is how many times one end of an interval may be the other before it says nothing of a size.
const farthest = 1000

// unmeasured stands for the size of what cannot be measured.
const unmeasured = "not measurable"

// Unmeasurable says whether the values spread so far that the interval of the overhead says nothing
// of its size: no number of it is told.
func Unmeasurable(c *analysis.Comparison) bool {
	return !c.PointOnly && far(c.Metric, c.Overhead)
}

func far(m experiment.Metric, o analysis.Interval) bool {
	f := factors(m, o)
	return IsRatio(m) && o.Lo < o.Hi && (f.Lo <= 0 || f.Hi > farthest*f.Lo)
}

// IsRatio says whether overheads are shares of the baseline.
func IsRatio(m experiment.Metric) bool { return m.Scale != experiment.Difference }

// Overhead writes the point and the interval of a comparison by what there is more or less of:
// "7.1 % more" and "[6.2, 8.0]", "20 % less" and "[9 more, 56 less]". Where a gain takes a metric of
// which more is better past twice the baseline, it writes how many times the
// baseline it is: "2.1 times" and "[2.0, 2.2]".
func Overhead(c analysis.Comparison) (point, interval string) {
	switch {
	case Judged(c):
	case c.Verdict != analysis.Invalid && Unmeasurable(&c):
		return unmeasured, ""
	default:
		return Missing, ""
	}
	return wayOf(&c).interval(c.Metric, c.Overhead, c.PointOnly)
}

// Estimate writes both with a space between: "7.1 % more [6.2, 8.0]", "7.1 % more" where
// there is no interval, and a dash where there is nothing.
func Estimate(c analysis.Comparison) string {
	return estimate(Overhead(c))
}

// estimate writes an interval behind its point, if there is one.
func estimate(point, interval string) string { return strings.TrimSpace(point + " " + interval) }

// way is how numbers are written that have a sign: with the words for those above zero and for those below it.
type way struct{ before, plus, minus string }

var (
	// Plain writes levels and sizes, which need no word. A minus stays one.
	Plain = way{}
	// More writes what there is more or less of.
	More = way{"", "more", "less"}
	// costing writes how two overheads differ, whatever the direction of the metric.
	costing = way{"cost ", "more", "less"}
)

// Of writes overheads on a metric by what there is more or less of: a cost is less of what is better when higher.
func Of(m experiment.Metric) way {
	if m.Better == experiment.Higher {
		return way{"", "less", "more"}
	}
	return More
}

// wayOf is how the overhead of a comparison is written.
func wayOf(c *analysis.Comparison) way {
	if c.Versus != nil {
		return costing
	}
	return Of(c.Metric)
}

// Interval writes a point with its interval, both in one unit and with as many
// decimals as the interval supports.
func (w way) Interval(m experiment.Metric, o analysis.Interval) string {
	return estimate(w.interval(m, o, false))
}

// Bounds writes an interval alone, beside a number that has the word for both: "[6.2, 8.0]", "[9 more, 56 less]".
func (w way) Bounds(m experiment.Metric, o analysis.Interval) string {
	_, interval := w.interval(m, o, false)
	return interval
}

// Amount writes a size with as many decimals as the interval o supports.
func (w way) Amount(m experiment.Metric, v float64, o analysis.Interval) string {
	half := (o.Hi - o.Lo) / 2
	point, _ := w.interval(m, analysis.Interval{Point: v, Lo: v - half, Hi: v + half}, true)
	return point
}

func (w way) interval(m experiment.Metric, o analysis.Interval, pointOnly bool) (point, interval string) {
	if !Finite(o.Point) || !Finite(o.Lo) || !Finite(o.Hi) {
		return Missing, ""
	}
	if manifold(m, o) {
		return factorText(factors(m, o), pointOnly)
	}
	s, o := scaled(m, o)
	return w.written(o, decimalsOf(o), pointOnly, s)
}

// written writes numbers with so many decimals in a unit.
func (w way) written(o analysis.Interval, d int, pointOnly bool, unit Scale) (point, interval string) {
	zero := func(v float64) bool { return v == 0 || vanishes(v, d) }
	if w.plus != "" && o.Point < 0 && !zero(o.Point) {
		w.plus, w.minus, o = w.minus, w.plus, turned(o)
	}
	write := func(v float64, words bool) (text, word string) {
		switch {
		case w.plus == "":
			return Fixed(v, d), ""
		case !words || zero(v):
		case v < 0:
			word = " " + w.minus
		default:
			word = " " + w.plus
		}
		return Fixed(math.Abs(v), d), word
	}
	number, word := write(o.Point, true)
	if point = w.before + unit.labelled(number) + word; pointOnly {
		return point, ""
	}
	each := zero(o.Point) || o.Lo < 0 && !zero(o.Lo) // bound needs a word of its own
	lo, below := write(o.Lo, each)
	hi, above := write(o.Hi, each)
	return point, "[" + lo + below + ", " + hi + above + "]"
}

// scaled gives overheads in the unit in which they are written.
func scaled(m experiment.Metric, o analysis.Interval) (Scale, analysis.Interval) {
	s := Scale{Div: 0.01, Label: "%"}
	if !IsRatio(m) {
		s = ScaleOf(m.Unit, max(math.Abs(o.Point), math.Abs(o.Lo), math.Abs(o.Hi)))
	}
	return s, analysis.Interval{Point: contrast.Finite(o.Point / s.Div), Lo: contrast.Finite(o.Lo / s.Div), Hi: contrast.Finite(o.Hi / s.Div)}
}

// decimalsOf is how many decimals an interval supports. Neither bound may seem to
// be zero that is not, within reason, nor may the point of an interval that
// excludes zero.
func decimalsOf(o analysis.Interval) int {
	d := decimalsFor((o.Hi - o.Lo) / 2)
	for d < 3 && (vanishes(o.Lo, d) || vanishes(o.Hi, d)) {
		d++
	}
	for d < mostDecimals && (o.Lo > 0 || o.Hi < 0) && vanishes(o.Point, d) {
		d++
	}
	return d
}

// vanishes says whether rounding would hide on which side of zero v lies.
func vanishes(v float64, decimals int) bool {
	return v != 0 && strings.Trim(Fixed(v, decimals), "0.,"+MinusSign) == ""
}

// Size writes a magnitude on the scale of a metric, with two digits: "1.3 %" or
// "12 ms".
func Size(m experiment.Metric, v float64) string {
	if IsRatio(m) {
		return Share(v)
	}
	s := ScaleOf(m.Unit, v)
	return s.labelled(Number(v/s.Div, 2))
}

// End labels the end of an axis of overheads with few digits, and without the word for its side.
func End(m experiment.Metric, v float64) string {
	if manifold(m, analysis.Interval{Lo: v}) {
		return Number(1-v, 2) + " times"
	}
	return Size(m, math.Abs(v))
}

// Brief writes an overhead with few digits: "7 % more", "2.1 times".
func Brief(m experiment.Metric, v float64) string {
	if manifold(m, analysis.Interval{Lo: v}) {
		return End(m, v)
	}
	return Of(m).brief(m, v)
}

func (w way) brief(m experiment.Metric, v float64) string {
	word := w.plus
	if v < 0 {
		word = w.minus
	}
	return Size(m, math.Abs(v)) + " " + word
}

// manifold says whether an interval holds gains of a metric of which more is
// better that more than double it. As a share of the baseline they would be
// negative costs of over 100 %, which nobody reads right.
func manifold(m experiment.Metric, o analysis.Interval) bool {
	return IsRatio(m) && m.Better == experiment.Higher && o.Lo < -1
}

// factors turns overheads into how many times the baseline the arm is.
func factors(m experiment.Metric, o analysis.Interval) analysis.Interval {
	if m.Better == experiment.Higher {
		return analysis.Interval{Point: 1 - o.Point, Lo: 1 - o.Hi, Hi: 1 - o.Lo}
	}
	return analysis.Interval{Point: 1 + o.Point, Lo: 1 + o.Lo, Hi: 1 + o.Hi}
}

// factorText writes factors: "2.10 times" and "[2.05, 2.15]", "14 times" and "[13, 15]".
func factorText(f analysis.Interval, pointOnly bool) (point, interval string) {
	half := (f.Hi - f.Lo) / 2
	d := decimalsFor(half)
	if f.Point >= 10 && (half == 0 || half >= 0.95) {
		d = 0
	}
	point = Fixed(f.Point, d) + " times"
	if pointOnly {
		return point, ""
	}
	return point, "[" + Fixed(f.Lo, d) + ", " + Fixed(f.Hi, d) + "]"
}

// Factor says an effect of at least the whole baseline as a factor, for beside the
// same in percent: "14 times as much [13, 15]"; "" for a smaller one.
func Factor(c *analysis.Comparison) string {
	o := c.Overhead
	more := o.Point >= 1 && c.Metric.Better != experiment.Higher
	if c.Metric.Better == experiment.Higher {
		more = o.Point <= -1
	}
	if !IsRatio(c.Metric) || !more {
		return ""
	}
	point, interval := factorText(factors(c.Metric, o), c.PointOnly)
	return strings.TrimSpace(point + " as much " + interval)
}

// Extent writes the sizes of the smaller and the larger of two effects: "3 to 12 %".
func Extent(small, large analysis.Comparison) string {
	a, b := math.Abs(small.Overhead.Point), math.Abs(large.Overhead.Point)
	if Share(a) == Share(b) {
		return Share(a)
	}
	return share(a) + " to " + Share(b)
}
