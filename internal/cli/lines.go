package cli

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/report/columns"
)

// lines writes text and simple tables within the width of a terminal. Write errors are reported at the end of
// the command.
type lines struct {
	w     io.Writer
	width int // 0: unknown, and lines are not wrapped
}

// lines returns the lines of stdout.
func (s State) lines() lines { return lines{s.Stdout, s.Width} }

// least is the smallest width of a wrapped column.
const least = 20

// text writes a line of text. It wraps the text with further lines indented by two more columns.
func (l lines) text(indent, text string) { l.hanging(indent, indent+"  ", text) }

// hanging writes text after first, and the further lines of the text after indent.
func (l lines) hanging(first, indent, text string) {
	wrapped := []string{text}
	if room := l.width - max(columns.Width(first), columns.Width(indent)); l.width > 0 && columns.Width(text) > room {
		wrapped = columns.Wrap(text, max(room, least))
	}
	for _, line := range wrapped {
		fmt.Fprintln(l.w, strings.TrimRight(first+line, " "))
		first = indent
	}
}

// rows writes rows with their cells in columns. If they are too wide, the last column is wrapped. If there is
// no room for it, it stands below the others.
func (l lines) rows(indent string, rows [][]string) {
	var widths []int
	widest := 0 // the width of the last column
	for _, row := range rows {
		widest = max(widest, columns.Width(row[len(row)-1]))
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns.Width(cell))
		}
	}
	before := columns.Width(indent)
	for _, w := range widths {
		before += w + 2
	}
	for _, row := range rows {
		last := len(row) - 1
		if l.width > 0 && before+min(widest, least) > l.width {
			l.text(indent, strings.Join(row[:last], "  "))
			if row[last] != "" {
				l.hanging(indent+"    ", indent+"    ", row[last])
			}
			continue
		}
		head := indent
		for i, cell := range row[:last] {
			head += columns.Pad(cell, widths[i]+2)
		}
		l.hanging(head, strings.Repeat(" ", before), row[last])
	}
}
