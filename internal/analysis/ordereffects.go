package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// PositionEffects are the effects of positions in the round, such as cold caches on the first trial. They widen
// intervals, so Tare removes them. They favour no arm if all had every position equally often.
type PositionEffects struct {
	P       float64   `json:"p"`       // p-value of "no effect"
	Effects []float64 `json:"effects"` // one effect per position, as a share of the metric relative to the mean of all positions
	logs    []float64
}

const (
	orderFewest = 6  // smallest number of rounds that a fit needs
	orderSweeps = 50 // largest number of iterations of the fit; without missing trials, a fit needs far fewer
)

// of returns the effect of a trial's position, on the logarithmic scale.
func (p *PositionEffects) of(t *journal.Trial) float64 {
	if p == nil || t.Position < 1 || t.Position > len(p.logs) {
		return 0
	}
	return p.logs[t.Position-1]
}

// orderEffects returns how a trial's position in its round changes a metric, by least squares; nil: not significant by
// an F test, or not computed.
func (t *table) orderEffects(c int, m experiment.Metric) *PositionEffects {
	if m.Scale == experiment.Difference || t.plan.Import != nil {
		return nil
	}
	key := [2]string{t.plan.Cells[c].ID, m.Name}
	if _, known := t.positionEffects[key]; !known {
		t.positionEffects[key] = t.fitOrder(c, m)
	}
	return t.positionEffects[key]
}

// fitOrder fits and tests the effects of an arm's position within a round. It uses the rounds in which every arm has a
// value and a position of its own.
func (t *table) fitOrder(c int, m experiment.Metric) *PositionEffects {
	k := len(t.plan.Arms)
	arms, had := make([]int, k), make([][]int, k) // had counts an arm's trials at each position in the round
	for a := range arms {
		arms[a], had[a] = a, make([]int, k)
	}
	var values [][]float64 // values by round and arm
	var at [][]int
	for _, r := range t.completeRounds([]int{c}, arms, m, nil) {
		if slices.ContainsFunc(r.trials, func(t *journal.Trial) bool { return t.Position < 1 || t.Position > k }) {
			continue // rounds with a repeated trial are skipped: it has no position in the round
		}
		places := make([]int, k)
		for a, trial := range r.trials {
			places[a] = trial.Position - 1
			had[a][places[a]]++
		}
		values, at = append(values, stats.Mapped(r.values, math.Log)), append(at, places)
	}
	if len(values) < orderFewest || uneven(had, len(values)) {
		return nil
	}
	without, _ := fitRows(values, at, false)
	with, effects := fitRows(values, at, true)
	free := float64((k-1)*(len(values)-1) - (k - 1))
	if free < 1 || with <= 0 {
		return nil
	}
	f := max(0, without-with) / float64(k-1) / (with / free) // max(0, …), since rounding can make the difference slightly negative
	p := stats.FTail(f, float64(k-1), free)
	if math.IsNaN(p) || p > orderLevel {
		return nil
	}
	return &PositionEffects{P: p, Effects: stats.Mapped(effects, math.Expm1), logs: effects}
}

// uneven reports whether an arm lacks a position, or had one too often to tell it from the arm: by more than 2 and the
// average per position.
func uneven(had [][]int, rounds int) bool {
	return slices.ContainsFunc(had, func(places []int) bool {
		least, most := slices.Min(places), slices.Max(places)
		return least == 0 || most-least > max(rounds/len(places), 2)
	})
}

// fitRows fits effects of rounds and arms and, if places is true, of positions. It returns the residual sum of squares
// and the centred position effects.
func fitRows(values [][]float64, at [][]int, places bool) (left float64, effects []float64) {
	n, k := len(values), len(values[0])
	rest := make([][]float64, n)
	for i := range rest {
		rest[i] = slices.Clone(values[i])
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
	for range orderSweeps {
		sweep(n, func(i, _ int) int { return i })
		sweep(k, func(_, a int) int { return a })
		if !places {
			break // without positions, one pass is exact: every arm is in every round (orthogonal)
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
	floats.AddConst(-stats.Mean(effects), effects)
	return left, effects
}
