package report

import (
	"strings"

	"tare/analysis"
	"tare/wording"
)

// ANSI styles of terminal text. Colours add to words and signs, never replace
// them, and do not rely on telling red from green.
const (
	bold  = "1"
	faint = "2"
	reset = "\x1b[0m"
)

// verdictStyle is the style of a verdict: red, cyan, plain, yellow, magenta.
func verdictStyle(v analysis.Verdict) string {
	switch v {
	case analysis.Costs:
		return "1;31"
	case analysis.Gains:
		return "1;36"
	case analysis.NotResolved:
		return "33"
	case analysis.Invalid:
		return "1;35"
	}
	return ""
}

// style wraps s in a style if colour is on.
func (t *terminal) style(style, s string) string {
	if !t.o.Color || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + reset
}

// toASCII spells what the report itself writes beyond ASCII.
var toASCII = strings.NewReplacer(
	"─", "-", "┼", "|", "│", "|", "┊", ":", "├", "[", "┤", "]", "●", "o", "○", "o",
	wording.MinusSign, "-", wording.Missing, "-", "±", "+/-", "…", "~", "µ", "u", "▲", "+", "▼", "-", "→", ">", "≈", "=", "×", "x",
)

// ascii spells s in ASCII; other characters become a question mark.
func ascii(s string) string {
	s = toASCII.Replace(s)
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, s)
}
