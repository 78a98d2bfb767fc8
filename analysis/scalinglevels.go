package analysis

import (
	"encoding"
	"math"
	"strconv"
	"strings"

	"tare/experiment/quantity"
)

// notations are the ways to write a level: the unit, and the number of it that a text says.
var notations = []struct {
	unit string
	read func(text string) (float64, error)
}{
	{"", readNumber},
	{"%", reads(func(p quantity.Percent) float64 { return float64(p) * 100 })},
	{"1/s", reads(func(f quantity.Frequency) float64 { return float64(f) })},
	{"s", reads(func(d quantity.Duration) float64 { return d.Std().Seconds() })},
	{"B", reads(func(s quantity.Size) float64 { return float64(s) })},
	{"bit/s", reads(func(r quantity.Rate) float64 {
		if r == 0 { // unlimited
			return math.Inf(1)
		}
		return float64(r)
	})},
}

func reads[Q any, P interface {
	*Q
	encoding.TextUnmarshaler
}](number func(Q) float64) func(text string) (float64, error) {
	return func(text string) (float64, error) {
		var q Q
		err := P(&q).UnmarshalText([]byte(text))
		return number(q), err
	}
}

func readNumber(text string) (float64, error) {
	if strings.TrimLeft(text, "0123456789.-+eE") != "" {
		return math.NaN(), nil // such as 0x10 or infinity
	}
	return strconv.ParseFloat(text, 64)
}

// readLevels reads the levels of a factor as numbers of one unit, in the notation
// that reads most of them; the others are NaN. Sizes and rates come in the largest
// unit that none of them is below.
func readLevels(levels []string) (x []float64, unit string) {
	most := -1
	for _, n := range notations {
		read, count := make([]float64, len(levels)), 0
		for i, text := range levels {
			v, err := n.read(text)
			if err != nil || math.IsInf(v, 0) {
				v = math.NaN()
			}
			if read[i] = v; !math.IsNaN(v) {
				count++
			}
		}
		if count > most {
			most, x, unit = count, read, n.unit
		}
	}
	return enlarged(x, unit)
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
		if v < least { // false for NaN
			least = v
		}
	}
	k := 0
	for k+1 < len(steps) && least >= math.Pow(base, float64(k+1)) && !math.IsInf(least, 0) {
		k++
	}
	for i := range x {
		x[i] /= math.Pow(base, float64(k))
	}
	return x, steps[k] + unit
}
