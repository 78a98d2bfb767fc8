package markdown

import (
	"net/url"
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
	var parts []string
	for _, l := range lines {
		if s := text(l); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

// text writes words in their styles.
func text(t document.Text) string {
	var b strings.Builder
	for _, s := range t {
		words := s.Words
		if sign := s.Style.Sign(); sign != "" {
			words = sign + " " + words
		}
		// Escape trims; a space at either end belongs to the sentence.
		inner := strings.TrimSpace(words)
		before, after, _ := strings.Cut(words, inner)
		if inner == "" {
			before, after = words, ""
		}
		b.WriteString(spaced(before) + marked(s, inner) + spaced(after))
	}
	return strings.TrimSpace(b.String())
}

// spaced is a single space for white space.
func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " "
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

// link is a link to a page of the web or a file below this one; any other
// address is written out as text.
func link(label, to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" || u.Scheme == "" && u.Host != "" {
		return label + ": " + Escape(to)
	}
	safe := strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C", "\n", "", "\r", "").Replace(u.String())
	return "[" + label + "](<" + safe + ">)"
}
