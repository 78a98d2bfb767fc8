package factor

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Named are the file's own factors by name: $(NAME) in texts of a config stands for the level
// in force.
type Named = map[string]Levels[Word]

// Word is a level of one of the file's own factors, as it is written there.
type Word string

// UnmarshalText takes any text or number.
func (w *Word) UnmarshalText(text []byte) error {
	*w = Word(text)
	return nil
}

// MarshalText gives it back.
func (w Word) MarshalText() ([]byte, error) { return []byte(w), nil }

var name = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)

// Filler puts the levels in force into texts: $(qps). A factor of several levels stays as it is.
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

// CheckNamed says what is wrong with a factor: a name that cannot stand in a text, no level, or that nothing
// uses it, neither a text nor what uses says.
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
