package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"tare/history"
)

// table is printed as aligned text or as Markdown.
type table struct {
	title string
	notes []string // paragraphs below the title
	head  []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// percent is a share in per cent without its sign.
func percent(share float64) string { return fmt.Sprintf("%.2f", 100*share) }

// title prints what the figures rest on.
func title(w io.Writer, o options) {
	if o.markdown {
		fmt.Fprintf(w, "<!-- made by: go run ./bench/history -markdown -->\n\n# Histories, simulated\n")
	}
	fmt.Fprintf(w, "\nEvery row comes from %d simulated histories, judged by the code that judges real ones (the gate on a decline: from %d). "+
		"A percentage near 5 has a standard error of %.1f points.\n\nHow runs differ when nothing changes:\n\n", o.times, max(o.times/20, 1),
		21.8/math.Sqrt(float64(o.times)))
	for _, world := range worlds {
		fmt.Fprintf(w, "- %s: %s\n", world.name, world.about)
	}
	fmt.Fprintf(w, "\nChanges: level %s %%, at least %d runs between them.\n", percent(history.DefaultAlpha), history.DefaultSegment)
}

func (t *table) write(w io.Writer, markdown bool) {
	head := "\n%s\n"
	if markdown {
		head = "\n## %s\n"
	}
	fmt.Fprintf(w, head, t.title)
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
	line := func(row []string) {
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				row[i] = c + pad
			} else {
				row[i] = pad + c
			}
		}
		if markdown {
			fmt.Fprintln(w, "| "+strings.Join(row, " | ")+" |")
		} else {
			fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "  "), " "))
		}
	}
	line(t.head)
	if markdown {
		fmt.Fprintln(w, "|---|"+strings.Repeat("--:|", len(t.head)-1))
	}
	for _, row := range t.rows {
		line(row)
	}
}
