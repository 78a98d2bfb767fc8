package html

import (
	"html"
	"regexp"
	"strings"

	"tare/report/columns"
	"tare/report/document"
	"tare/safetext"
)

// escape makes any string safe as text or as the value of an attribute.
func escape(s string) string { return html.EscapeString(safetext.Line(s)) }

// escapeLines is escape for text whose lines stay as they are.
func escapeLines(s string) string { return html.EscapeString(safetext.Lines(s)) }

// around is an element, named with its attributes, around markup.
func around(tag, markup string) string {
	name, _, _ := strings.Cut(tag, " ")
	return "<" + tag + ">" + markup + "</" + name + ">"
}

// flag finds flags of the command line.
var flag = regexp.MustCompile(`--[a-z]+(?:-[a-z]+)*`)

// prose is a string in which a line breaks neither between a number and its unit
// nor within a flag of the command line.
func prose(s string) string {
	s = columns.Tie(escape(s))
	if !strings.Contains(s, "--") {
		return s
	}
	return flag.ReplaceAllString(s, `<code class="flag">$0</code>`)
}

// classes are the styles of verdicts. Their signs are in the style sheet.
var classes = map[document.Style]string{document.Cost: "costs", document.Gain: "gains", document.Equal: "equivalent",
	document.Open: "not-resolved", document.Invalid: "invalid", document.Mixed: "mixed", document.Rise: "rise", document.Fall: "fall", document.Passed: "passed", document.Failed: "failed"}

// text is words in their styles, as markup.
func text(t document.Text) string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(span(s))
	}
	return b.String()
}

func span(s document.Span) string {
	before, words, after := s.Trimmed("")
	if words == "" {
		return before
	}
	markup := prose(words)
	switch {
	case s.Style == document.Strong:
		markup = around("b", markup)
	case s.Style == document.Muted:
		markup = around(`span class="muted"`, markup)
	case s.Style == document.Mono:
		markup = around("code", escape(words))
	case s.Style == document.Badge:
		markup = around(`span class="obs"`, markup)
	case s.Style.Verdict():
		markup = around(`span class="v v-`+classes[s.Style]+`"`, markup)
	}
	if s.Link != "" {
		markup = link(markup, s.Link)
	}
	return before + markup + after
}

// notAnchor are characters that have no place in the name of a section.
var notAnchor = regexp.MustCompile(`[^a-z0-9-]`)

// anchor is a section's name as part of an address.
func anchor(id string) string { return notAnchor.ReplaceAllString(strings.ToLower(id), "-") }

// link leads to a section, a file near the page, or a page of the web. Any other
// address is written out as text.
func link(markup, to string) string {
	if id, ok := strings.CutPrefix(to, "#"); ok {
		return around(`a href="#`+anchor(id)+`"`, markup)
	}
	if address, ok := document.Address(to); ok {
		return around(`a href="`+html.EscapeString(address)+`"`, markup)
	}
	return markup + ": " + escape(to)
}
