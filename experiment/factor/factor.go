// Package factor holds what makes a parameter sweepable. A field of type
// Levels[T] takes one value or a list in the experiment file; the experiment
// package expands each list into one variant per level.
package factor

import "encoding/json"

// Levels are the values of one parameter, in the order written. After
// expansion there is exactly one.
type Levels[T any] []T

// Of makes the levels of a parameter, for defaults and tests.
func Of[T any](values ...T) Levels[T] { return values }

// One is the level in force after expansion. It panics on an unexpanded or
// empty factor, which is a programming error.
func (l Levels[T]) One() T {
	if len(l) != 1 {
		panic("factor: One on a factor that is not expanded")
	}
	return l[0]
}

// MarshalJSON writes a single level as the bare value.
func (l Levels[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]T(l))
}

// Level is one factor held at one value, as shown to the user.
type Level struct {
	Factor string `json:"factor"` // the parameter's name: "mtu"
	Value  string `json:"value"`  // as written: "1500"
}

// String gives "mtu=1500".
func (l Level) String() string { return l.Factor + "=" + l.Value }
