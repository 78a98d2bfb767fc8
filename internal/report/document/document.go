// Package document describes the content of an output before the output form (terminal, Markdown or page) is chosen:
// headings, paragraphs, tables, pictures. Package report builds a Document. The packages text, markdown, html and tex
// write the Document.
//
// Strings in a document come from users, tools and machines. All writers show them as text, whatever they contain. Only
// an SVG is markup.
//
// A terminal has less room than a page. An Only holds blocks for some forms. A Column names the forms that show it.
package document

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Document is a page, or the output of a command on a terminal.
type Document struct {
	Title  string
	Style  Style  // style of the title; a verdict's style also puts the verdict's sign before the title
	About  string // text that follows the title in the title bar of a browser's window
	Lede   string // line below the title
	Level  int    // heading level of the title in Markdown; 0: level 1
	Blocks []Block
	Footer string // text at the foot of a page
	Styles string // style sheet of the pictures, with the page's colours
	Live   *Live  // addresses that keep the page up to date; nil: the page never changes
}

// Live holds the addresses that keep a server's page up to date. The script reloads the content after each change.
// Browsers without scripts reload every few seconds.
type Live struct{ Script, Events string } // addresses of the script and of the server's events

// Forms is a set of output forms: terminal, Markdown, page.
type Forms uint8

// The output forms. Each writer shows the blocks of its form: package text of Terminal, html of Page, markdown and tex
// of Markdown.
const (
	Terminal Forms = 1 << iota
	Markdown
	Page
	NoForm // no writer shows a block or column of this form
)

// Has reports whether the set contains form.
func (f Forms) Has(form Forms) bool { return f&form != 0 }

// Block is a part of a document: a Section, Only, Paragraph, List, Alert, Answers, Facts, Table, Figure,
// Pair or Code.
type Block interface{ block() }

// Section is a list of blocks under a title. A section without a title only sets its blocks apart from the blocks
// before it.
type Section struct {
	ID    string // target of links within the page; "": none
	Title string
	Short string // title in a list of contents; "": Title
	// Value is the section's result in short, and Note is a remark. Both stand after the title.
	Value, Note string
	NoTitle     Forms // output forms that show the section's blocks without its title; zero: none
	Flush       bool  // a terminal does not indent the blocks below the title
	Fold        Forms // forms in which the reader can fold the section; zero: none
	Open        bool  // a section with Fold starts unfolded
	ScreenOnly  bool  // a page omits the section when printed
	Blocks      []Block
}

// Folded returns a section that a page shows only when the reader unfolds it.
func Folded(title string, blocks ...Block) Section {
	return Section{Title: title, Fold: Page, Blocks: blocks}
}

// Only holds blocks that only some output forms show.
type Only struct {
	In     Forms
	Blocks []Block
}

// On returns blocks that only the given output forms show.
func On(in Forms, blocks ...Block) Only { return Only{In: in, Blocks: blocks} }

// If returns blocks for every form with ok = true, and no blocks with ok = false.
func If(ok bool, blocks ...Block) Only {
	if !ok {
		return Only{}
	}
	return On(Terminal|Markdown|Page, blocks...)
}

// Paragraph is a paragraph of text.
type Paragraph struct{ Text Text }

// Say returns a paragraph without a style.
func Say(words string) Paragraph { return Paragraph{Text: Words(words)} }

// SayIf returns a paragraph with ok = true, and nothing with ok = false.
func SayIf(ok bool, words string) Only { return If(ok, Say(words)) }

// Note returns a paragraph in muted style.
func Note(words string) Paragraph { return Paragraph{Text: In(Muted, words)} }

// List is items, one below the other.
type List struct {
	Items    []Text
	Numbered bool
	Most     int // largest number of items on a terminal; 0: all
}

// Alert warns the reader before the rest of the document. Its title may have a list of items below.
type Alert struct {
	Title string
	Style Style
	Items []Text
}

// Answers lists results in sentences, each with its verdict.
type Answers struct{ List []Answer }

// Answer is one result in a sentence. A page lists the possible causes of a change below the sentence.
type Answer struct {
	Verdict Text
	Text    Text
	Causes  []string
}

// Facts are keys with values.
type Facts struct {
	Look factsLook
	List []Fact
}

type factsLook int

// Keyed shows a row for each key. Glance shows all values in one row at the top of a page. Terms lists words
// with their explanations.
const (
	Keyed factsLook = iota
	Glance
	Terms
)

// Fact is a key with its value.
type Fact struct{ Key, Value string }

// Code is text whose line breaks are kept.
type Code struct{ Text string }

// picture returns an SVG as markup, in which all text is escaped. As a function, it draws only when a page needs the
// picture.
type picture func() string

// Figure is a picture in two sizes, for wide and for narrow pages. Both fields, Wide and Narrow, must be set.
type Figure struct {
	Wide, Narrow picture
	// Plot draws the figure for a terminal as lines of at most width columns; nil: a terminal omits the figure.
	Plot func(width int) []string
}

// Pair is two pictures beside each other.
type Pair struct{ Left, Right picture }

func (Section) block()   {}
func (Only) block()      {}
func (Paragraph) block() {}
func (List) block()      {}
func (Alert) block()     {}
func (Answers) block()   {}
func (Facts) block()     {}
func (Code) block()      {}
func (Figure) block()    {}
func (Pair) block()      {}
func (Table) block()     {}

// For returns the blocks that an output form shows, such as a page or a terminal.
func For(form Forms, blocks []Block) []Block {
	var list []Block
	for _, b := range blocks {
		if only, ok := b.(Only); !ok {
			list = append(list, b)
		} else if only.In.Has(form) {
			list = append(list, For(form, only.Blocks)...)
		}
	}
	return list
}

// Add adds blocks to a document.
func (d *Document) Add(blocks ...Block) *Document {
	d.Blocks = append(d.Blocks, blocks...)
	return d
}

// Text is a line of words in one or several styles.
type Text []Span

// Span is words in one style. Link leads to a section ("#results"), a file ("./raw/") or a page of the web.
type Span struct {
	Words string
	Style Style
	Link  string
}

// Style is the look of words, by the means of a form, such as colour or bold type. A style adds no information, except
// the sign of a verdict.
type Style int

// The styles from Plain to Badge are for prose. The styles from Cost to Failed are for verdicts.
const (
	Plain Style = iota
	Strong
	Muted
	Mono
	Badge // style of a short remark after a verdict, such as "obs."

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

// Words returns a text with the words s, without a style.
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

// Trimmed returns the words of a span without outer white space, after the sign of a verdict, such as "▲". Where white
// space was removed, before or after is " ", which a writer puts outside the markup.
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

// Address returns the address of a link to a page of the web or to a file nearby. For any other link, ok is false, and
// writers show the link as text.
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

// Sign returns the sign and the style of the last verdict in the text. Without a verdict, it returns "" and Plain.
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
