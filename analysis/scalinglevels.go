package analysis

import (
	"math"
	"strconv"
	"strings"

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
