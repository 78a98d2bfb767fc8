package strictyaml

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A hint suggests a text only after a try: the file is read with this text in place of the wrong value, and must no
// longer have the problem.

const longestHint = 200 // the largest length of a suggested text, in bytes

// takes reports whether a text would be valid in place of a node.
func (f *File) takes(text, path string, t reflect.Type, field Field) bool {
	if f.trying || len(text) > longestHint || len(f.problems) >= maxProblems {
		return false // a long suggestion is of no use
	}
	f.trying = true
	defer func() { f.trying = false }()
	instead := Read(f.name, []byte(text))
	if instead.Root == nil {
		return false
	}
	problems, dropped := slices.Clone(f.problems), f.dropped
	f.problems = nil
	f.value(instead.Root, path, reflect.New(t).Elem(), field)
	ok := len(f.problems) == 0
	f.problems, f.dropped = problems, dropped
	return ok
}

// meant returns a hint with the first text that would be valid; "" if none of the texts would.
func (f *File) meant(n *Node, path string, t reflect.Type, field Field, texts ...string) string {
	for _, text := range texts {
		if text != n.Value && f.takes(text, path, t, field) {
			return "did you mean " + text + "?"
		}
	}
	return ""
}

// otherwise returns the hint to add quotes to a value, or to remove them; "" if neither makes it valid.
func (f *File) otherwise(n *Node, path string, t reflect.Type, field Field) string {
	switch {
	case n.Quoted && f.takes(n.Value, path, t, field):
		return "write it without quotes"
	case !n.Quoted && f.takes(quoted(n.Value), path, t, field):
		return "write it in quotes"
	}
	return ""
}

// bracketed returns the hint to write a text as a list; "" if the list would be invalid.
func (f *File) bracketed(n *Node, path string, t reflect.Type, field Field) string {
	var items []string
	if w, ok := asked[interface{ Words(text string) []string }](t); ok {
		items = w.Words(n.Value)
	} else {
		items = strings.FieldsFunc(n.Value, func(r rune) bool { return r == ',' })
	}
	for i, item := range items {
		items[i] = listed(strings.TrimSpace(item))
	}
	for _, list := range []string{strings.Join(items, ", "), listed(n.Value)} {
		if list := "[" + list + "]"; f.takes(list, path, t, field) {
			return "write it in brackets: " + list
		}
	}
	return ""
}

// unquoted matches texts that need no quotes in a list in brackets.
var unquoted = regexp.MustCompile(`^-{0,2}[A-Za-z_./$][A-Za-z0-9_./$%+=@()-]*$`)

// words are texts that YAML reads as another type.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func listed(text string) string {
	_, err := strconv.Atoi(text)
	if err == nil || unquoted.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return quoted(text)
}

func (f *File) unitHint(n *Node, path string, t reflect.Type, field Field) string {
	units, ok := asked[interface{ Units() []string }](t)
	number := strings.TrimRight(n.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/% ")
	if _, err := strconv.ParseFloat(number, 64); err != nil || !ok {
		return ""
	}
	all := units.Units()
	unit := strings.TrimSpace(n.Value[len(number):])
	if unit == "" && len(all) > 1 {
		return "add a unit: " + strings.Join(all, ", ")
	}
	// A wrong unit may be an abbreviation of a valid unit: 4k means 4KiB.
	begun := slices.IndexFunc(all, func(u string) bool { return strings.HasPrefix(fold(u), fold(unit)) })
	texts := []string{number + Nearest(unit, all)}
	if begun >= 0 {
		texts = slices.Insert(texts, 0, number+all[begun])
	}
	if hint := f.meant(n, path, t, field, texts...); hint != "" {
		return hint
	}
	return "known units: " + strings.Join(all, ", ")
}

// Nearest returns the candidate that a misspelt word most likely means, or "". Case, - and _ do not matter.
func Nearest(word string, candidates []string) string {
	best, least := "", 0.0
	folded := fold(word)
	if len(folded) > 64 {
		return ""
	}
	for _, c := range candidates {
		f := fold(c)
		d := distance([]rune(folded), []rune(f))
		// A short word may have one wrong letter, and a longer word several. At least one letter must be right.
		if d > 1+len(f)/4 || d >= len(f) {
			// An abbreviation or a plural may differ by more letters from the known word: one of the two words must
			// begin with the other.
			if min(len(f), len(folded)) < 3 || !strings.HasPrefix(f, folded) && !strings.HasPrefix(folded, f) {
				continue
			}
			d = 1 + len(f)/4
		}
		if share := float64(d) / float64(len(f)); best == "" || share < least {
			best, least = c, share
		}
	}
	return best
}

// Suggest returns the hint for an unknown word: the nearest candidate, and all candidates.
func Suggest(word string, what string, candidates []string) string {
	return suggest(word, what, candidates, func(string) bool { return true })
}

// suggest returns the hint for an unknown word, as Suggest does. It names the nearest candidate only if the call
// may(candidate) returns true.
func suggest(word string, what string, candidates []string, may func(string) bool) string {
	all := fmt.Sprintf("%s: %s", what, strings.Join(candidates, ", "))
	if len(candidates) == 0 {
		all = what + ": none"
	}
	if near := Nearest(word, candidates); near != "" && near != word && may(near) {
		return fmt.Sprintf("did you mean %s? %s", near, all)
	}
	return all
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the insertions, deletions, substitutions and swaps that turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = slices.Min([]int{above[j] + 1, row[j-1] + 1, above[j-1] + change})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
