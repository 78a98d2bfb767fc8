// Package table prints what the programs below bench have measured: as aligned text
// or as Markdown.
package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table has a column of names and columns of figures.
type Table struct {
	Title string
	Notes []string // paragraphs below the title
	Head  []string
	Rows  [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Note adds a paragraph.
func (t *Table) Note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

// Write prints the table, unless it has no rows.
func (t *Table) Write(w io.Writer, markdown bool) {
	if len(t.Rows) == 0 {
		return
	}
	title := "\n%s\n"
	if markdown {
		title = "\n## %s\n"
	}
	fmt.Fprintf(w, title, t.Title)
	for _, note := range t.Notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	fmt.Fprintln(w)
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	line := func(cells []string) {
		padded := make([]string, len(cells))
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				padded[i] = c + pad
			} else {
				padded[i] = pad + c
			}
		}
		if markdown {
			fmt.Fprintln(w, "| "+strings.Join(padded, " | ")+" |")
		} else {
			fmt.Fprintln(w, strings.TrimRight(strings.Join(padded, "  "), " "))
		}
	}
	line(t.Head)
	if markdown {
		fmt.Fprintln(w, "|---|"+strings.Repeat("--:|", len(t.Head)-1))
	}
	for _, row := range t.Rows {
		line(row)
	}
}
