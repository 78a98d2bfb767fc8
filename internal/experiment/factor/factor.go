// Package factor lets a parameter have several values that are compared. A field of type Levels[T] takes one value or a
// list. Package experiment makes one variant for each value.
package factor

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Levels are the values of one parameter, in the order of the file. After expansion, exactly one value is left.
type Levels[T any] []T

// Of makes the levels of a parameter, for defaults and tests.
func Of[T any](values ...T) Levels[T] { return values }

// One returns the only level of a parameter of an expanded experiment. It panics if there are several levels, or none
// (an absent optional parameter).
func (l Levels[T]) One() T {
	if len(l) != 1 {
		panic(fmt.Sprintf("factor: One on a factor with %d levels", len(l)))
	}
	return l[0]
}

// OrZero returns the only level. If the file does not set the parameter, it returns the zero value.
func (l Levels[T]) OrZero() (level T) {
	if len(l) > 0 {
		level = l.One()
	}
	return level
}

// MarshalJSON writes a single level as its value, and several levels as a list.
func (l Levels[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]T(l))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Levels[T]) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*[]T)(l))
	}
	*l = make(Levels[T], 1)
	return json.Unmarshal(text, &(*l)[0])
}

// swept marks Levels for the function Is, whatever the element type T.
func (l Levels[T]) swept() {}

// Is reports whether a type is Levels of any element type.
func Is(t reflect.Type) bool { return t.Implements(reflect.TypeFor[interface{ swept() }]()) }

// Text returns the text of a level. The text is that of MarshalText, if the type has this method.
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

// String returns the factor and its value, such as "mtu=1500".
func (l Level) String() string { return l.Factor + "=" + l.Value }

// Named holds the factors that the file itself defines, by name. The text $(NAME) in a config is replaced by the level
// of the factor NAME.
type Named = map[string]Levels[Word]

// Word is one level, as the text in the file. Its factor is one that the file itself defines.
type Word string

// UnmarshalText accepts any text, including the text of a number.
func (w *Word) UnmarshalText(text []byte) error {
	*w = Word(text)
	return nil
}

// MarshalText returns the text.
func (w Word) MarshalText() ([]byte, error) { return []byte(w), nil }

var name = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)

// Filler returns a replacer that changes $(NAME) to the level of the factor NAME. If the factor has several levels,
// $(NAME) stays.
func Filler(n Named) *strings.Replacer {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if levels := n[name]; len(levels) == 1 {
			pairs = append(pairs, used(name), string(levels.One()))
		}
	}
	return strings.NewReplacer(pairs...)
}

func used(name string) string { return "$(" + name + ")" }

// CheckNamed returns an error if a factor has an invalid name, no level or no use. A use is $(NAME) in a text, or a
// name that the function elsewhere accepts.
func CheckNamed(n Named, factor string, texts []string, elsewhere func(name string) bool) error {
	switch {
	case !name.MatchString(factor):
		return fmt.Errorf("%q is not a name of letters, digits and single dashes that begins with a lower-case letter", factor)
	case len(n[factor]) == 0:
		return fmt.Errorf("it has no level")
	case elsewhere != nil && elsewhere(factor):
	case !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, used(factor)) }):
		return fmt.Errorf("nothing holds %s, so that all levels would do the same", used(factor))
	}
	return nil
}
