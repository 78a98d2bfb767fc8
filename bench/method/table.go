package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is printed as aligned text or as Markdown.
type table struct {
	title string
	notes []string // paragraphs below the title
	head  []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer, markdown bool) {
	if len(t.rows) == 0 {
		return
	}
	if markdown {
		fmt.Fprintf(w, "\n## %s\n", t.title)
	} else {
		fmt.Fprintf(w, "\n%s\n", t.title)
	}
	for _, note := range t.notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	fmt.Fprintln(w)
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			switch {
			case i == 0 && markdown:
				b.WriteString("| " + c + pad)
			case i == 0:
				b.WriteString(c + pad)
			case markdown:
				b.WriteString(" | " + pad + c)
			default:
				b.WriteString("  " + pad + c)
			}
		}
		if markdown {
			b.WriteString(" |")
		}
		fmt.Fprintln(w, b.String())
	}
	line(t.head)
	if markdown {
		rule := "|---"
		for range t.head[1:] {
			rule += "|--:"
		}
		fmt.Fprintln(w, rule+"|")
	}
	for _, row := range t.rows {
		line(row)
	}
}
