// Package hinttest does what the hint of a problem says, so that tests can show that it helps.
package hinttest

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	instead = regexp.MustCompile(`(?:did you mean (.+?)\?)|(?:write it in brackets: (.+)$)`)
	token   = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\]}#\n]+)`)
	key     = regexp.MustCompile(`^[^:,\]}#\n]+`)
)

// Follow replaces what stands at a place of a text, of which lines and columns count from 1, by what
// a hint says to write there, and gives what stood there. The hint is of a key or of a value. It gives ""
// where the hint does not say what to write.
func Follow(text string, line, column int, hint string, ofKey bool) (followed, was string) {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return "", ""
	}
	source := []rune(lines[line-1])
	if column > len(source) {
		return "", ""
	}
	before, rest := string(source[:column-1]), string(source[column-1:])
	was = token.FindString(rest)
	if ofKey {
		was = key.FindString(rest)
	}
	was = strings.TrimRight(was, " \t\r")
	var write string
	switch m := instead.FindStringSubmatch(hint); {
	case was == "":
		return "", ""
	case m != nil:
		write = m[1] + m[2]
	case strings.HasPrefix(hint, "write it in quotes"):
		write = strconv.Quote(was)
	case strings.HasPrefix(hint, "write it without quotes"):
		write = strings.Trim(was, `"'`)
	default:
		return "", ""
	}
	lines[line-1] = before + write + strings.TrimPrefix(rest, was)
	return strings.Join(lines, "\n"), was
}
