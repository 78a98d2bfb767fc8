// Package html writes documents as single pages that need no network. Only a page that a server keeps up to date has a
// script. Strings are escaped; only pictures are markup.
package html

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

//go:embed page.css
var pageCSS string

// Write writes a document as a page.
func Write(w io.Writer, d *document.Document) error {
	p := &page{out: bufio.NewWriterSize(w, 1<<16)}
	name := d.Title
	if d.About != "" {
		name += " – " + d.About
	}
	policy, live := "default-src 'none'; style-src 'unsafe-inline'", ""
	if d.Live != nil {
		policy += "; script-src 'self'; connect-src 'self'"
		live = `<script src="` + escape(d.Live.Script) + `" data-events="` + escape(d.Live.Events) + `" defer></script>
<noscript><meta http-equiv="refresh" content="5"></noscript>
`
	}
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="`, policy, `">
<meta name="color-scheme" content="light dark">
<title>`, escape(name), "</title>\n", live, "<style>\n", d.Styles, pageCSS, "</style>\n</head>\n<body>\n<main class=\"sheet\">\n<header>\n")
	p.element("h1", span(document.Span{Words: d.Title, Style: d.Style}))
	if d.Lede != "" {
		p.element(`p class="lede"`, escape(d.Lede))
	}
	blocks := document.For(document.Page, d.Blocks)
	head := slices.IndexFunc(blocks, func(b document.Block) bool {
		s, ok := b.(document.Section)
		return ok && s.ID != ""
	})
	if head < 0 {
		head = len(blocks)
	}
	p.blocks(2, blocks[:head])
	p.contents(blocks[head:])
	p.put("</header>\n")
	p.blocks(2, blocks[head:])
	if d.Footer != "" {
		p.element("footer", escape(d.Footer))
	}
	p.put("</main>\n</body>\n</html>\n")
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// page writes one page. An error of a write is returned only by Flush.
type page struct{ out *bufio.Writer }

func (p *page) put(markup ...string) {
	for _, s := range markup {
		_, _ = p.out.WriteString(s) // the final Flush returns the error
	}
}

func (p *page) element(tag, markup string) { p.put(around(tag, markup), "\n") }

func (p *page) contents(list []document.Block) {
	items := ""
	for _, b := range list {
		if s, ok := b.(document.Section); ok && s.ID != "" {
			items += around("li", around(`a href="#`+anchor(s.ID)+`"`, escape(cmp.Or(s.Short, s.Title)))) + "\n"
		}
	}
	if items != "" {
		p.put(`<nav aria-label="Contents"><ul>`, "\n", items, "</ul></nav>\n")
	}
}

func (p *page) blocks(level int, list []document.Block) {
	for _, b := range document.For(document.Page, list) {
		p.block(level, b)
	}
}

func (p *page) block(level int, b document.Block) {
	switch b := b.(type) {
	case document.Section:
		p.section(level, b)
	case document.Paragraph:
		tag := "p"
		if len(b.Text) == 1 && b.Text[0].Style == document.Muted {
			tag = `p class="note"`
		}
		p.element(tag, text(b.Text))
	case document.List:
		p.list(b)
	case document.Alert:
		p.put(`<div class="alert">`, around("p", around("b", prose(b.Title))))
		p.list(document.List{Items: b.Items})
		p.put("</div>\n")
	case document.Answers:
		p.answers(b)
	case document.Facts:
		p.facts(b)
	case document.Table:
		p.table(b)
	case document.Figure:
		p.element("figure", around(`div class="wide"`, b.Wide())+around(`div class="narrow"`, b.Narrow()))
	case document.Pair:
		p.put(`<div class="pair"><div>`, b.Left(), "</div><div>", b.Right(), "</div></div>\n")
	case document.Code:
		p.element("pre", html.EscapeString(safetext.Lines(b.Text)))
	}
}

func (p *page) section(level int, s document.Section) {
	id := ""
	if s.ID != "" {
		id = ` id="` + anchor(s.ID) + `"`
	}
	if s.ScreenOnly {
		id += ` class="screen"`
	}
	switch {
	case s.Title == "" || s.NoTitle.Has(document.Page):
		p.blocks(level, s.Blocks)
	case s.Fold.Has(document.Page):
		if s.Open {
			id += " open"
		}
		p.put("<details", id, "><summary>", around("b", escape(s.Title)), aside(s), "</summary>\n")
		p.blocks(level+1, s.Blocks)
		p.put("</details>\n")
	case level == 2:
		p.put("<section", id, ">\n<h2>", escape(s.Title), aside(s), "</h2>\n")
		p.blocks(level+1, s.Blocks)
		p.put("</section>\n")
	default:
		p.put("<h3", id, ">", escape(s.Title), aside(s), "</h3>\n")
		p.blocks(level+1, s.Blocks)
	}
}

func aside(s document.Section) string {
	markup := ""
	if s.Value != "" {
		markup += " " + around(`span class="now"`, prose(s.Value))
	}
	if s.Note != "" {
		markup += " " + around(`span class="muted"`, prose(s.Note))
	}
	return markup
}

func (p *page) list(l document.List) {
	if len(l.Items) == 0 {
		return
	}
	tag, items := "ul", ""
	if l.Numbered {
		tag = "ol"
	}
	for _, item := range l.Items {
		items += around("li", text(item)) + "\n"
	}
	p.element(tag, items)
}

func (p *page) answers(a document.Answers) {
	p.put(`<ul class="answers">`, "\n")
	for _, one := range a.List {
		p.put("<li>", around("span", text(one.Verdict)), "<span>", text(one.Text))
		for _, cause := range one.Causes {
			p.put(around(`span class="cause"`, prose(cause)))
		}
		p.put("</span></li>\n")
	}
	p.put("</ul>\n")
}

func (p *page) facts(f document.Facts) {
	if len(f.List) == 0 {
		return
	}
	var key, value, entry, before, after string
	switch f.Look {
	case document.Keyed:
		key, value, entry = `th scope="row"`, "td", "tr"
		before, after = `<div class="scroll"><table class="keys"><tbody>`, "</tbody></table></div>"
	case document.Glance:
		key, value, entry = "dt", "dd", "div"
		before, after = `<dl class="facts">`, "</dl>"
	case document.Terms:
		key, value = "dt", "dd"
		before, after = `<dl class="terms">`, "</dl>"
	}
	p.put(before, "\n")
	for _, e := range f.List {
		markup := around(key, prose(e.Key)) + around(value, prose(e.Value))
		if entry != "" {
			markup = around(entry, markup)
		}
		p.put(markup, "\n")
	}
	p.put(after, "\n")
}

// escape makes any string safe as text or as the value of an attribute.
func escape(s string) string { return html.EscapeString(safetext.Line(s)) }

// around puts markup into an element. The tag may have attributes.
func around(tag, markup string) string {
	name, _, _ := strings.Cut(tag, " ")
	return "<" + tag + ">" + markup + "</" + name + ">"
}

var flag = regexp.MustCompile(`--[a-z]+(?:-[a-z]+)*`)

// prose escapes a string, and keeps quantities and command line flags on one line.
func prose(s string) string {
	s = columns.Tie(escape(s))
	if !strings.Contains(s, "--") {
		return s
	}
	return flag.ReplaceAllString(s, `<code class="flag">$0</code>`)
}

// classes maps the styles of verdicts to CSS classes. The style sheet adds the signs of verdicts.
var classes = map[document.Style]string{document.Cost: "costs", document.Gain: "gains", document.Equal: "equivalent",
	document.Open: "not-resolved", document.Invalid: "invalid", document.Mixed: "mixed", document.Rise: "rise", document.Fall: "fall", document.Passed: "passed", document.Failed: "failed"}

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

var notAnchor = regexp.MustCompile(`[^a-z0-9-]`)

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
