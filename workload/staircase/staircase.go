// Package staircase searches the largest load that a server carries.
package staircase

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"tare/workload"
)

// Search says what is searched. Loads are above zero: requests per second, sidecars.
type Search struct {
	Fineness
	Near, Least, Most float64 // about where it begins, and the loads that are tried
	Unit              string  // of the load, in errors: "per second"
}

// Fineness says how closely is searched.
type Fineness struct {
	Halvings int // of a doubling, down to the finest step
	Turns    int // reversals that are averaged, an even number
	Usual    int // tries that it takes if what is found lies between a quarter of Near and four times Near
}

// Fine (to 2.2 %) is for tries that take a second or so, Coarse (to 9 %) for longer ones.
var (
	Fine   = Fineness{Halvings: 5, Turns: 8, Usual: 23}
	Coarse = Fineness{Halvings: 3, Turns: 4, Usual: 13}
)

// Record is a search as it is kept with its trial.
type Record[Try any] struct {
	Began float64 `json:"began"` // load of its first try
	Tries []Try   `json:"tries"` // in their order, with those that come before and after the search
}

// A search takes MostTries tries at most.
const MostTries = 40

// AtMost writes a limit of an objective: "p99 ≤ 20 ms".
func AtMost(of string, most fmt.Stringer) string { return of + " ≤ " + Spaced(most) }

// Spaced writes a quantity with a space before its unit: "20 ms".
func Spaced(quantity fmt.Stringer) string {
	text := quantity.String()
	unit := len(strings.TrimRight(text, "%abcdefghijklmnopqrstuvwxyzµ"))
	return text[:unit] + " " + text[unit:]
}

const (
	doubling = math.Ln2 // the first step, as all here of logarithms
	settling = 2        // turns by the finest steps that are not averaged: noise may have made a search turn too early
)

// First draws the load that a search begins with: evenly over one doubling about Near. The loads of a search are a
// grid that its first load fixes, and what is found lies on that grid. If all searches began at one place they would
// err alike, and more of them would only make a wrong value look certain.
func (s Search) First(seed uint64) float64 {
	most := math.Log(s.Most)
	from := max(min(math.Log(s.Near)-doubling/2, most-doubling), math.Log(s.Least))
	return math.Exp(from + rand.New(rand.NewPCG(seed, 0)).Float64()*min(doubling, most-from))
}

// Find gives the load that is carried in half of the tries: up-down steps (Levitt 1971,
// Transformed up-down methods in psychoacoustics, Journal of the Acoustical Society of America
// 49), which are halved at each turn down to the finest, and the geometric mean of the loads at
// the last turns that the finest steps made. The seed draws where the search begins: each search needs its own.
// If the least load is not carried, or the most is, the error breaks the rule on rates.
func (s Search) Find(seed uint64, try func(load float64) (carried bool, err error)) (float64, error) {
	least, most := math.Log(s.Least), math.Log(s.Most)
	x, halved := math.Log(s.First(seed)), 0
	step := func() float64 { return math.Ldexp(doubling, -halved) }
	was, at := false, []float64{} // the loads at turns
	for n := 0; len(at) < settling+s.Turns && n < MostTries; n++ {
		carried, err := try(math.Exp(x))
		switch {
		case err != nil:
			return 0, err
		case carried && x >= most:
			return 0, without("all were carried, up to %.0f %s", s.Most, s.Unit)
		case !carried && x <= least:
			return 0, without("none was carried, down to %.0f %s", s.Least, s.Unit)
		}
		if n > 0 && carried != was {
			if halved == s.Halvings {
				at = append(at, x)
			}
			halved = min(halved+1, s.Halvings)
		}
		bound, up := most, 1.0
		if !carried {
			bound, up = least, -1
		}
		for step() > up*(bound-x) && halved < s.Halvings { // a step that ended at the bound would leave the grid
			halved++
		}
		if x += up * step(); up*(bound-x) < 0 {
			x = bound
		}
		was = carried
	}
	at = at[:len(at)&^1] // as many turns at the top as at the bottom
	if at = at[min(settling, len(at)):]; len(at) < s.Turns/2 {
		return 0, without("it was not found in %d tries", MostTries)
	}
	sum := 0.0
	for _, v := range at {
		sum += v
	}
	return math.Exp(sum / float64(len(at))), nil
}

// without is why a search ended without a load.
func without(format string, args ...any) error {
	return workload.Invalidf(workload.RuleRate, "the search for the capacity: "+format, args...)
}
