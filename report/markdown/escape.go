package markdown

import (
	"strings"

	"tare/report/document"
	"tare/safetext"
)

// special are the characters that Markdown or HTML could act on anywhere in a
// line, written as themselves.
var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`,
	"!", `\!`, "$", `\$`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

// Escape makes any string inert as one line of Markdown, in a table as well.
func Escape(s string) string { return special.Replace(safetext.Line(s)) }

// joined writes the lines of a cell as one.
func joined(lines []document.Text) string {
	parts := make([]string, len(lines))
	for i, l := range lines {
		parts[i] = text(l)
	}
	return strings.Join(present(parts...), "; ")
}

func text(t document.Text) string {
	var b strings.Builder
	for _, s := range t {
		before, words, after := s.Trimmed(s.Style.Sign())
		b.WriteString(before + marked(s, words) + after)
	}
	return strings.TrimSpace(b.String())
}

// marked is a span's words in its style, with its link.
func marked(s document.Span, words string) string {
	if words == "" {
		return ""
	}
	out := Escape(words)
	switch s.Style {
	case document.Strong:
		out = "**" + out + "**"
	case document.Badge:
		out = "(" + out + ")"
	case document.Muted:
		out = "*" + out + "*"
	}
	if s.Link == "" || strings.HasPrefix(s.Link, "#") {
		return out
	}
	return link(out, s.Link)
}

// link leads to an address; one that may not be followed is written out as text.
func link(label, to string) string {
	address, ok := document.Address(to)
	if !ok {
		return label + ": " + Escape(to)
	}
	safe := strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C", "\n", "", "\r", "").Replace(address)
	return "[" + label + "](<" + safe + ">)"
}
