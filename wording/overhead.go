package wording

import (
	"math"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
)

// Judged says whether a comparison has numbers to show.
func Judged(c analysis.Comparison) bool {
	o := c.Overhead
	if c.Verdict == analysis.Invalid || c.Rounds == 0 || !Finite(o.Point) || !Finite(o.Lo) || !Finite(o.Hi) {
		return false
	}
	if c.Verdict == analysis.NotResolved && o == (analysis.Interval{}) {
		// Zero is an estimate only where every round gave zero, or no value varies.
		return c.Rounds > 1 && (len(c.Overheads) > 0 || c.PointOnly && !c.Paired) && !slices.ContainsFunc(c.Overheads, func(v float64) bool { return v != 0 })
	}
	return true
}

// IsRatio says whether overheads are shares of the baseline.
func IsRatio(m experiment.Metric) bool { return m.Scale != experiment.Difference }

// Overhead writes the point and the interval of a comparison, signed so that a
// plus is a cost: "+7.1 %" and "[+6.2, +8.0]".
func Overhead(c analysis.Comparison) (point, interval string) {
	return Written(c, c.Overhead, Signed)
}

// Estimate writes both with a space between: "+7.1 % [+6.2, +8.0]", "+7.1 %" where
// there is no interval, and a dash where there is nothing.
func Estimate(c analysis.Comparison) string {
	point, interval := Overhead(c)
	return strings.TrimSpace(point + " " + interval)
}

// Written writes an interval on the scale of a comparison's metric.
func Written(c analysis.Comparison, o analysis.Interval, write func(float64, int) string) (point, interval string) {
	if !Judged(c) {
		return Missing, ""
	}
	div, label := 0.01, "%"
	if !IsRatio(c.Metric) {
		sc := ScaleOf(c.Metric.Unit, math.Max(math.Abs(o.Lo), math.Abs(o.Hi)))
		div, label = sc.Div, sc.Label
	}
	if !Finite(o.Point) || !Finite(o.Lo) || !Finite(o.Hi) {
		return Missing, ""
	}
	d := decimalsFor((o.Hi - o.Lo) / div / 2)
	for d < 3 && (vanishes(o.Lo/div, d) || vanishes(o.Hi/div, d)) {
		d++
	}
	point = write(o.Point/div, d)
	if label != "" {
		point += " " + label
	}
	if c.PointOnly {
		return point, ""
	}
	return point, "[" + write(o.Lo/div, d) + ", " + write(o.Hi/div, d) + "]"
}

// vanishes says whether rounding would hide on which side of zero v lies.
func vanishes(v float64, decimals int) bool {
	return v != 0 && strings.Trim(Fixed(v, decimals), "0.,"+MinusSign) == ""
}

// Size writes a magnitude on the scale of a metric: "1.3 %" or "12 ms".
func Size(m experiment.Metric, v float64) string {
	if IsRatio(m) {
		return Share(v)
	}
	return ScaleOf(m.Unit, v).Short(v)
}
