package analysis

import (
	"math"
	"strconv"
	"strings"

	"tare/analysis/contrast"
	"tare/experiment"
)

// scale is how the numbers of one sentence are written: all in the same unit and
// with as many decimals as their spread supports.
type scale struct {
	factor   float64
	unit     string // behind the number, with its space: " %"
	decimals int
}

// prefixes are the decimal multiples in which values with these units are
// written, from large to small.
var prefixes = []struct {
	factor float64
	sign   string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}

// scaleFor fits the scale to an interval of overheads of a metric.
func scaleFor(i Interval, m experiment.Metric) scale {
	s := scale{factor: 100, unit: " %"}
	if m.Scale == experiment.Difference {
		s = unitScale(max(math.Abs(i.Point), math.Abs(i.Lo), math.Abs(i.Hi)), m.Unit)
	}
	s.decimals = decimals(s.factor * (i.Hi - i.Lo) / 2)
	return s
}

// unitScale chooses the prefix for a size in a unit. Counts, and units that
// carry a prefix or no name, stay as they are.
func unitScale(size float64, unit string) scale {
	switch unit {
	case "":
		return scale{factor: 1}
	case "s", "B", "bit/s", "B/s":
		for _, p := range prefixes {
			if (p.factor >= 1 || unit == "s") && (unit != "s" || p.factor <= 1) && size >= p.factor {
				return scale{factor: 1 / p.factor, unit: " " + p.sign + unit}
			}
		}
	}
	return scale{factor: 1, unit: " " + unit}
}

// decimals gives one to two significant digits to a half-width, and one decimal
// to everything between 0.1 and 20.
func decimals(half float64) int {
	switch {
	case half >= 20:
		return 0
	case half >= 0.1 || half <= 0 || math.IsNaN(half):
		return 1
	}
	return min(int(math.Ceil(-math.Log10(half))), mostDecimals)
}

// mostDecimals is how many decimals a number gets at most.
const mostDecimals = 6

// number writes a value without its unit, with a true minus sign.
func (s scale) number(v float64) string {
	v = contrast.Finite(v * s.factor)
	text := strconv.FormatFloat(v, 'f', s.decimals, 64)
	if math.Abs(v) >= 1e7 {
		text = strconv.FormatFloat(v, 'g', 4, 64)
	}
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return strings.Replace(text, "-", "−", 1)
}

// vanishes says whether a number would be written as zero.
func (s scale) vanishes(v float64) bool { return strings.Trim(s.number(v), "0.") == "" }

// estimate writes a point with its interval: "7.1 % [6.2, 8.0]".
func (s scale) estimate(i Interval) string { return s.number(i.Point) + s.unit + " " + s.within(i) }

// within writes an interval: "[6.2, 8.0]".
func (s scale) within(i Interval) string { return "[" + s.number(i.Lo) + ", " + s.number(i.Hi) + "]" }

// bound writes a limit with two significant digits: "4 %", "0.35 %".
func bound(v float64, m experiment.Metric) string {
	s := scaleFor(Interval{Point: v}, m)
	v = contrast.Finite(v * s.factor)
	text := strconv.FormatFloat(v, 'g', 2, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(rounded) < 1e7 {
		text = strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return text + s.unit
}

// probability writes a p: "p = 0.012", "p < 0.001".
func probability(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'g', 2, 64)
}
