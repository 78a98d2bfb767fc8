// Package hinttest applies the hint of a problem to a file, so that tests can check that the hint helps.
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

// Follow applies a hint to text, at a line and column from 1. It returns the new text and the replaced part; "":
// nothing was suggested. ofKey: the hint is about a key.
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
