package factor

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Named holds the factors that the file defines, by name. $(NAME) in texts of a config stands for the current
// level.
type Named = map[string]Levels[Word]

// Word is a level of a factor that the file defines, with its text in the file.
type Word string

// UnmarshalText accepts any text or number.
func (w *Word) UnmarshalText(text []byte) error {
	*w = Word(text)
	return nil
}

// MarshalText returns the text.
func (w Word) MarshalText() ([]byte, error) { return []byte(w), nil }

var name = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)

// Filler replaces $(NAME) in texts by the current levels. It leaves a factor with several levels unchanged.
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

// CheckNamed returns an error if a factor's name cannot stand in a text, if it has no level, or if it is
// unused. A factor is used if a text contains it, or if the function uses returns true.
func CheckNamed(n Named, factor string, texts []string, uses func(name string) bool) error {
	switch {
	case !name.MatchString(factor):
		return fmt.Errorf("%q is not a name of letters, digits and single dashes that begins with a lower-case letter", factor)
	case len(n[factor]) == 0:
		return fmt.Errorf("it has no level")
	case uses != nil && uses(factor):
	case !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, used(factor)) }):
		return fmt.Errorf("nothing holds %s, so that all levels would do the same", used(factor))
	}
	return nil
}
