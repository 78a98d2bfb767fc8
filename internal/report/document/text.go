package document

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Text is a line of words in one or several styles.
type Text []Span

// Span is words in one style. Its link leads to a section ("#results"), a file ("./raw/") or a page of
// the web.
type Span struct {
	Words string
	Style Style
	Link  string
}

// Style is the look of words. Writers use the means they have. A style adds no information to the words,
// except for the sign of a verdict.
type Style int

// The styles of prose, then those of verdicts.
const (
	Plain Style = iota
	Strong
	Muted
	Mono
	Badge // a short remark behind a verdict

	Cost
	Gain
	Equal
	Open
	Invalid
	Mixed
	Rise
	Fall
	Passed
	Failed
)

// signs distinguish verdicts without colour.
var signs = map[Style]string{
	Cost: "▲", Gain: "▼", Equal: "≈", Open: "?", Invalid: "×", Mixed: "◇", Rise: "▲", Fall: "▼",
	Passed: "✓", Failed: "✗",
}

// Sign returns the sign of a verdict's style; "" for other styles.
func (s Style) Sign() string { return signs[s] }

// Verdict reports whether s is the style of a verdict.
func (s Style) Verdict() bool { return s >= Cost }

// Words returns text without a style.
func Words(s string) Text { return Text{{Words: s}} }

// In returns text in a style.
func In(style Style, s string) Text { return Text{{Words: s, Style: style}} }

// Each returns a text for each string.
func Each(list []string) []Text {
	texts := make([]Text, len(list))
	for i, s := range list {
		texts[i] = Words(s)
	}
	return texts
}

// Trimmed returns the words of a span, with the sign of a verdict before them. White space at their ends
// belongs to the sentence around, and is returned as one space before or after.
func (s Span) Trimmed(sign string) (before, words, after string) {
	all := strings.TrimLeft(sign+" ", " ") + s.Words
	words = strings.TrimSpace(all)
	if all != strings.TrimLeftFunc(all, unicode.IsSpace) {
		before = " "
	}
	if words != "" && all != strings.TrimRightFunc(all, unicode.IsSpace) {
		after = " "
	}
	return before, words, after
}

// Address returns the address of a link to a page of the web or to a file nearby. Other links are not
// followed, but shown as text.
func Address(link string) (address string, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme == "" && u.Host != "" || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	return u.String(), true
}

// String returns the words of the text.
func (t Text) String() string {
	s := ""
	for _, span := range t {
		s += span.Words
	}
	return s
}

// Sign returns the sign and the style of the last verdict in the text, if any.
func (t Text) Sign() (string, Style) {
	for _, s := range slices.Backward(t) {
		if sign := s.Style.Sign(); sign != "" {
			return sign, s.Style
		}
	}
	return "", Plain
}

// First returns the words of the first span, such as the name that a title begins with.
func (t Text) First() string {
	if len(t) == 0 {
		return ""
	}
	return t[0].Words
}

// Empty reports whether the text has no words.
func (t Text) Empty() bool { return t.String() == "" }
