package text

import (
	"regexp"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

// sequences are the ANSI escape sequences of styles. Colours add to words and signs and never replace
// them. No meaning depends on telling red from green.
var sequences = map[document.Style]string{
	document.Strong: "1", document.Muted: "2",
	document.Cost: "1;31", document.Failed: "1;31", document.Gain: "1;36", document.Passed: "1;36",
	document.Open: "33", document.Mixed: "33", document.Rise: "33", document.Fall: "33", document.Invalid: "1;35",
}

// paint applies a style to s if colour is on.
func (t *writer) paint(style document.Style, s string) string {
	if !t.o.Color || sequences[style] == "" || s == "" {
		return s
	}
	return "\x1b[" + sequences[style] + "m" + s + "\x1b[0m"
}

// words returns a text without styles, but with the signs of verdicts.
func words(text document.Text) string {
	var b strings.Builder
	for _, s := range text {
		if sign := s.Style.Sign(); sign != "" {
			b.WriteString(sign + " ")
		}
		if s.Style == document.Badge {
			b.WriteString("(" + s.Words + ")")
		} else {
			b.WriteString(s.Words)
		}
	}
	return b.String()
}

// line is words as one safe line.
func line(text document.Text) string { return safetext.Line(words(text)) }

// verdict matches the sign before a verdict.
var verdict = regexp.MustCompile(`(^| )([▲▼≈?×◇✓✗]) (\pL)`)

// tidy prepares a paragraph for wrapping: numbers keep their units, and signs their verdicts, on one line.
func tidy(s string) string {
	return verdict.ReplaceAllString(columns.Tie(safetext.Line(s)), "$1$2\u00a0$3")
}
