package html

import (
	"html"
	"regexp"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

// escape makes any string safe as text or as the value of an attribute.
func escape(s string) string { return html.EscapeString(safetext.Line(s)) }

// escapeLines is escape for text whose line breaks are kept.
func escapeLines(s string) string { return html.EscapeString(safetext.Lines(s)) }

// around puts markup into an element. The tag may have attributes.
func around(tag, markup string) string {
	name, _, _ := strings.Cut(tag, " ")
	return "<" + tag + ">" + markup + "</" + name + ">"
}

// flag matches command line flags.
var flag = regexp.MustCompile(`--[a-z]+(?:-[a-z]+)*`)

// prose escapes a string and keeps lines from breaking between a number and its unit, or within a command
// line flag.
func prose(s string) string {
	s = columns.Tie(escape(s))
	if !strings.Contains(s, "--") {
		return s
	}
	return flag.ReplaceAllString(s, `<code class="flag">$0</code>`)
}

// classes are the CSS classes of verdicts. The style sheet adds their signs.
var classes = map[document.Style]string{document.Cost: "costs", document.Gain: "gains", document.Equal: "equivalent",
	document.Open: "not-resolved", document.Invalid: "invalid", document.Mixed: "mixed", document.Rise: "rise", document.Fall: "fall", document.Passed: "passed", document.Failed: "failed"}

// text returns styled words as markup.
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

// notAnchor matches characters that an anchor must not contain.
var notAnchor = regexp.MustCompile(`[^a-z0-9-]`)

// anchor converts a section's ID to the fragment of an address.
func anchor(id string) string { return notAnchor.ReplaceAllString(strings.ToLower(id), "-") }

// link links markup to a section, a file nearby, or a page of the web. Any other address is added as text.
func link(markup, to string) string {
	if id, ok := strings.CutPrefix(to, "#"); ok {
		return around(`a href="#`+anchor(id)+`"`, markup)
	}
	if address, ok := document.Address(to); ok {
		return around(`a href="`+html.EscapeString(address)+`"`, markup)
	}
	return markup + ": " + escape(to)
}
