package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/experiment"
	"tare/journal"
)

// PlaceEffects say how trials depend on their place within the round: the first one may find
// cold caches, the last one a warm machine. Where every arm has had every place equally
// often, it makes no arm look slower, but it widens intervals: it is taken away.
type PlaceEffects struct {
	P       float64   `json:"p"`       // of no effect
	Effects []float64 `json:"effects"` // by place: as a share of the metric, from their mean
	logs    []float64
}

const (
	placesLevel  = 0.01 // p under which an effect is taken away
	placesFewest = 6    // rounds
	placesSweeps = 50   // of fitting; far more than trials without gaps take
)

// of is the effect of the place of a trial, as a logarithm.
func (p *PlaceEffects) of(t *journal.Trial) float64 {
	if p == nil || t == nil || t.Position < 1 || t.Position > len(p.logs) {
		return 0
	}
	return p.logs[t.Position-1]
}

// places gives the effects that are to be taken from a metric; nil: none. They are fitted
// beside effects of rounds and arms, by least squares, and tested by F.
func (t *table) places(c int, m experiment.Metric) *PlaceEffects {
	if m.Scale == experiment.Difference || t.plan.Import != nil {
		return nil
	}
	key := [2]string{t.plan.Cells[c].ID, m.Name}
	if p, known := t.moved[key]; known {
		return p
	}
	if t.moved == nil {
		t.moved = map[[2]string]*PlaceEffects{}
	}
	t.moved[key] = t.fitPlaces(c, m)
	return t.moved[key]
}

// fitPlaces uses the rounds in which every arm has a value, each in a place of its own.
func (t *table) fitPlaces(c int, m experiment.Metric) *PlaceEffects {
	k := len(t.plan.Arms)
	var values [][]float64 // by round and arm
	var at [][]int
	had := make([][]int, k)
	for a := range had {
		had[a] = make([]int, k)
	}
	for i := range t.at[c] {
		row, places := make([]float64, k), make([]int, k)
		whole := true
		for a := range k {
			s := t.slots[c][a][i]
			v, ok := value(s.valid, m)
			if !ok || s.valid.Position < 1 || s.valid.Position > k {
				whole = false // it is missing, or was tried again
				break
			}
			row[a], places[a] = math.Log(v), s.valid.Position-1
		}
		if whole {
			for a, p := range places {
				had[a][p]++
			}
			values, at = append(values, row), append(at, places)
		}
	}
	if len(values) < placesFewest || uneven(had, len(values)) {
		return nil
	}
	without, _ := fitRows(values, at, false)
	with, effects := fitRows(values, at, true)
	free := float64((k-1)*(len(values)-1) - (k - 1))
	if free < 1 || with <= 0 {
		return nil
	}
	f := max(0, without-with) / float64(k-1) / (with / free) // below 0 by rounding only
	p := distuv.F{D1: float64(k - 1), D2: free}.Survival(f)
	if math.IsNaN(p) || p > placesLevel {
		return nil
	}
	e := &PlaceEffects{P: p, logs: effects}
	for _, x := range effects {
		e.Effects = append(e.Effects, math.Expm1(x))
	}
	return e
}

// uneven says whether some arm has never had a place, or has had one more often than another by what is usual for a place:
// effects of arms and places could then hardly be told from each other.
func uneven(had [][]int, rounds int) bool {
	for _, places := range had {
		least, most := slices.Min(places), slices.Max(places)
		if usual := rounds / len(places); least == 0 || most-least > max(usual, 2) {
			return true
		}
	}
	return false
}

// fitRows fits values by effects of rounds, arms and perhaps places, and gives the sum of
// squares that is left, and the effects of the places around their mean.
func fitRows(values [][]float64, at [][]int, places bool) (left float64, effects []float64) {
	n, k := len(values), len(values[0])
	rest := make([][]float64, n)
	for i := range rest {
		rest[i] = append([]float64(nil), values[i]...)
	}
	effects = make([]float64, k)
	sweep := func(classes int, of func(i, a int) int) []float64 {
		sum, count := make([]float64, classes), make([]float64, classes)
		for i := range rest {
			for a, v := range rest[i] {
				sum[of(i, a)] += v
				count[of(i, a)]++
			}
		}
		for j := range sum {
			sum[j] /= max(count[j], 1)
		}
		for i := range rest {
			for a := range rest[i] {
				rest[i][a] -= sum[of(i, a)]
			}
		}
		return sum
	}
	for range placesSweeps {
		sweep(n, func(i, _ int) int { return i })
		sweep(k, func(_, a int) int { return a })
		if !places {
			break // rounds and arms are orthogonal
		}
		largest := 0.0
		for j, by := range sweep(k, func(i, a int) int { return at[i][a] }) {
			effects[j] += by
			largest = max(largest, math.Abs(by))
		}
		if largest < 1e-12 {
			break
		}
	}
	for i := range rest {
		for _, v := range rest[i] {
			left += v * v
		}
	}
	mean := 0.0
	for _, e := range effects {
		mean += e / float64(k)
	}
	for j := range effects {
		effects[j] -= mean
	}
	return left, effects
}
