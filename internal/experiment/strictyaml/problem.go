package strictyaml

import (
	"fmt"
	"strings"
	"unicode"
)

// Problem is one error in a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // counted from 1
	Column  int    `json:"column"` // counted from 1, in characters
	Path    string `json:"path"`   // "arms[1].layers[0].wireguard.implementation"; "" for the whole file
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // the suggested correction
	Source  string `json:"source"`         // the line of the file
}

// Problems are all errors in a file. Its Error prints each problem as file:line:column, the line with a caret
// below the position, and the hint.
type Problems []Problem

// Error prints every problem.
func (p *Problems) Error() string {
	all := make([]string, len(*p))
	for i, problem := range *p {
		all[i] = problem.String()
	}
	return strings.Join(all, "\n")
}

// String prints the problem over several lines, without a newline at the end. It replaces control characters of
// the file, so that these do not reach the terminal.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", printable(p.File), p.Line, p.Column, printable(p.Message))
	if strings.TrimSpace(p.Source) != "" {
		line, caret := excerpt(p.Source, p.Column)
		fmt.Fprintf(&b, "\n    %s\n    %s", line, caret)
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\n    %s", printable(p.Hint))
	}
	return b.String()
}

// Lengths of the excerpt of a long line, in characters.
const (
	excerptWidth  = 100
	excerptBefore = 60
)

// excerpt returns the part of a line around a column, and a line with a caret below that column.
func excerpt(source string, column int) (line, caret string) {
	runes := []rune(printable(source))
	at := min(max(column-1, 0), len(runes))
	prefix, suffix := "", ""
	if from := at - excerptBefore; len(runes) > excerptWidth && from > 0 {
		runes, at, prefix = runes[from:], at-from, "…"
	}
	if len(runes) > excerptWidth {
		runes, suffix = runes[:excerptWidth], "…"
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r // a tab keeps the caret below its character at any tab width
		}
		return ' '
	}, prefix+string(runes[:at]))
	return prefix + string(runes) + suffix, pad + "^"
}

// printable replaces control characters, which would act on a terminal, each by one character.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
