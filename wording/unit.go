package wording

import (
	"math"
	"strings"

	"tare/safetext"
)

// Scale is how values of a unit are written: divided by Div, with the Label
// behind them.
type Scale struct {
	Div   float64
	Label string
}

// ladder is a family of units from small to large. Values are written in the
// largest unit that keeps them at 1 or more.
type ladder []Scale

var (
	times = ladder{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
	sizes = ladder{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}}
	cores = ladder{{1e-3, "millicores"}, {1, "cores"}}
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
	"cores": {cores, 1},
	"bit":   {bits, 1}, "kbit": {bits, 1e3}, "Mbit": {bits, 1e6}, "Gbit": {bits, 1e9},
}

// ScaleOf chooses how to write values of a unit when the largest is as given.
// Compound units ("bit/s", "s/Gbit") are scaled in their first part.
func ScaleOf(unit string, largest float64) Scale {
	unit = safetext.Line(unit)
	head, tail := unit, ""
	if i := strings.IndexByte(unit, '/'); i > 0 {
		head, tail = unit[:i], unit[i:]
	}
	k, ok := known[head]
	if !ok {
		switch unit {
		case "%":
			return Scale{1, "%"}
		case "1", "share", "ratio":
			return Scale{0.01, "%"}
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

// Value writes a value of a metric with its unit as a person would: four
// significant digits, "941.3 Mbit/s", "7.134 ms", "12,340 req/s".
func Value(v float64, unit string) string {
	return ScaleOf(unit, v).With(v)
}

// With writes v with the scale's label.
func (s Scale) With(v float64) string { return s.labelled(s.Bare(v)) }

// Bare writes v in the scale without the label.
func (s Scale) Bare(v float64) string { return Number(v/s.Div, 4) }

// Short writes v with two or three significant digits and its label.
func (s Scale) Short(v float64) string { return s.labelled(Number(v/s.Div, 3)) }

// labelled puts the label behind a number, if there is one.
func (s Scale) labelled(number string) string {
	if s.Label == "" || number == Missing {
		return number
	}
	return number + " " + s.Label
}
