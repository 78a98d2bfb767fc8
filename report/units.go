package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// scale is how values of a unit are written: divided by div, with the label
// behind them.
type scale struct {
	div   float64
	label string
}

// ladder is a family of units from small to large. Values are written in the
// largest unit that keeps them at 1 or more.
type ladder []scale

var (
	times = ladder{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
	sizes = ladder{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}}
	bits  = ladder{{1, "bit"}, {1e3, "kbit"}, {1e6, "Mbit"}, {1e9, "Gbit"}, {1e12, "Tbit"}}
)

// known maps a unit, as a metric names it, to its family and its size in the
// family's base unit.
var known = map[string]struct {
	family ladder
	factor float64
}{
	"s": {times, 1}, "ms": {times, 1e-3}, "us": {times, 1e-6}, "µs": {times, 1e-6}, "ns": {times, 1e-9},
	"B": {sizes, 1}, "KiB": {sizes, 1 << 10}, "MiB": {sizes, 1 << 20}, "GiB": {sizes, 1 << 30},
	"bit": {bits, 1}, "kbit": {bits, 1e3}, "Mbit": {bits, 1e6}, "Gbit": {bits, 1e9},
}

// scaleOf chooses how to write values of a unit when the largest is as given.
// Compound units ("bit/s", "s/Gbit") are scaled in their first part.
func scaleOf(unit string, largest float64) scale {
	unit = plain(unit)
	head, tail := unit, ""
	if i := strings.IndexByte(unit, '/'); i > 0 {
		head, tail = unit[:i], unit[i:]
	}
	k, ok := known[head]
	if !ok {
		switch unit {
		case "%":
			return scale{1, "%"}
		case "1", "share", "ratio":
			return scale{0.01, "%"}
		}
		return scale{1, unit}
	}
	base := math.Abs(largest) * k.factor
	if base == 0 || !finite(base) {
		return scale{1, unit}
	}
	best := k.family[0]
	for _, s := range k.family {
		if base >= s.div*0.99995 {
			best = s
		}
	}
	return scale{best.div / k.factor, best.label + tail}
}

// Value writes a value of a metric with its unit as a person would: four
// significant digits, "941.3 Mbit/s", "7.134 ms", "12,340 req/s".
func Value(v float64, unit string) string {
	return scaleOf(unit, v).with(v)
}

// with writes v with the scale's label.
func (s scale) with(v float64) string {
	text := s.bare(v)
	if s.label == "" || text == missing {
		return text
	}
	return text + " " + s.label
}

// bare writes v in the scale without the label.
func (s scale) bare(v float64) string { return number(v/s.div, 4) }

// missing stands where there is no number.
const missing = "–"

// number writes v with the given significant digits, thousands separated; very
// large and very small values as a power of ten.
func number(v float64, digits int) string {
	a := math.Abs(v)
	switch {
	case !finite(v):
		return missing
	case a == 0:
		return "0"
	case a >= 1e9 || a < 1e-4:
		s := strconv.FormatFloat(v, 'e', max(digits-2, 0), 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		n, _ := strconv.Atoi(exponent)
		return minus(mantissa) + "e" + minus(strconv.Itoa(n))
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(a)))
	if a < 1 {
		decimals--
	}
	decimals = max(decimals, 0)
	if abs(a-math.Round(a)) < 1e-12*a {
		decimals = 0
	}
	return thousands(strconv.FormatFloat(v, 'f', decimals, 64))
}

// thousands puts separators into a decimal number and a true minus before it.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = minusSign, s[1:]
	}
	whole, rest, dot := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + rest
	}
	return sign + whole
}

// minusSign is the minus of typography. ASCII output turns it back.
const minusSign = "−"

func minus(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return minusSign + rest
	}
	return s
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// decimalsFor is how many decimals a number needs whose uncertainty is half:
// the first two digits of the uncertainty, within reason.
func decimalsFor(half float64) int {
	half = math.Abs(half)
	switch {
	case !finite(half) || half == 0:
		return 1
	case half >= 10:
		return 0
	case half >= 0.095:
		return 1
	case half >= 0.0095:
		return 2
	}
	return 3
}

// fixed writes v with the decimals, a true minus, and no sign before a zero.
func fixed(v float64, decimals int) string {
	if !finite(v) {
		return missing
	}
	if abs(v) >= 1e12 {
		return number(v, 4)
	}
	s := thousands(strconv.FormatFloat(v, 'f', decimals, 64))
	if rest, ok := strings.CutPrefix(s, minusSign); ok && strings.Trim(rest, "0.,") == "" {
		return rest
	}
	return s
}

// signed is fixed with a plus before positive numbers.
func signed(v float64, decimals int) string {
	s := fixed(v, decimals)
	if v > 0 && strings.Trim(s, "0.,") != "" {
		return "+" + s
	}
	return s
}

// share writes a fraction as a percentage with at most two significant digits
// below 10 %: "4 %", "1.3 %", "0.25 %", "140 %".
func share(v float64) string {
	if !finite(v) {
		return missing
	}
	p := v * 100
	switch a := math.Abs(p); {
	case a == 0:
		return "0 %"
	case a >= 10:
		return fixed(p, 0) + " %"
	case a >= 1:
		return strings.TrimSuffix(fixed(p, 1), ".0") + " %"
	case a >= 0.1:
		return trimZeros(fixed(p, 2)) + " %"
	case a >= 0.001:
		return trimZeros(fixed(p, 3)) + " %"
	}
	return "under 0.001 %"
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// span writes a duration for reading: "2 min 5 s", "1 h 12 min", "3.2 s".
func span(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 1:
		return number(s*1e3, 3) + " ms"
	case s < 60:
		return strings.TrimSuffix(fixed(s, 1), ".0") + " s"
	case s < 3600:
		t := int(math.Round(s))
		return fmt.Sprintf("%d min %d s", t/60, t%60)
	}
	m := int(math.Round(s / 60))
	return fmt.Sprintf("%d h %d min", m/60, m%60)
}

// count writes a number of things with the right form of the noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(strconv.Itoa(n)) + " " + many
}

// probability writes a p value.
func probability(p float64) string {
	switch {
	case !finite(p):
		return missing
	case p < 0.0001:
		return "<0.0001"
	case p < 0.01:
		return fixed(p, 4)
	}
	return fixed(p, 3)
}
