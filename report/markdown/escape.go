package markdown

import (
	"strings"

	"tare/report/document"
	"tare/safetext"
)

// special escapes the characters that have a meaning in Markdown or HTML anywhere in a line.
var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`,
	"!", `\!`, "$", `\$`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

// Escape makes any string inert as one line of Markdown, also within a table.
func Escape(s string) string { return special.Replace(safetext.Line(s)) }

// joined writes the lines of a cell as one line.
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

// marked writes a span's words in its style, with its link.
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

// link links a label to an address. An address that must not be followed is added as text.
func link(label, to string) string {
	address, ok := document.Address(to)
	if !ok {
		return label + ": " + Escape(to)
	}
	safe := strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C", "\n", "", "\r", "").Replace(address)
	return "[" + label + "](<" + safe + ">)"
}
