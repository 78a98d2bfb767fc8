package wording

import (
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// HasNumbers reports whether a comparison has numbers to show.
func HasNumbers(c analysis.Comparison) bool {
	o := c.Overhead
	if c.Verdict == analysis.Invalid || c.Rounds == 0 || !Finite(o.Point) || !Finite(o.Lo) || !Finite(o.Hi) || unmeasurable(&c) {
		return false
	}
	if (c.Verdict == analysis.NotResolved || c.Verdict == analysis.Interim || c.Verdict == analysis.Restated) && o == (analysis.Interval{}) {
		// in these verdicts, an overhead of 0 is an estimate only if every round gave 0 or no value varies; otherwise
		// nothing was estimated
		return c.Rounds > 1 && (len(c.Overheads) > 0 || c.PointOnly && !c.Paired) && !slices.ContainsFunc(c.Overheads, func(v float64) bool { return v != 0 })
	}
	return true
}

// unmeasured replaces a size that cannot be measured.
const unmeasured = "not measurable"

// unmeasurable reports whether a comparison's interval is too wide to state how large the overhead is.
func unmeasurable(c *analysis.Comparison) bool {
	return !c.PointOnly && tooWide(c.Metric, c.Overhead)
}

func tooWide(m experiment.Metric, o analysis.Interval) bool {
	f := factors(m, o)
	return IsRatio(m) && o.Lo < o.Hi && (f.Lo <= 0 || f.Hi > maxRatio*f.Lo)
}

// IsRatio reports whether the overheads of a metric are shares of the baseline.
func IsRatio(m experiment.Metric) bool { return m.Scale != experiment.Difference }

// Overhead writes a comparison's point and interval as amounts: "7.1 % more" and "[6.2, 8.0]", "20 % less" and "[9
// more, 56 less]". A gain that more than doubles the baseline is a factor: "2.1 times".
func Overhead(c analysis.Comparison) (point, interval string) {
	switch {
	case HasNumbers(c):
	case c.Verdict != analysis.Invalid && unmeasurable(&c):
		return unmeasured, ""
	default:
		return Missing, ""
	}
	return wordsOf(&c).interval(c.Metric, c.Overhead, c.PointOnly)
}

// Estimate joins the two texts of Overhead: "7.1 % more [6.2, 8.0]", "7.1 % more" without an interval, or
// a dash without numbers.
func Estimate(c analysis.Comparison) string {
	return estimate(Overhead(c))
}

// estimate joins a point and its interval. The interval may be "".
func estimate(point, interval string) string { return strings.TrimSpace(point + " " + interval) }

// signWords holds the text before a number, the word after a positive number, and the word after a negative
// number.
type signWords struct{ before, plus, minus string }

var (
	// plain is for values and sizes: no word such as "more" stands beside them. A negative number keeps its minus.
	plain = signWords{}
	// more has the words for a change of an amount: "more" or "less".
	more = signWords{"", "more", "less"}
	// costing is for the difference of two overheads. Overheads are costs, whether higher or lower values of
	// the metric are better.
	costing = signWords{"cost ", "more", "less"}
)

// OverheadWords returns the words for overheads on a metric, such as "more" for a cost. If higher values of the metric
// are better, a cost is "less".
func OverheadWords(m experiment.Metric) signWords {
	if m.Better == experiment.Higher {
		return signWords{"", "less", "more"}
	}
	return more
}

func wordsOf(c *analysis.Comparison) signWords {
	if c.Versus != nil {
		return costing
	}
	return OverheadWords(c.Metric)
}

// Interval writes a point with its interval, both in one unit and with as many decimals as the interval supports.
func (w signWords) Interval(m experiment.Metric, o analysis.Interval) string {
	return estimate(w.interval(m, o, false))
}

// Bounds writes an interval without its point: "[6.2, 8.0]", "[9 more, 56 less]".
func (w signWords) Bounds(m experiment.Metric, o analysis.Interval) string {
	_, interval := w.interval(m, o, false)
	return interval
}

// Amount writes v with as many decimals as the interval o supports.
func (w signWords) Amount(m experiment.Metric, v float64, o analysis.Interval) string {
	half := (o.Hi - o.Lo) / 2
	point, _ := w.interval(m, analysis.Interval{Point: v, Lo: v - half, Hi: v + half}, true)
	return point
}

func (w signWords) interval(m experiment.Metric, o analysis.Interval, pointOnly bool) (point, interval string) {
	if !Finite(o.Point) || !Finite(o.Lo) || !Finite(o.Hi) {
		return Missing, ""
	}
	if manifold(m, o) {
		return factorText(factors(m, o), pointOnly)
	}
	s, o := scaled(m, o)
	return w.written(o, decimalsOf(o), pointOnly, s)
}

// written writes a point and its interval in a unit, with d decimals.
func (w signWords) written(o analysis.Interval, d int, pointOnly bool, unit Scale) (point, interval string) {
	zero := func(v float64) bool { return v == 0 || vanishes(v, d) }
	if w.plus != "" && o.Point < 0 && !zero(o.Point) {
		w.plus, w.minus, o = w.minus, w.plus, negated(o)
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
	if point = w.before + unit.Labelled(number) + word; pointOnly {
		return point, ""
	}
	each := zero(o.Point) || o.Lo < 0 && !zero(o.Lo) // true if each bound needs a word of its own, as in [0.1 less, 0.2 more]
	lo, below := write(o.Lo, each)
	hi, above := write(o.Hi, each)
	return point, "[" + lo + below + ", " + hi + above + "]"
}

// scaled chooses the unit of an interval, and converts the interval to this unit.
func scaled(m experiment.Metric, o analysis.Interval) (Scale, analysis.Interval) {
	s := Scale{Div: 0.01, Label: "%"}
	if !IsRatio(m) {
		s = ScaleOf(m.Unit, max(math.Abs(o.Point), math.Abs(o.Lo), math.Abs(o.Hi)))
	}
	return s, analysis.Interval{Point: contrast.Finite(o.Point / s.Div), Lo: contrast.Finite(o.Lo / s.Div), Hi: contrast.Finite(o.Hi / s.Div)}
}

// decimalsOf returns how many decimals an interval is written with. More are added, up to three, if a bound would read
// zero, or if the point would and the interval excludes zero.
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

// vanishes reports whether v, which is not zero, rounds to zero.
func vanishes(v float64, decimals int) bool {
	return v != 0 && strings.Trim(Fixed(v, decimals), "0.,"+MinusSign) == ""
}

// Size writes a magnitude on the scale of a metric with two digits: "1.3 %", "12 ms".
func Size(m experiment.Metric, v float64) string {
	if IsRatio(m) {
		return Share(v)
	}
	s := ScaleOf(m.Unit, v)
	return s.Labelled(Number(v/s.Div, 2))
}

// End writes the end of an axis of overheads with few digits, without "more" or "less".
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
	return OverheadWords(m).brief(m, v)
}

func (w signWords) brief(m experiment.Metric, v float64) string {
	word := w.plus
	if v < 0 {
		word = w.minus
	}
	return Size(m, math.Abs(v)) + " " + word
}

// manifold reports whether an interval contains a gain that more than doubles a metric. As a cost, it is less than −100
// % of the baseline, which readers misread.
func manifold(m experiment.Metric, o analysis.Interval) bool {
	return IsRatio(m) && m.Better == experiment.Higher && o.Lo < -1
}

func factors(m experiment.Metric, o analysis.Interval) analysis.Interval {
	if m.Better == experiment.Higher {
		return analysis.Interval{Point: 1 - o.Point, Lo: 1 - o.Hi, Hi: 1 - o.Lo}
	}
	return analysis.Interval{Point: 1 + o.Point, Lo: 1 + o.Lo, Hi: 1 + o.Hi}
}

// factorText writes ratios: "2.10 times" and "[2.05, 2.15]", "14 times" and "[13, 15]".
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

// Factor writes an effect of at least 100 % as a ratio, which stands beside the percentage: "14 times as much
// [13, 15]"; "" for a smaller effect.
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

// Extent writes the sizes of two effects, the smaller first: "3 to 12 %".
func Extent(small, large analysis.Comparison) string {
	a, b := math.Abs(small.Overhead.Point), math.Abs(large.Overhead.Point)
	if Share(a) == Share(b) {
		return Share(a)
	}
	return share(a) + " to " + Share(b)
}
