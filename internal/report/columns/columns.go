// Package columns measures, shortens, pads and wraps text for the columns of a terminal. A wide character takes two
// columns, a combining mark or an escape sequence none. Widths come from the library
// github.com/clipperhouse/displaywidth.
package columns

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Ellipsis replaces the part of a text that was left out.
const Ellipsis = "…"

var widths = displaywidth.Options{ControlSequences: true}

// Width returns the number of columns that a string takes.
func Width(s string) int { return widths.String(s) }

// first returns the longest prefix of s that fits n columns.
func first(s string, n int) string { return widths.TruncateString(s, n, "") }

// last returns the longest suffix of s that fits n columns.
func last(s string, n int) string {
	over := Width(s) - n
	for g := widths.StringGraphemes(s); over > 0 && g.Next(); {
		s, over = s[len(g.Value()):], over-g.Width()
	}
	return s
}

// Shorten returns s in at most n columns. In a longer s, gap (such as "…") replaces the middle: both ends tell the
// names of arms and cells apart.
func Shorten(s string, n int, gap string) string {
	if Width(s) <= n {
		return s
	}
	room := n - Width(gap)
	if room < 2 {
		return first(s, n)
	}
	tail := room / 2
	return first(s, room-tail) + gap + last(s, tail)
}

// Abbreviate shortens each name to at most n columns. Names whose short forms would be equal keep the part in which the
// names differ.
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
			for !strings.HasPrefix(name, shared) {
				_, size := utf8.DecodeLastRuneInString(shared)
				shared = shared[:len(shared)-size]
			}
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

// Pad adds spaces on the right up to n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Width(s))) }

var quantity = regexp.MustCompile(`([0-9]) (%|[nµm]?s\b|[kMGT]?bit|[KMGT]iB\b)`)

// Tie puts a no-break space between each number and its unit.
func Tie(s string) string {
	if !strings.ContainsAny(s, " ") || !strings.ContainsAny(s, "0123456789") { // saves time: most texts of long tables have no number
		return s
	}
	return quantity.ReplaceAllString(s, "$1\u00a0$2")
}

// Wrap breaks s at spaces into lines of at most width columns. A no-break space breaks no line and becomes an ordinary
// space. Only words longer than a line are broken.
func Wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	blank := func(r rune) bool { return r != '\u00a0' && unicode.IsSpace(r) }
	for _, word := range strings.FieldsFunc(s, blank) {
		word = strings.ReplaceAll(word, "\u00a0", " ")
		for {
			head := first(word, width)
			if head == "" { // the line is narrower than the word's first character
				_, size := utf8.DecodeRuneInString(word)
				head = word[:size]
			}
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
