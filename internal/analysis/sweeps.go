package analysis

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// leastLevels is the smallest number of levels with which a line can be tested.
const leastLevels = 3

// sweep holds cells (or arms) of a plan that differ in one factor only. The levels of this factor are numbers.
type sweep struct {
	of           string // the cells' workload; for a sweep of arms, the arms' name in the experiment file
	factor, unit string
	held         []factor.Level
	indices      []int     // indices of the cells or arms in the plan, by level in ascending order
	x            []float64 // the levels
	leftOut      []string  // levels that are not numbers
}

func armSweeps(plan *experiment.Plan) []sweep {
	return sweepsOf(len(plan.Arms), func(i int) (string, []factor.Level) {
		a := plan.Arms[i]
		if a.Role != experiment.Treatment {
			return "", nil
		}
		name, _, _ := strings.Cut(a.Name, "[") // "seccomp" for seccomp[rules=8]
		return name, a.Levels
	})
}

// sweepsOf finds the sweeps among n cells or arms: a sweep's members differ only in one numeric factor. describe
// returns the name and levels of cell or arm i.
func sweepsOf(n int, describe func(i int) (string, []factor.Level)) []sweep {
	type key struct{ of, factor, held string }
	at := map[key]int{}
	var list []sweep
	var texts [][]string // texts holds the levels of each sweep as text
	for i := range n {
		name, levels := describe(i)
		for k, l := range levels {
			held := slices.Concat(levels[:k], levels[k+1:])
			id := key{name, l.Factor, fmt.Sprintf("%q", held)}
			if _, known := at[id]; !known {
				at[id], list, texts = len(list), append(list, sweep{of: name, factor: l.Factor, held: held}), append(texts, nil)
			}
			s, t := &list[at[id]], &texts[at[id]]
			s.indices, *t = append(s.indices, i), append(*t, l.Value)
		}
	}
	var numeric []sweep
	for i := range list {
		if list[i].ascend(texts[i]) {
			numeric = append(numeric, list[i])
		}
	}
	return numeric
}

// ascend sorts a sweep's cells or arms by their levels as numbers; leftOut gets levels that are none. False: too few
// numbers, or two are equal.
func (s *sweep) ascend(texts []string) bool {
	x, unit := readLevels(texts)
	at := map[float64]int{} // indices by level
	for i, index := range s.indices {
		if math.IsNaN(x[i]) {
			s.leftOut = append(s.leftOut, texts[i])
			continue
		}
		at[x[i]] = index
	}
	if len(at) < leastLevels || len(at)+len(s.leftOut) != len(s.indices) {
		return false
	}
	s.x, s.unit, s.indices = slices.Sorted(maps.Keys(at)), unit, nil
	for _, level := range s.x {
		s.indices = append(s.indices, at[level])
	}
	return true
}

// notations lists the forms of numbers that a level may have, such as a percentage or a duration, with unit and reader.
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
		if r == 0 { // a rate of 0 means unlimited
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
		return math.NaN(), nil // levels are plain numbers; texts such as 0x10 and infinity are not
	}
	return strconv.ParseFloat(text, 64)
}

// readLevels reads levels as numbers in one unit, by the notation that reads most levels; the other levels are NaN.
// Sizes and rates get the largest unit with levels of at least 1.
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
		if v < least { // skips NaN, for which every comparison is false
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
