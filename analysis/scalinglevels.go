package analysis

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
)

// ladder is a set of cells, or of arms, that differ in one factor alone, whose levels are
// numbers.
type ladder struct {
	of           string // the workload of the cells, or the arm as the file has it
	factor, unit string
	held         []factor.Level
	steps        []int     // cells or arms of the plan, by level in ascending order
	x            []float64 // the levels
	leftOut      []string  // levels that are no numbers
}

// ladders are those of the cells, in the order of the plan.
func ladders(plan *experiment.Plan) []ladder {
	return laddersOf(len(plan.Cells), func(i int) (string, []factor.Level) { return plan.Cells[i].Workload, plan.Cells[i].Levels })
}

// armLadders are those of the treatments.
func armLadders(plan *experiment.Plan) []ladder {
	return laddersOf(len(plan.Arms), func(i int) (string, []factor.Level) {
		a := plan.Arms[i]
		if a.Role != experiment.Treatment {
			return "", nil
		}
		name, _, _ := strings.Cut(a.Name, "[") // seccomp of seccomp[rules=8]
		return name, a.Levels
	})
}

// laddersOf finds the ladders among n cells or arms, each with what it is of and its levels.
func laddersOf(n int, of func(i int) (string, []factor.Level)) []ladder {
	type key struct{ of, factor, held string }
	at := map[key]*ladder{}
	var order []*ladder
	for i := range n {
		name, levels := of(i)
		for k, l := range levels {
			held := slices.Concat(levels[:k], levels[k+1:])
			id := key{name, l.Factor, fmt.Sprintf("%q", held)}
			if at[id] == nil {
				at[id] = &ladder{of: name, factor: l.Factor, held: held}
				order = append(order, at[id])
			}
			at[id].steps = append(at[id].steps, i)
		}
	}
	var list []ladder
	for _, l := range order {
		if l.climb(of) {
			list = append(list, *l)
		}
	}
	return list
}

// climb reads the levels as numbers and puts the steps in their order. Levels that
// are words stand apart. It is false where too few are numbers, or one is there twice.
func (l *ladder) climb(of func(i int) (string, []factor.Level)) bool {
	texts := make([]string, len(l.steps))
	for i, step := range l.steps {
		_, levels := of(step)
		for _, level := range levels {
			if level.Factor == l.factor {
				texts[i] = level.Value
			}
		}
	}
	x, unit := readLevels(texts)
	at := map[float64]int{} // steps by level
	for i, step := range l.steps {
		if math.IsNaN(x[i]) {
			l.leftOut = append(l.leftOut, texts[i])
			continue
		}
		at[x[i]] = step
	}
	if len(at) < leastLevels || len(at)+len(l.leftOut) != len(l.steps) {
		return false
	}
	l.x, l.unit, l.steps = slices.Sorted(maps.Keys(at)), unit, nil
	for _, level := range l.x {
		l.steps = append(l.steps, at[level])
	}
	return true
}

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
