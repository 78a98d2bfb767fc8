package wording

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// Loop explains why a cell's load counts as a closed loop: latency times throughput is the number of workers.
func Loop(s *analysis.LoopSummary) string {
	text := fmt.Sprintf("closed loop: %s × %s is %s (%s to %s over %s)", s.Latency, s.Throughput,
		requests(s.Median), requests(s.Least), requests(s.Most), Count(s.Trials, "trial", "trials"))
	workers := requests(s.Workers) + cmp.Or(When(s.Workers == 1, " worker"), " workers")
	text += cmp.Or(When(s.Known, ", as many as the "+workers), " whatever the latency, as with a fixed number of workers")
	return text + fmt.Sprintf("; %s says the same as %s", s.Latency, s.Throughput)
}

// requests formats a number of requests: below 100 with three significant digits, otherwise as a whole number.
func requests(v float64) string {
	if v >= 100 && v < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Per names the step of a factor that a slope is for: "object", "1 % of churn", "MiB of size".
func Per(s *analysis.Scaling) string {
	switch s.Unit {
	case "":
		if one := Singular(s.Factor); one != s.Factor {
			return one
		}
		return "1 of " + s.Factor
	case "%":
		return "1 % of " + s.Factor
	}
	if work, ok := strings.CutSuffix(s.Unit, "s/s"); ok { // a rate of things that are counted, such as requests/s, and not Mbit/s
		return work + "/s"
	}
	return s.Unit + " of " + s.Factor
}

// Singular removes the plural from the name of a factor that counts things: "object" for "objects", but
// "status" for "status".
func Singular(name string) string {
	n := len(name)
	switch {
	case n < 4 || name[n-1] != 's' || name[n-2] == 's' || name[n-2] == 'u' || name == "series":
		return name
	case strings.HasSuffix(name, "ies"): // plurals such as policies
		return name[:n-3] + "y"
	case strings.HasSuffix(name, "sses"): // plurals such as addresses
		return name[:n-2]
	}
	return name[:n-1]
}

// SlopeAlone writes the slope of an arm's line without a unit of the factor: "12.1 KiB [11.0, 13.2]". The head of the
// table's column names this unit.
func SlopeAlone(s *analysis.Scaling, a *analysis.ScalingArm) string {
	return amountText(amountWords(a.Slope, true), a.Slope, a.PointOnly, s.Metric)
}

// LineDifference writes how much an arm's line differs from the baseline's, in slope or height: "0.1 KiB more [0.2
// less, 0.4 more], not resolved". If d is nil, the text is "".
func LineDifference(s *analysis.Scaling, d *analysis.RoundValue) string {
	if d == nil {
		return ""
	}
	text := amountText(amountWords(d.Interval, true), d.Interval, d.PointOnly, s.Metric)
	return text + When(!d.PointOnly && d.Lo <= 0 && d.Hi >= 0, ", not resolved")
}

// amountText writes an amount in the unit of a metric, even if the metric's overheads are ratios.
func amountText(w signWords, i analysis.Interval, pointOnly bool, m experiment.Metric) string {
	m.Scale = experiment.Difference
	if pointOnly { // without an interval to set the number of decimals, an uncertainty of 1 % is assumed
		return w.Amount(m, i.Point, analysis.Interval{Lo: 0, Hi: math.Abs(i.Point) / 50})
	}
	return w.Interval(m, i)
}

// lineDifference states the difference of an arm's line from the baseline's line, in slope or height: "1.2 KiB
// more [0.9, 1.5] per object than plain".
func lineDifference(s *analysis.Scaling, d *analysis.RoundValue, per string) string {
	text := amountText(more, d.Interval, d.PointOnly, s.Metric) + per + " than " + s.Baseline
	if !d.PointOnly && d.Lo <= 0 && d.Hi >= 0 {
		return "no difference from " + s.Baseline + " resolved: " + text
	}
	return text
}

// Base writes an arm's value at level 0, as the fitted line gives it: "48 MiB [47, 49]".
func Base(s *analysis.Scaling, a *analysis.ScalingArm) string {
	if a.Base == nil {
		return ""
	}
	return amountText(plain, *a.Base, a.Base.Lo == a.Base.Hi, s.Metric)
}

// Fit states that a line fits badly, and at which level: "not a line: at 64 it lies 12 % of the rise above";
// "" if the line fits.
func Fit(s *analysis.Scaling, f analysis.Fit) string {
	if !f.Poor {
		return ""
	}
	side := cmp.Or(When(f.Below, "below"), "above")
	text := fmt.Sprintf("not a line: at %s it lies %s %% of the rise %s", Level(f.At, s.Unit), Fixed(100*f.Off, 0), side)
	return text + When(f.Bend != "", "; "+f.Bend+" at higher levels than at lower ones")
}

// Level writes a level of a factor: "1,000", "25 %", "64 KiB".
func Level(v float64, unit string) string {
	return Scale{1, ScaleOf(unit, 0).Label}.Labelled(Number(v, 6))
}

// ExpectedLaw writes the law that is expected of a metric: "queries = proxies × hosts ÷ ttl".
func ExpectedLaw(l *analysis.PowerLaw) string {
	var over, under, free string
	for _, f := range l.Factors {
		exponent := math.Abs(f.Expected)
		switch power := When(exponent != 1, "^"+Number(exponent, 3)); {
		case f.Expected > 0:
			over += " × " + f.Factor + power
		case f.Expected < 0:
			under += " ÷ " + f.Factor + power
		default:
			free += ", whatever " + f.Factor
		}
	}
	return l.Metric.Name + " = " + cmp.Or(strings.TrimPrefix(over, " × "), "constant") + under + free
}

// Exponent writes a factor's exponent with its interval: "1.002 [0.997, 1.008]". An unexpected exponent names the
// expected one: "0.90 [0.88, 0.92], not 1".
func Exponent(f *analysis.PowerLawFactor, e *analysis.Exponent) string {
	text := amountText(plain, e.Interval, e.PointOnly, experiment.Metric{})
	return text + When(e.Unexpected, ", not "+Number(f.Expected, 3))
}

// ValueAtOne writes the value of a law where all factors are 1: "1.01/s [0.98, 1.03]".
func ValueAtOne(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	return amountText(plain, a.Unity, a.PointOnly, l.Metric)
}

// Misfit describes the cell whose value is furthest from a fitted law; "" if the law fits.
func Misfit(m *analysis.Misfit) string {
	if !m.Poor {
		return ""
	}
	side := cmp.Or(When(m.Off < 0, "below"), "above")
	return fmt.Sprintf("not this law: %s lies %s %s it", m.Cell, Share(math.Abs(m.Off)), side)
}

// law writes the fitted law of an arm: "queries = 1.01/s [0.98, 1.03] × hosts^1.002 [0.997, 1.008] ×
// ttl^−0.99 [−1.01, −0.98]".
func law(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	text := l.Metric.Name + " = " + ValueAtOne(l, a)
	for j, e := range a.Exponents {
		if j < len(l.Factors) {
			text += " × " + l.Factors[j].Factor + "^" + Exponent(&l.Factors[j], &e)
		}
	}
	return text
}

// LawAnswer states in one sentence the fitted and the expected law of an arm.
func LawAnswer(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	text := fmt.Sprintf("%s in %s: %s; expected is %s", a.Arm, l.Workload, law(l, a), ExpectedLaw(l))
	return Join("; ", text, Misfit(&a.Misfit))
}
