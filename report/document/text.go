package document

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Text is a line of words in one style or several.
type Text []Span

// Span is words in one style. With a link it leads somewhere: to a section
// ("#results"), to a file ("./raw/") or to a page of the web.
type Span struct {
	Words string
	Style Style
	Link  string
}

// Style is how words look. Writers show it as they can; no style carries what
// the words do not say, but for the sign of a verdict.
type Style int

// The styles: of prose, then of verdicts.
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

// signs tell verdicts without colour.
var signs = map[Style]string{
	Cost: "▲", Gain: "▼", Equal: "≈", Open: "?", Invalid: "×", Mixed: "◇", Rise: "▲", Fall: "▼",
	Passed: "✓", Failed: "✗",
}

// Sign is the sign of a verdict's style; "" for others.
func (s Style) Sign() string { return signs[s] }

// Verdict says whether s is the style of a verdict.
func (s Style) Verdict() bool { return s >= Cost }

// Words is text without a style.
func Words(s string) Text { return Text{{Words: s}} }

// In is text in a style.
func In(style Style, s string) Text { return Text{{Words: s, Style: style}} }

// Each is a text for each string.
func Each(list []string) []Text {
	texts := make([]Text, len(list))
	for i, s := range list {
		texts[i] = Words(s)
	}
	return texts
}

// Trimmed is the words of a span, behind the sign of a verdict. White space at
// their ends, which belongs to the sentence, is a space before or after them.
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

// Address is where a link leads, if that is a page of the web or a file near this
// one: no other address is more than text.
func Address(link string) (address string, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme == "" && u.Host != "" || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	return u.String(), true
}

// String is the words of the text.
func (t Text) String() string {
	s := ""
	for _, span := range t {
		s += span.Words
	}
	return s
}

// Sign is the sign and the style of the last verdict in the text, if any.
func (t Text) Sign() (string, Style) {
	for _, s := range slices.Backward(t) {
		if sign := s.Style.Sign(); sign != "" {
			return sign, s.Style
		}
	}
	return "", Plain
}

// First is the words of the first span: the name that a title begins with.
func (t Text) First() string {
	if len(t) == 0 {
		return ""
	}
	return t[0].Words
}

// Empty says whether there is nothing to show.
func (t Text) Empty() bool { return t.String() == "" }
