// Package staircase searches the largest load that a server carries.
package staircase

import (
	"fmt"
	"math"
	"strings"
)

// Search says what is searched, and how closely. Loads are above zero: requests per second, sidecars.
type Search struct {
	First       float64 // load of the first try
	Least, Most float64 // loads that are tried
	Finest      float64 // factor between loads at the end, above 1
	Turns       int     // reversals that are averaged
	Unit        string  // of the load, in errors: "per second"
}

// NotFoundError is the error of a search that ends without a load, and says why.
type NotFoundError string

func (e NotFoundError) Error() string { return string(e) }

// A search takes MostTries tries at most.
const MostTries = 40

// AtMost writes a limit of an objective: "p99 ≤ 20 ms".
func AtMost(of string, most fmt.Stringer) string {
	text := most.String()
	unit := len(strings.TrimRight(text, "%abcdefghijklmnopqrstuvwxyzµ"))
	return of + " ≤ " + text[:unit] + " " + text[unit:]
}

const firstFactor = 2 // between loads until one is not carried

// Find gives the load that is carried in half of the tries: up-down steps (Levitt 1971,
// Transformed up-down methods in psychoacoustics, Journal of the Acoustical Society of America
// 49), which are halved at each turn down to the finest, and the geometric mean of the loads at
// the last turns. Two searches of one server differ by what its noise moves them; the
// interval over rounds has that. The error is a NotFoundError if the least load is not carried, or the most is.
func (s Search) Find(try func(load float64) (carried bool, err error)) (float64, error) {
	least, most := math.Log(s.Least), math.Log(s.Most)
	x, step := math.Log(s.First), math.Log(firstFactor)
	was, begun := false, false
	var at []float64 // logarithms of the loads at turns
	for n := 0; len(at) < s.Turns+2 && n < MostTries; n++ {
		load := math.Exp(x)
		carried, err := try(load)
		switch {
		case err != nil:
			return 0, err
		case carried && x >= most:
			return 0, NotFoundError(fmt.Sprintf("all were carried, up to %.0f %s", s.Most, s.Unit))
		case !carried && x <= least:
			return 0, NotFoundError(fmt.Sprintf("none was carried, down to %.0f %s", s.Least, s.Unit))
		}
		if begun && carried != was {
			at = append(at, x)
			step = max(step/2, math.Log(s.Finest))
		}
		begun, was = true, carried
		if carried {
			x = min(x+step, most)
		} else {
			x = max(x-step, least)
		}
	}
	if len(at) < s.Turns/2 {
		return 0, NotFoundError(fmt.Sprintf("it was not found in %d tries", MostTries))
	}
	at = at[max(0, len(at)-s.Turns):]
	sum := 0.0
	for _, v := range at {
		sum += v
	}
	return math.Exp(sum / float64(len(at))), nil
}
