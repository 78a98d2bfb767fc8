package main

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"

	"tare/internal/report/wording"
)

// page writes the ledger as Markdown.
func (l *ledger) page() []byte {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("<!-- made by: go run ./hack/ledger -->\n\n# The published studies, row by row\n\n")
	p("Tare's studies repeat what published documents measured. This ledger has a row for each quantity, table, chart\n" +
		"and procedure of these documents: the published figures, the experiment file that measures the same, and the\n" +
		"result of a run that is kept in this repository. The published figures are data ([seeds](seeds)), and so are the\n" +
		"rows ([ledger.yaml](ledger.yaml)).\n\n")
	p("A row is made only if the record of a kept run ([runs](runs)) is whole and shows the row's quantity. Kept runs are\n" +
		"[heads](../exports.md#head): `tare verify FILE` checks one, and `tare show FILE` shows it.\n\n")
	l.counts(p)
	for _, d := range l.documents {
		l.section(p, d)
	}
	return b.Bytes()
}

// counts writes the number of rows in each state, in total and by document. A row about two documents counts in both.
func (l *ledger) counts(p func(string, ...any)) {
	p("| state | meaning | rows |")
	for _, d := range l.documents {
		p(" [%s](#%s) |", d.name, slug(d.Title))
	}
	p("\n|---|---|--:|%s\n", strings.Repeat("--:|", len(l.documents)))
	for _, s := range states {
		p("| %s | %s | %d |", s.name, s.meaning, l.count(func(r *row) bool { return r.State == s.state }))
		for _, d := range l.documents {
			p(" %d |", l.count(func(r *row) bool { return r.State == s.state && r.Figures[d.name] != nil }))
		}
		p("\n")
	}
	p("| all | | %d |", len(l.rows))
	for _, d := range l.documents {
		p(" %d |", l.count(func(r *row) bool { return r.Figures[d.name] != nil }))
	}
	p("\n")
}

func (l *ledger) count(is func(*row) bool) (n int) {
	for i := range l.rows {
		if is(&l.rows[i]) {
			n++
		}
	}
	return n
}

// section writes the rows of a document. Rows that an earlier section has are counted only.
func (l *ledger) section(p func(string, ...any), d *document) {
	p("\n## %s\n\n", d.Title)
	var about []string
	if d.URL != "" {
		about = append(about, "Source: "+d.URL+".")
	}
	if d.Revision != "" {
		about = append(about, "Revision "+d.Revision+".")
	}
	if d.Note != "" {
		about = append(about, d.Note)
	}
	p("%s\n\n", strings.Join(about, " "))
	head := "| quantity | published | state | result of the kept run | how |\n|---|---|---|---|---|\n"
	earlier := map[string]int{}
	for i := range l.rows {
		r := &l.rows[i]
		if r.Figures[d.name] == nil {
			continue
		}
		if first := l.first(r); first != d {
			earlier[first.name]++
			continue
		}
		p("%s| %s | %s | %s | %s | %s |\n", head, cell(r.What), cell(r.published(d)+wording.When(r.Derived != "", "; "+r.Derived)), cell(r.stateText()), cell(cmp.Or(strings.Join(r.measured, "; "), "–")), r.how())
		head = ""
	}
	for _, other := range l.documents {
		if n := earlier[other.name]; n > 0 {
			lead := "\nFurther rows of this document"
			if head != "" {
				lead = "Rows of this document"
			}
			p("%s that are the same as in [%s](#%s): %d.\n", lead, other.Title, slug(other.Title), n)
		}
	}
}

// first returns the first document that a row is about.
func (l *ledger) first(r *row) *document {
	for _, d := range l.documents {
		if r.Figures[d.name] != nil {
			return d
		}
	}
	return nil
}

// The largest content of the column of published figures. More figures are counted.
const (
	mostFigures = 4
	mostNumbers = 14
)

// published describes the row's figures in a document, or counts them.
func (r *row) published(d *document) string {
	var texts []string
	n := 0
	for _, id := range r.Figures[d.name] {
		f := d.figure(id)
		n += len(f.Numbers)
		text := f.Of
		if len(f.Numbers) > 0 {
			text += ": " + strings.Join(f.Numbers, ", ")
		} else if f.Kind == "chart" {
			text = "chart: " + text
		}
		texts = append(texts, text)
	}
	if len(texts) > mostFigures || n > mostNumbers {
		return fmt.Sprintf("[%d figures, %d numbers](seeds/%s.yaml)", len(texts), n, d.name)
	}
	return strings.Join(texts, "; ")
}

func (r *row) stateText() string {
	switch r.State {
	case smaller:
		return "made smaller: " + r.Factor + "; " + r.Reason
	case notHere:
		return "not here: needs " + r.Needs
	case notRun:
		return "file ready"
	}
	return string(r.State)
}

// how names the command, and links to the file, the page and the runs.
func (r *row) how() string {
	var parts []string
	command := r.Command
	if command == "" && strings.HasSuffix(r.File, ".yaml") {
		command = "tare run " + r.File
	}
	if command != "" {
		parts = append(parts, "`"+cell(command)+"`")
	}
	if r.File != "" {
		parts = append(parts, "["+wording.When(command == "", path.Base(r.File))+wording.When(command != "", "file")+"]("+relative(r.File)+")")
	}
	if r.Page != "" {
		parts = append(parts, "[page]("+relative(r.Page)+")")
	}
	for _, run := range r.Runs {
		parts = append(parts, fmt.Sprintf("[run](runs/%s.tar.gz)", run))
	}
	return strings.Join(parts, ", ")
}

// relative returns the path of a file from the page's directory.
func relative(file string) string {
	if below, ok := strings.CutPrefix(file, path.Dir(pageFile)+"/"); ok {
		return below
	}
	if below, ok := strings.CutPrefix(file, "docs/"); ok {
		return "../" + below
	}
	return "../../" + file
}

// cell makes a text safe for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
