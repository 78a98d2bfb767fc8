// Package factor makes parameters sweepable. A field of type Levels[T] takes one value or a list in the
// experiment file. Package experiment expands each list into one variant per level.
package factor

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// Levels are the values of one parameter, in the order of the file. After expansion there is exactly one
// value.
type Levels[T any] []T

// Of makes the levels of a parameter, for defaults and tests.
func Of[T any](values ...T) Levels[T] { return values }

// One returns the only level after expansion. It panics if there are several levels, as before expansion, or
// no level, as in an optional parameter that is not given.
func (l Levels[T]) One() T {
	if len(l) != 1 {
		panic(fmt.Sprintf("factor: One on a factor with %d levels", len(l)))
	}
	return l[0]
}

// OrZero returns the only level, or the zero value of a factor that is not given.
func (l Levels[T]) OrZero() (level T) {
	if len(l) > 0 {
		level = l.One()
	}
	return level
}

// MarshalJSON writes a single level as the bare value.
func (l Levels[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]T(l))
}

// swept marks Levels of every element type.
func (l Levels[T]) swept() {}

// Is reports whether a type is Levels of any element type.
func Is(t reflect.Type) bool { return t.Implements(reflect.TypeFor[interface{ swept() }]()) }

// Text returns the text of a level: the form in the file, if the type has one.
func Text(value any) string {
	if m, ok := value.(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(value)
}

// Level is one factor at one value, as text.
type Level struct {
	Factor string `json:"factor"` // the parameter's name: "mtu"
	Value  string `json:"value"`  // the form in the file: "1500"
}

// String returns text such as "mtu=1500".
func (l Level) String() string { return l.Factor + "=" + l.Value }
