// Package wording turns results into words: numbers with their units, and sentences that state what a result means.
//
// No other package writes sentences about results. Packages that decide (analysis, compare, gate, history, published)
// return typed values with their figures. Every output (terminal, Markdown, HTML, figures, and the texts in CSV and
// JSON) gets its words here. A quantity therefore reads the same in every output:
//
//   - A unit is chosen from its family: bytes in KiB, MiB, GiB; bits in kbit, Mbit, Gbit; seconds in ns, µs, ms, s.
//     All numbers of one statement share one unit.
//   - A number has as many decimals as its interval supports: the last decimal is the first digit of the
//     uncertainty.
//   - Numbers in CSV and JSON stay plain numbers in the metric's own unit.
//
// Names of arms, cells and metrics come from users and tools. This package copies them as they are. The writers of a
// terminal, a page or a table escape them.
package wording

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/text/safetext"
)

// Limits of texts.
const (
	mostPoints    = 6     // metrics that an answer names; further metrics are counted
	mostNamed     = 3     // cells that an answer names
	minUneven     = 1.5   // a cost this many times the cost in another cell makes an answer name the worse cell
	maxMetrics    = 6     // metrics that a finding names
	maxFacts      = 6     // differing facts that a sentence names before it counts the rest; a rest of one is named
	mostDiffering = 5     // largest number of differing machine properties that a sentence names
	maxQuoted     = 160   // characters quoted from a line of a program's output
	minLoss       = 0.001 // smallest share of lost packets or segments that a sentence mentions
	maxRatio      = 1000  // upper bound ÷ lower bound of an interval above which the interval gives no useful size
	mostDecimals  = 6     // decimals of a number
	shortCommit   = 8     // digits of a short commit
)

// When returns text if ok is true, else "".
func When(ok bool, text string) string {
	if !ok {
		return ""
	}
	return text
}

// Join joins the texts that are not empty.
func Join(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), separator)
}

// Missing is written in place of a number that does not exist.
const Missing = "–"

// Number writes v with a number of significant digits and thousands separators. Very large and very small
// values get a power of ten.
func Number(v float64, digits int) string {
	a := math.Abs(v)
	switch {
	case !Finite(v):
		return Missing
	case a == 0:
		return "0"
	case a >= 1e9 || a < 1e-4:
		s := strconv.FormatFloat(v, 'e', max(digits-2, 0), 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		n, _ := strconv.Atoi(exponent)
		return strings.ReplaceAll(mantissa+"e"+strconv.Itoa(n), "-", MinusSign)
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(a)))
	if a < 1 {
		decimals--
	}
	decimals = max(decimals, 0)
	if math.Abs(a-math.Round(a)) < 1e-12*a {
		decimals = 0
	}
	return thousands(strconv.FormatFloat(v, 'f', decimals, 64))
}

// thousands adds thousands separators to a decimal number, and replaces its hyphen by a minus sign.
func thousands(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return MinusSign + thousands(rest)
	}
	whole := strings.IndexByte(s, '.')
	if whole < 0 {
		whole = len(s)
	}
	for i := whole - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// MinusSign is the typographic minus.
const MinusSign = "−"

// Finite reports whether v is neither infinite nor NaN.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// decimalsFor returns the number of decimals for a value. half is its uncertainty, such as half an interval's width:
// the last decimal is its first digit. From 1, one decimal is shown; from 10, none.
func decimalsFor(half float64) int {
	half = math.Abs(half)
	switch {
	case !Finite(half) || half == 0:
		return 1
	case half >= 10:
		return 0
	case half >= 0.095:
		return 1
	}
	return min(int(math.Ceil(-math.Log10(half/0.95))), mostDecimals)
}

// Fixed writes v with a fixed number of decimals and a typographic minus sign. Zero has no sign.
func Fixed(v float64, decimals int) string {
	if !Finite(v) {
		return Missing
	}
	if math.Abs(v) >= 1e12 {
		return Number(v, 4)
	}
	s := thousands(strconv.FormatFloat(v, 'f', decimals, 64))
	if rest, ok := strings.CutPrefix(s, MinusSign); ok && strings.Trim(rest, "0.,") == "" {
		return rest
	}
	return s
}

// Share writes a fraction as a percentage: "4 %", "1.3 %", "0.25 %", "140 %". Below 10 % it has at most two
// significant digits.
func Share(v float64) string {
	return Scale{Label: "%"}.Labelled(share(v))
}

// Confidence writes a confidence with all its digits: "95 %", "98.75 %".
func Confidence(v float64) string {
	return Scale{Label: "%"}.Labelled(TrimZeros(Fixed(v*100, 2)))
}

// share is Share without the percent sign.
func share(v float64) string {
	if !Finite(v) {
		return Missing
	}
	p := v * 100
	switch a := math.Abs(p); {
	case a == 0:
		return "0"
	case a >= 10:
		return Fixed(p, 0)
	case a >= 1:
		return TrimZeros(Fixed(p, 1))
	case a >= 0.1:
		return TrimZeros(Fixed(p, 2))
	case a >= 0.001:
		return TrimZeros(Fixed(p, 3))
	}
	return "under 0.001"
}

// TrimZeros removes the zeros at the end of a decimal fraction.
func TrimZeros(s string) string {
	if !strings.ContainsRune(s, '.') {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// Span writes a duration: "2 min 5 s", "1 h 12 min", "3.2 s".
func Span(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 1:
		return Number(s*1e3, 3) + " ms"
	case s < 60:
		return strings.TrimSuffix(Fixed(s, 1), ".0") + " s"
	case s < 3600:
		t := int(math.Round(s))
		return fmt.Sprintf("%d min %d s", t/60, t%60)
	}
	m := int(math.Round(s / 60))
	return fmt.Sprintf("%d h %d min", m/60, m%60)
}

// Count writes a number of things with the noun in singular or plural.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(strconv.Itoa(n)) + " " + many
}

// Probability writes a p value.
func Probability(p float64) string {
	switch {
	case !Finite(p):
		return Missing
	case p < 0.0001:
		return "<0.0001"
	case p < 0.01:
		return Fixed(p, 4)
	}
	return Fixed(p, 3)
}

// Scale is a unit for writing values. A value is divided by Div and followed by Label.
type Scale struct {
	Div   float64
	Label string
}

// unitFamily lists related units from small to large. Values are written in the largest unit in which they are
// at least 1.
type unitFamily []Scale

var (
	times = unitFamily{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
	sizes = unitFamily{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}}
	cores = unitFamily{{1e-3, "millicores"}, {1, "cores"}}
	bits  = unitFamily{{1, "bit"}, {1e3, "kbit"}, {1e6, "Mbit"}, {1e9, "Gbit"}, {1e12, "Tbit"}}
)

// knownUnits maps a metric's unit to its family, such as times, and to a factor: a value times this factor is in the
// family's base unit, such as seconds.
var knownUnits = map[string]struct {
	family unitFamily
	factor float64
}{
	"s": {times, 1}, "ms": {times, 1e-3}, "us": {times, 1e-6}, "µs": {times, 1e-6}, "ns": {times, 1e-9},
	"B": {sizes, 1}, "KiB": {sizes, 1 << 10}, "MiB": {sizes, 1 << 20}, "GiB": {sizes, 1 << 30},
	"cores": {cores, 1},
	"bit":   {bits, 1}, "kbit": {bits, 1e3}, "Mbit": {bits, 1e6}, "Gbit": {bits, 1e9},
}

// ScaleOf chooses the unit for writing values up to largest. In a compound unit ("bit/s", "s/Gbit"), only the
// first part is scaled.
func ScaleOf(unit string, largest float64) Scale {
	unit = safetext.Line(unit)
	head, tail := unit, ""
	if i := strings.IndexByte(unit, '/'); i > 0 {
		head, tail = unit[:i], unit[i:]
	}
	k, ok := knownUnits[head]
	if !ok {
		switch unit {
		case "%":
			return Scale{1, "%"}
		case "1", "share", "ratio":
			return Scale{0.01, "%"}
		case "1/s":
			return Scale{1, "/s"}
		}
		return Scale{1, unit}
	}
	base := math.Abs(largest) * k.factor
	if base == 0 || !Finite(base) {
		return Scale{1, unit}
	}
	best := k.family[0]
	for _, s := range k.family {
		if base >= s.Div*0.99995 {
			best = s
		}
	}
	return Scale{best.Div / k.factor, best.Label + tail}
}

// Value writes a value of a metric with four significant digits and its unit: "941.3 Mbit/s", "7.134 ms",
// "12,340 req/s".
func Value(v float64, unit string) string {
	return ScaleOf(unit, v).With(v)
}

// With writes the value v in the scale's unit, with its label.
func (s Scale) With(v float64) string { return s.Labelled(s.Bare(v)) }

// Bare writes v in the scale's unit, without the label of the unit.
func (s Scale) Bare(v float64) string { return Number(v/s.Div, 4) }

// Short writes v with two or three significant digits and the label.
func (s Scale) Short(v float64) string { return s.Labelled(Number(v/s.Div, 3)) }

// Labelled adds the label to a number. A missing number gets no label.
func (s Scale) Labelled(number string) string {
	if s.Label == "" || number == Missing {
		return number
	}
	if strings.HasPrefix(s.Label, "/") { // "3,000/s"
		return number + s.Label
	}
	return number + " " + s.Label
}
