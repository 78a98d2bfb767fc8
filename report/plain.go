package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tare/safetext"
)

// plain makes one line of safe text from any string. The result still has to be
// escaped for its format.
func plain(s string) string { return safetext.Line(s) }

// cells is how many columns of a terminal a string takes: none for combining
// marks, two for East Asian wide characters, otherwise one.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3,
		r >= 0xF900 && r <= 0xFAFF, r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60,
		r >= 0xFFE0 && r <= 0xFFE6, r >= 0x1F300 && r <= 0x1FAFF, r >= 0x20000 && r <= 0x3FFFD:
		return 2
	}
	return 1
}

// ellipsis stands for what was left out.
const ellipsis = "…"

// shorten cuts s to at most n columns by leaving out its middle, since names of
// arms and cells differ at both ends.
func shorten(s string, n int, mark string) string {
	if cells(s) <= n {
		return s
	}
	room := n - cells(mark)
	if room < 2 {
		return takeCells(s, n)
	}
	tail := room / 2
	return takeCells(s, room-tail) + mark + dropCells(s, tail)
}

// abbreviate shortens names to n columns so that they stay distinct: names that
// would read the same keep the part in which they differ.
func abbreviate(names []string, n int) map[string]string {
	out, taken := map[string]string{}, map[string][]string{}
	for _, name := range names {
		if _, ok := out[name]; !ok {
			out[name] = shorten(plain(name), n, ellipsis)
			taken[out[name]] = append(taken[out[name]], name)
		}
	}
	for short, same := range taken {
		if len(same) < 2 || cells(plain(same[0])) <= n {
			continue
		}
		shared := plain(same[0])
		for _, name := range same[1:] {
			shared = commonPrefix(shared, plain(name))
		}
		head := takeCells(short, n/3)
		for _, name := range same {
			rest := plain(name)[len(shared):]
			lead := min(max(n-cells(head)-cells(ellipsis)-cells(rest), 2), n/3)
			out[name] = takeCells(head+ellipsis+dropCells(shared, lead)+rest, n)
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

// takeCells gives the longest prefix of s within n columns.
func takeCells(s string, n int) string {
	for i, r := range s {
		n -= runeCells(r)
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// dropCells gives the longest suffix of s within n columns.
func dropCells(s string, n int) string {
	i := len(s)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		n -= runeCells(r)
		if n < 0 {
			break
		}
		i -= size
	}
	return s[i:]
}

// pad fills s with spaces to n columns, on the right.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-cells(s)))
}

// padLeft fills s with spaces to n columns, on the left.
func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(0, n-cells(s))) + s
}

// brief is plain for texts that may be of any length, such as what a tool wrote:
// the middle of a very long one is left out.
func brief(s string) string { return shorten(plain(s), 600, " … ") }

// wrap breaks s at spaces into lines of at most width columns, but not between a
// number and its unit. Words longer
// than a line are broken where they must be.
func wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	blank := func(r rune) bool { return r != '\u00a0' && unicode.IsSpace(r) }
	for _, word := range strings.FieldsFunc(tie(s), blank) {
		word = strings.ReplaceAll(word, "\u00a0", " ")
		for {
			head := takeCells(word, width)
			n := cells(head)
			if used > 0 && used+1+n <= width && len(head) == len(word) {
				line, used = line+" "+head, used+1+n
				break
			}
			if used > 0 {
				lines = append(lines, line)
			}
			line, used = head, n
			word = word[len(head):]
			if word == "" {
				break
			}
		}
	}
	if used > 0 {
		lines = append(lines, line)
	}
	return lines
}
