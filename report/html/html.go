// Package html writes documents as one page that needs neither network nor
// scripts. Strings of a document are escaped; only its pictures are markup.
package html

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"

	"tare/report/document"
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
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>`, escape(name), "</title>\n<style>\n", d.Styles, pageCSS, "</style>\n</head>\n<body>\n<main class=\"sheet\">\n<header>\n")
	p.element("h1", span(document.Span{Words: d.Title, Style: d.Style}))
	if d.Lede != "" {
		p.element(`p class="lede"`, escape(d.Lede))
	}
	blocks := document.For(document.Page, d.Blocks)
	head := beforeContents(blocks)
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

// beforeContents is how many blocks stand before the first section.
func beforeContents(list []document.Block) int {
	for i, b := range list {
		if _, ok := b.(document.Section); ok {
			return i
		}
	}
	return len(list)
}

// page is a page under way. Errors stay in the buffered writer until Flush.
type page struct{ out *bufio.Writer }

// put writes markup.
func (p *page) put(markup ...string) {
	for _, s := range markup {
		_, _ = p.out.WriteString(s) // Flush tells
	}
}

// element writes an element, named with its attributes, around markup.
func (p *page) element(tag, markup string) { p.put(around(tag, markup), "\n") }

// contents lists the sections that links lead to.
func (p *page) contents(list []document.Block) {
	begun := false
	for _, b := range list {
		s, ok := b.(document.Section)
		if !ok || s.ID == "" {
			continue
		}
		if !begun {
			p.put(`<nav aria-label="Contents"><ul>`, "\n")
			begun = true
		}
		title := s.Title
		if s.Short != "" {
			title = s.Short
		}
		p.put(`<li><a href="#`, anchor(s.ID), `">`, escape(title), "</a></li>\n")
	}
	if begun {
		p.put("</ul></nav>\n")
	}
}

// blocks writes blocks whose sections have headings of a level.
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
		p.figure(b)
	case document.Pair:
		p.put(`<div class="pair"><div>`, b.Left(), "</div><div>", b.Right(), "</div></div>\n")
	case document.Code:
		p.element("pre", escapeLines(b.Text))
	}
}

// section writes a heading with the blocks below, or blocks that a reader folds.
func (p *page) section(level int, s document.Section) {
	id := ""
	if s.ID != "" {
		id = ` id="` + anchor(s.ID) + `"`
	}
	switch {
	case s.Title == "" || s.Quiet.Has(document.Page):
		p.blocks(level, s.Blocks)
	case s.Fold.Has(document.Page):
		p.put("<details", id)
		if s.Open {
			p.put(" open")
		}
		p.put("><summary>", around("b", escape(s.Title)))
		p.aside(s)
		p.put("</summary>\n")
		p.blocks(level+1, s.Blocks)
		p.put("</details>\n")
	case level == 2:
		p.put("<section", id, ">\n<h2>", escape(s.Title))
		p.aside(s)
		p.put("</h2>\n")
		p.blocks(level+1, s.Blocks)
		p.put("</section>\n")
	default:
		p.put("<h3", id, ">", escape(s.Title))
		p.aside(s)
		p.put("</h3>\n")
		p.blocks(level+1, s.Blocks)
	}
}

// aside is what stands behind the title of a section.
func (p *page) aside(s document.Section) {
	if s.Value != "" {
		p.put(" ", around(`span class="now"`, prose(s.Value)))
	}
	if s.Note != "" {
		p.put(" ", around(`span class="muted"`, prose(s.Note)))
	}
}

func (p *page) list(l document.List) {
	if len(l.Items) == 0 {
		return
	}
	tag := "ul"
	if l.Numbered {
		tag = "ol"
	}
	p.put("<", tag, ">")
	for _, item := range l.Items {
		p.element("li", text(item))
	}
	p.put("</", tag, ">\n")
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
	switch {
	case len(f.List) == 0:
	case f.Look == document.Keyed:
		p.put(`<div class="scroll"><table class="keys"><tbody>`, "\n")
		for _, e := range f.List {
			p.element("tr", around(`th scope="row"`, prose(e.Key))+around("td", prose(e.Value)))
		}
		p.put("</tbody></table></div>\n")
	case f.Look == document.Glance:
		p.put(`<dl class="facts">`, "\n")
		for _, e := range f.List {
			p.element("div", around("dt", prose(e.Key))+around("dd", prose(e.Value)))
		}
		p.put("</dl>\n")
	default:
		p.put(`<dl class="terms">`, "\n")
		for _, e := range f.List {
			p.put(around("dt", prose(e.Key)), around("dd", prose(e.Value)), "\n")
		}
		p.put("</dl>\n")
	}
}

// figure writes a picture for wide and for narrow windows.
func (p *page) figure(f document.Figure) {
	switch {
	case f.Wide == nil:
	case f.Narrow == nil:
		p.element("figure", f.Wide())
	default:
		p.element("figure", around(`div class="wide"`, f.Wide())+around(`div class="narrow"`, f.Narrow()))
	}
}
