// Package staircase searches the capacity of a server: the largest load that it carries.
package staircase

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"tare/internal/workload"
)

// Search describes a search. Loads are positive, such as requests per second or sidecars.
type Search struct {
	Fineness
	// Near is a guess of the capacity. A search begins near it. Loads are at least Least and at most Most.
	Near, Least, Most float64
	Unit              string // unit of the load in error messages: "per second"
}

// Fineness is the precision of a search.
type Fineness struct {
	Halvings int // number of times that the step is halved; the first step is a factor of two, up or down
	Turns    int // number of turns (changes of direction) whose loads are averaged; an even number
	// Usual is the usual number of tries. A search needs more tries if its result is far from Near: below a quarter of
	// Near, or above four times Near.
	Usual int
}

// Fine finds a capacity to within 2.2 %, by tries of about a second. Coarse finds a capacity to within 9 %, by
// longer tries.
var (
	Fine   = Fineness{Halvings: 5, Turns: 8, Usual: 23}
	Coarse = Fineness{Halvings: 3, Turns: 4, Usual: 13}
)

// Record is the record of a search, which is kept with its trial.
type Record[Try any] struct {
	Began float64 `json:"began"` // load of the search's first try
	Tries []Try   `json:"tries"` // all tries in order, also those that came before or after the search itself
}

// MostTries bounds the tries of a search.
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
	doubling = math.Ln2 // the first step of a search doubles the load; steps are differences of logarithms
	// settling is the number of first turns (changes of direction) with the finest step that do not count. Noise may
	// have caused the first turns far from the capacity.
	settling = 2
)

// First draws the first load of a search, between Near ÷ √2 and Near × √2 if Least and Most allow. If all searches
// began at one load, their results would share one error.
func (s Search) First(seed uint64) float64 {
	most := math.Log(s.Most)
	from := max(min(math.Log(s.Near)-doubling/2, most-doubling), math.Log(s.Least))
	return math.Exp(from + rand.New(rand.NewPCG(seed, 0)).Float64()*min(doubling, most-from))
}

// Find searches the load that the server carries in half of the tries, by steps up and down (Levitt 1971, Transformed
// up-down methods in psychoacoustics, Journal of the Acoustical Society of America 49). The result is the geometric
// mean of the loads at the last turns. Each search needs its own seed. If Least is not carried, or Most is carried, the
// error breaks the rule on rates.
func (s Search) Find(seed uint64, try func(load float64) (carried bool, err error)) (float64, error) {
	least, most := math.Log(s.Least), math.Log(s.Most)
	x, halved := math.Log(s.First(seed)), 0
	step := func() float64 { return math.Ldexp(doubling, -halved) }
	before, turns := false, []float64{} // loads at which the direction changed with the finest step
	for n := 0; len(turns) < settling+s.Turns && n < MostTries; n++ {
		carried, err := try(math.Exp(x))
		switch {
		case err != nil:
			return 0, err
		case carried && x >= most:
			return 0, noCapacity("all were carried, up to %.0f %s", s.Most, s.Unit)
		case !carried && x <= least:
			return 0, noCapacity("none was carried, down to %.0f %s", s.Least, s.Unit)
		}
		if n > 0 && carried != before {
			if halved == s.Halvings {
				turns = append(turns, x)
			}
			halved = min(halved+1, s.Halvings)
		}
		bound, up := most, 1.0
		if !carried {
			bound, up = least, -1
		}
		// a step that would pass the bound is halved: a load at the bound would not lie on the grid
		for step() > up*(bound-x) && halved < s.Halvings {
			halved++
		}
		if x += up * step(); up*(bound-x) < 0 {
			x = bound
		}
		before = carried
	}
	turns = turns[:len(turns)&^1] // keeps an even number of turns: as many upper turns as lower turns
	if turns = turns[min(settling, len(turns)):]; len(turns) < s.Turns/2 {
		return 0, noCapacity("it was not found in %d tries", MostTries)
	}
	sum := 0.0
	for _, v := range turns {
		sum += v
	}
	return math.Exp(sum / float64(len(turns))), nil
}

func noCapacity(format string, args ...any) error {
	return workload.Invalidf(workload.RuleRate, "the search for the capacity: "+format, args...)
}
