// Package document is what a view of a result says, before anybody knows how it
// is shown: headings, paragraphs, tables, pictures. A view builds one Document;
// the writers in report/text, report/markdown and report/html render any.
//
// Strings in a document come from users, tools and machines. They are shown as
// text by every writer, whatever they hold; only an SVG is markup.
//
// A terminal has less room than a page. What is not for every form stands in an
// Only, or in a Column that names its forms.
package document

// Document is one page, or one answer on a terminal.
type Document struct {
	Title  string
	Style  Style  // of the title: that of a verdict puts its sign before it
	About  string // follows the title in the name of a page's window
	Lede   string // a line below the title
	Level  int    // of the title's heading in Markdown; 0: 1
	Blocks []Block
	Footer string // at the foot of a page
	Styles string // the style sheet of the pictures, with the colours of the page
	Live   *Live  // keeps the page up to date; nil: it stays as it is
}

// Live is how a page that a server makes is kept up to date: a script takes the page anew
// whenever the server says that it has changed. Without scripts the page is loaded again every
// few seconds.
type Live struct{ Script, Events string } // addresses

// Forms are kinds of output.
type Forms uint8

// The forms, one for each writer.
const (
	Terminal Forms = 1 << iota
	Markdown
	Page
	Nowhere // a column that this document has no use for
)

// Has says whether form is one of them.
func (f Forms) Has(form Forms) bool { return f&form != 0 }

// Block is a part of a document: a Section, Only, Paragraph, List, Alert,
// Answers, Facts, Table, Figure, Pair or Code.
type Block interface{ block() }

// Section is blocks under a title. One without a title sets its blocks apart.
type Section struct {
	ID    string // where links within the page lead; "" for none
	Title string
	Short string // the title in a list of contents; "": as it is
	// Value and Note stand behind the title: the result in short, and a remark.
	Value, Note string
	Quiet       Forms // forms that show the blocks without the title; zero: none
	Flush       bool  // a terminal does not indent what stands below the title
	Fold        Forms // forms that let the reader fold the section; zero: none
	Open        bool  // what can be folded is open at first
	Screen      bool  // a page does not print it
	Blocks      []Block
}

// Folded is blocks under a title, which a page shows when asked.
func Folded(title string, blocks ...Block) Section {
	return Section{Title: title, Fold: Page, Blocks: blocks}
}

// Only is blocks for some forms.
type Only struct {
	In     Forms
	Blocks []Block
}

// On is blocks for some forms.
func On(in Forms, blocks ...Block) Only { return Only{In: in, Blocks: blocks} }

// If is blocks for every form, or none.
func If(ok bool, blocks ...Block) Only {
	if !ok {
		return Only{}
	}
	return On(Terminal|Markdown|Page, blocks...)
}

// Paragraph is text.
type Paragraph struct{ Text Text }

// Say is a paragraph without a style.
func Say(words string) Paragraph { return Paragraph{Text: Words(words)} }

// SayIf is a paragraph that is not always said.
func SayIf(ok bool, words string) Only { return If(ok, Say(words)) }

// Note is a paragraph of less weight.
func Note(words string) Paragraph { return Paragraph{Text: In(Muted, words)} }

// List is items, one below the other.
type List struct {
	Items    []Text
	Numbered bool
	Most     int // items that a terminal shows; 0: all
}

// Alert is what a reader must see before trusting what follows: a title, and
// items if there are several things.
type Alert struct {
	Title string
	Style Style
	Items []Text
}

// Answers are results in sentences, each with its verdict.
type Answers struct{ List []Answer }

// Answer is one result. What may be its cause stands below.
type Answer struct {
	Verdict Text
	Text    Text
	Causes  []string
}

// Facts are keys with values.
type Facts struct {
	Look FactsLook
	List []Fact
}

// FactsLook is how facts are shown.
type FactsLook int

// Facts as a table, in a row at the top of a page, and as words with their
// explanations.
const (
	Keyed FactsLook = iota
	Glance
	Terms
)

// Fact is a key with its value.
type Fact struct{ Key, Value string }

// Code is text whose lines stay as they are.
type Code struct{ Text string }

// Picture draws an SVG when a page asks for it. It is markup: whoever draws it
// escapes the text in it.
type Picture func() string

// Figure is a picture, in two sizes if there are two.
type Figure struct {
	Wide, Narrow Picture
	// Plot draws the figure for a terminal in lines of at most width columns; nil:
	// it is not shown there.
	Plot func(width int) []string
}

// Pair is two pictures beside each other.
type Pair struct{ Left, Right Picture }

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

// For is the blocks that one form shows.
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
