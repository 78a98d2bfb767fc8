// Package columns fits text into columns of a terminal: it measures, shortens,
// fills and wraps. Widths are those of github.com/clipperhouse/displaywidth: two
// columns for a wide character, none for a combining mark or an escape sequence.
package columns

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Ellipsis stands for what was left out.
const Ellipsis = "…"

var widths = displaywidth.Options{ControlSequences: true}

// Width is how many columns a string takes.
func Width(s string) int { return widths.String(s) }

// first gives the longest prefix of s within n columns.
func first(s string, n int) string { return widths.TruncateString(s, n, "") }

// last gives the longest suffix of s within n columns.
func last(s string, n int) string {
	over := Width(s) - n
	for g := widths.StringGraphemes(s); over > 0 && g.Next(); {
		s, over = s[len(g.Value()):], over-g.Width()
	}
	return s
}

// Shorten cuts s to at most n columns by leaving out its middle, since names of
// arms and cells differ at both ends. The mark stands in the gap.
func Shorten(s string, n int, mark string) string {
	if Width(s) <= n {
		return s
	}
	room := n - Width(mark)
	if room < 2 {
		return first(s, n)
	}
	tail := room / 2
	return first(s, room-tail) + mark + last(s, tail)
}

// Abbreviate shortens names to n columns so that they stay distinct: names that
// would read the same keep the part in which they differ.
func Abbreviate(names []string, n int) map[string]string {
	out, taken := map[string]string{}, map[string][]string{}
	for _, name := range names {
		if _, ok := out[name]; !ok {
			out[name] = Shorten(name, n, Ellipsis)
			taken[out[name]] = append(taken[out[name]], name)
		}
	}
	for short, same := range taken {
		if len(same) < 2 || Width(same[0]) <= n {
			continue
		}
		shared := same[0]
		for _, name := range same[1:] {
			shared = commonPrefix(shared, name)
		}
		head := first(short, n/3)
		for _, name := range same {
			rest := name[len(shared):]
			lead := min(max(n-Width(head)-Width(Ellipsis)-Width(rest), 2), n/3)
			out[name] = first(head+Ellipsis+last(shared, lead)+rest, n)
		}
	}
	return out
}

// commonPrefix is the longest prefix of both, in whole characters.
func commonPrefix(a, b string) string {
	for i, r := range a {
		if !strings.HasPrefix(b[min(i, len(b)):], string(r)) {
			return a[:i]
		}
	}
	return a
}

// Pad fills s with spaces to n columns, on the right.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Width(s))) }

// quantity finds numbers with their units.
var quantity = regexp.MustCompile(`([0-9]) (%|[nµm]?s\b|[kMGT]?bit|[KMGT]iB\b)`)

// Tie puts a no-break space between each number and its unit.
func Tie(s string) string {
	if !strings.ContainsAny(s, " ") || !strings.ContainsAny(s, "0123456789") { // as most texts of long tables
		return s
	}
	return quantity.ReplaceAllString(s, "$1\u00a0$2")
}

// Wrap breaks s at spaces into lines of at most width columns, but not at a
// no-break space, which becomes an ordinary one. Words longer than a line are
// broken where they must be; others, with hyphens or not, stay whole, so that
// they can be copied.
func Wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	blank := func(r rune) bool { return r != '\u00a0' && unicode.IsSpace(r) }
	for _, word := range strings.FieldsFunc(s, blank) {
		word = strings.ReplaceAll(word, "\u00a0", " ")
		for {
			head := piece(word, width)
			n := Width(head)
			if used > 0 && used+1+n <= width && len(head) == len(word) {
				line, used = line+" "+head, used+1+n
				break
			}
			if used > 0 {
				lines = append(lines, line)
			}
			line, used = head, n
			if word = word[len(head):]; word == "" {
				break
			}
		}
	}
	if used > 0 {
		lines = append(lines, line)
	}
	return lines
}

// piece is the part of a word that fits into a line; at least one character.
func piece(word string, width int) string {
	if head := first(word, width); head != "" {
		return head
	}
	_, n := utf8.DecodeRuneInString(word)
	return word[:n]
}
