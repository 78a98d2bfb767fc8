// Package text writes documents for terminals, wrapped to a width, in colour if wanted.
package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/text/safetext"
)

// Options sets the layout of text.
type Options struct {
	Width int  // width of a line in columns; 0 stands for 80, and numbers below 40 for 40
	Color bool // colour with ANSI sequences
}

// Write writes a document for a terminal.
func Write(w io.Writer, d *document.Document, o Options) error {
	o.Width = cmp.Or(o.Width, 80)
	o.Width = max(o.Width, 40)
	t := &writer{out: bufio.NewWriter(w), o: o}
	t.title(d)
	if d.Lede != "" {
		t.para("", d.Lede)
	}
	t.blocks("", d.Blocks)
	if err := t.out.Flush(); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// writer writes one document. An error of a write is returned only by Flush.
type writer struct {
	out   *bufio.Writer
	o     Options
	begun bool // a line has been written
}

func (t *writer) line(s string) {
	_, _ = t.out.WriteString(strings.TrimRight(s, " ") + "\n") // the bufio.Writer keeps the error until Flush returns it
	t.begun = true
}

func (t *writer) gap() {
	if t.begun {
		t.line("")
	}
}

// hanging writes wrapped text. Its first line begins with the prefix first, and every other line with the prefix
// indent.
func (t *writer) hanging(first, indent, s string) {
	for _, l := range columns.Wrap(s, t.o.Width-columns.Width(indent)) {
		t.line(first + l)
		first = indent
	}
}

func (t *writer) para(indent, s string) { t.hanging(indent, indent, tidy(s)) }

func (t *writer) item(indent, bullet, s string) {
	t.hanging(indent+bullet, indent+strings.Repeat(" ", columns.Width(bullet)), tidy(s))
}

func (t *writer) title(d *document.Document) {
	sign := d.Style.Sign()
	if sign == "" {
		t.heading("", d.Title)
		return
	}
	for _, l := range columns.Wrap(tidy(d.Title), t.o.Width-2) {
		t.line(t.paint(d.Style, sign+" "+l))
		sign = " "
	}
}

func (t *writer) heading(indent, s string) { t.styled(document.Strong, indent, s) }

// styled writes a paragraph in one style, line by line, so that no style crosses the end of a line.
func (t *writer) styled(style document.Style, indent, s string) {
	for _, l := range columns.Wrap(tidy(s), t.o.Width-columns.Width(indent)) {
		t.line(indent + t.paint(style, l))
	}
}

// blocks writes blocks, one below the other. An empty line separates two tables that follow each other.
func (t *writer) blocks(indent string, list []document.Block) {
	after := false
	for _, b := range document.For(document.Terminal, list) {
		_, table := b.(document.Table)
		if table && after {
			t.gap()
		}
		t.block(indent, b)
		after = table
	}
}

func (t *writer) block(indent string, b document.Block) {
	switch b := b.(type) {
	case document.Section:
		t.section(indent, b)
	case document.Paragraph:
		if len(b.Text) == 1 {
			t.styled(b.Text[0].Style, indent, words(b.Text))
		} else {
			t.para(indent, words(b.Text))
		}
	case document.List:
		t.list(indent, b)
	case document.Alert:
		t.gap()
		t.styled(cmp.Or(b.Style, document.Strong), indent, b.Title)
		t.list(indent, document.List{Items: b.Items})
	case document.Answers:
		t.answers(indent, b)
	case document.Facts:
		t.facts(indent, b)
	case document.Table:
		t.table(indent, b)
	case document.Figure:
		if b.Plot != nil {
			for _, l := range b.Plot(t.o.Width - len(indent)) {
				t.line(indent + l)
			}
		}
	case document.Code:
		for l := range strings.Lines(safetext.Lines(b.Text)) {
			t.line(indent + "  " + strings.TrimSuffix(l, "\n"))
		}
	case document.Pair: // a terminal cannot show pictures
	}
}

func (t *writer) section(indent string, s document.Section) {
	below := indent + "  "
	switch {
	case s.NoTitle.Has(document.Terminal):
		below = indent
	case s.Title == "":
		t.gap()
		below = indent
	case s.Value != "":
		t.valued(indent, s)
		if s.Note != "" {
			t.para(below, s.Note)
		}
	default:
		t.gap()
		t.noted(indent, s)
	}
	if s.Flush {
		below = indent
	}
	t.blocks(below, s.Blocks)
}

func (t *writer) noted(indent string, s document.Section) {
	title, note := safetext.Line(s.Title), "("+safetext.Line(s.Note)+")"
	switch {
	case s.Note == "":
		t.heading(indent, title)
	case len(indent)+columns.Width(title)+1+columns.Width(note) <= t.o.Width:
		t.line(indent + t.paint(document.Strong, title) + " " + note)
	default:
		t.heading(indent, title)
		t.para(indent, note)
	}
}

func (t *writer) valued(indent string, s document.Section) {
	title, value, room := safetext.Line(s.Title), safetext.Line(s.Value), t.o.Width-len(indent)
	if left := room - 2 - columns.Width(value); left >= 20 {
		t.line(indent + columns.Pad(columns.Shorten(title, left, columns.Ellipsis), left) + "  " + value)
		return
	}
	t.line(indent + columns.Shorten(title, room, columns.Ellipsis))
	t.para(indent+"  ", value)
}

func (t *writer) list(indent string, l document.List) {
	indent = cmp.Or(indent, "  ")
	for i, text := range l.Items {
		if l.Most > 0 && i == l.Most {
			t.item(indent, "- ", fmt.Sprintf("and %d more", len(l.Items)-i))
			return
		}
		bullet := "- "
		if l.Numbered {
			bullet = fmt.Sprintf("%d  ", i+1)
		}
		t.item(indent, bullet, words(text))
	}
}

func (t *writer) answers(indent string, a document.Answers) {
	for _, one := range a.List {
		sign, style := one.Verdict.Sign()
		t.hanging(indent+t.paint(style, cmp.Or(sign, " "))+" ", indent+"  ", tidy(words(one.Text)))
		for _, cause := range one.Causes {
			t.para(indent+"  ", cause)
		}
	}
}

func (t *writer) facts(indent string, f document.Facts) {
	width := 0
	for _, e := range f.List {
		if n := columns.Width(safetext.Line(e.Key)); n <= t.o.Width/3 {
			width = max(width, n)
		}
	}
	for _, e := range f.List {
		if f.Look == document.Terms {
			t.item(indent, "- ", e.Key+": "+e.Value)
		} else {
			t.fact(indent, columns.Pad(safetext.Line(e.Key), width), e.Value)
		}
	}
}

// fact writes a value behind its key. Below a long key, the value has lines of its own.
func (t *writer) fact(indent, key, value string) {
	first := indent + key + "  "
	if columns.Width(first) <= t.o.Width/2 {
		t.hanging(first, strings.Repeat(" ", columns.Width(first)), tidy(value))
		return
	}
	t.hanging(indent, indent, key)
	t.para(indent+"  ", value)
}

// sequences are the ANSI escape sequences of styles. Colours never replace words and signs, so that readers need not
// tell red from green.
var sequences = map[document.Style]string{
	document.Strong: "1", document.Muted: "2",
	document.Cost: "1;31", document.Failed: "1;31", document.Gain: "1;36", document.Passed: "1;36",
	document.Open: "33", document.Mixed: "33", document.Rise: "33", document.Fall: "33", document.Invalid: "1;35",
}

func (t *writer) paint(style document.Style, s string) string {
	if !t.o.Color || sequences[style] == "" || s == "" {
		return s
	}
	return "\x1b[" + sequences[style] + "m" + s + "\x1b[0m"
}

// words returns a text without styles. The signs of verdicts stay.
func words(text document.Text) string {
	var b strings.Builder
	for _, s := range text {
		if sign := s.Style.Sign(); sign != "" {
			b.WriteString(sign + " ")
		}
		if s.Style == document.Badge {
			b.WriteString("(" + s.Words + ")")
		} else {
			b.WriteString(s.Words)
		}
	}
	return b.String()
}

// line returns the words of a text as one safe line.
func line(text document.Text) string { return safetext.Line(words(text)) }

// verdict matches the sign before a verdict.
var verdict = regexp.MustCompile(`(^| )([▲▼≈?×◇✓✗]) (\pL)`)

// tidy prepares a paragraph for wrapping. A number and its unit stay on one line, and so do a sign and its verdict.
func tidy(s string) string {
	return verdict.ReplaceAllString(columns.Tie(safetext.Line(s)), "$1$2\u00a0$3")
}
