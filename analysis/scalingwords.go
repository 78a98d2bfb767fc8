package analysis

import (
	"math"
	"strconv"
	"strings"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/experiment/quantity"
)

// readLevels reads the levels of a factor as numbers of one unit. Sizes and
// rates come in the largest unit that none of them is below.
func readLevels(levels []string) (x []float64, unit string, ok bool) {
	for _, read := range []func(string) (float64, string, bool){readNumber, readPercent, readFrequency, readDuration, readSize, readRate} {
		x, unit = x[:0], ""
		for _, text := range levels {
			v, u, ok := read(text)
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
				break
			}
			x, unit = append(x, v), u
		}
		if len(x) == len(levels) && len(x) > 0 {
			x, unit = enlarged(x, unit)
			return x, unit, true
		}
	}
	return nil, "", false
}

func readNumber(text string) (float64, string, bool) {
	if strings.TrimLeft(text, "0123456789.-+eE") != "" {
		return 0, "", false // such as 0x10 or infinity
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, "", err == nil
}

func readPercent(text string) (float64, string, bool) {
	var p quantity.Percent
	err := p.UnmarshalText([]byte(text))
	return float64(p) * 100, "%", err == nil
}

func readFrequency(text string) (float64, string, bool) {
	var f quantity.Frequency
	err := f.UnmarshalText([]byte(text))
	return float64(f), "1/s", err == nil
}

func readDuration(text string) (float64, string, bool) {
	var d quantity.Duration
	err := d.UnmarshalText([]byte(text))
	return d.Std().Seconds(), "s", err == nil
}

func readSize(text string) (float64, string, bool) {
	var s quantity.Size
	err := s.UnmarshalText([]byte(text))
	return float64(s), "B", err == nil
}

func readRate(text string) (float64, string, bool) {
	var r quantity.Rate
	err := r.UnmarshalText([]byte(text))
	return float64(r), "bit/s", err == nil && r > 0
}

// enlarged gives the numbers in a larger unit if all of them reach it.
func enlarged(x []float64, unit string) ([]float64, string) {
	steps, base := []string{"", "k", "M", "G", "T"}, 1000.
	switch unit {
	case "B":
		steps, base = []string{"", "Ki", "Mi", "Gi", "Ti"}, 1024
	case "bit/s":
	default:
		return x, unit
	}
	least := math.Inf(1)
	for _, v := range x {
		least = min(least, v)
	}
	k := 0
	for k+1 < len(steps) && least >= math.Pow(base, float64(k+1)) {
		k++
	}
	for i := range x {
		x[i] /= math.Pow(base, float64(k))
	}
	return x, steps[k] + unit
}

// perLevel says what a slope is for: "object", "1 % of churn", "MiB of size".
func perLevel(factor, unit string) string {
	switch unit {
	case "":
		if one, plural := strings.CutSuffix(factor, "s"); plural && len(one) > 2 && !strings.ContainsAny(one[len(one)-1:], "su") {
			return one
		}
		return "1 of " + factor
	case "%":
		return "1 % of " + factor
	}
	return unit + " of " + factor
}

// levelText writes a level: "300", "25 %", "64 KiB".
func levelText(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if len(text) > 12 {
		text = strconv.FormatFloat(v, 'g', 6, 64)
	}
	if unit != "" {
		text += " " + unit
	}
	return text
}

// shareText writes a share as whole percent.
func shareText(v float64) string { return strconv.FormatFloat(100*v, 'f', 0, 64) + " %" }

// slopeText writes a slope in the unit of its metric, whatever the metric's scale.
func slopeText(i Interval, pointOnly bool, m experiment.Metric) string {
	s := slopeScale(i, m)
	if pointOnly {
		return s.number(i.Point) + s.unit
	}
	return s.estimate(i)
}

// slopeScale fits the scale to a slope, which may be far smaller than the values.
func slopeScale(i Interval, m experiment.Metric) scale {
	size := max(math.Abs(i.Point), math.Abs(i.Lo), math.Abs(i.Hi))
	s := unitScale(size, m.Unit)
	if m.Unit == "cores" && size < 0.1 {
		s = scale{factor: 1000, unit: " millicores"}
	}
	half := s.factor * (i.Hi - i.Lo) / 2
	if half == 0 {
		half = s.factor * size / 100
	}
	s.decimals = decimals(contrast.Finite(half))
	return s
}

// steeperText writes the difference of two slopes.
func steeperText(d SlopeDifference, per, baseline string, m experiment.Metric) string {
	s := slopeScale(d.Interval, m)
	within := " " + s.within(d.Interval)
	if d.PointOnly {
		within = ""
	}
	direction := " more"
	if d.Point < 0 || d.Point == 0 && d.Hi < -d.Lo {
		direction = " less"
		d.Interval = Interval{-d.Point, -d.Hi, -d.Lo}
		if within != "" {
			within = " " + s.within(d.Interval)
		}
	}
	text := s.number(d.Point) + s.unit + within + direction + " per " + per + " than " + baseline
	if !d.PointOnly && d.Lo <= 0 && d.Hi >= 0 {
		return "no difference from " + baseline + " resolved: " + text
	}
	return text
}
