package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tare/history"
	"tare/wording"
)

// pastColumns are the columns of a history as CSV. Values are shares on the
// scale "ratio" of an overhead, else in the metric's unit.
var pastColumns = []string{
	"experiment", "run", "start", "tare_version", "cell", "arm", "metric", "unit", "better", "scale", "headline", "of",
	"value", "value_lo", "value_hi", "stretch", "change", "left_out",
}

// HistoryCSV writes one line for each point of each series.
func HistoryCSV(w io.Writer, h *history.History) error {
	out := csv.NewWriter(w)
	err := out.Write(pastColumns)
	for _, p := range pasts(h) {
		for _, s := range p.chosen(true) {
			for _, point := range s.Points {
				if err == nil {
					err = out.Write(p.record(s, point))
				}
			}
		}
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// record is a point's line.
func (p past) record(s *history.Series, at history.Point) []string {
	r, m := p.Runs[at.Run], s.Metric
	start := ""
	if !r.Start.IsZero() {
		start = r.Start.UTC().Format(time.RFC3339)
	}
	change := ""
	for _, c := range s.Shifts {
		if c.Run == at.Run && c.Stretch == at.Stretch {
			change = c.Direction
		}
	}
	numbers := []string{"", "", ""}
	if at.Value != nil {
		numbers = exact([]float64{at.Value.Point, at.Value.Lo, at.Value.Hi}, true)
	}
	rec := []string{p.Name, r.Directory, start, r.TareVersion, s.Cell, s.Arm, m.Name, m.Unit, string(m.Better), string(m.Scale),
		strconv.FormatBool(m.Headline), s.Of}
	for i := range rec {
		rec[i] = unformula(plain(rec[i]))
	}
	stretch := ""
	if at.Stretch >= 0 {
		stretch = strconv.Itoa(at.Stretch + 1)
	}
	rec = append(rec, numbers...)
	return append(rec, stretch, change, unformula(plain(at.LeftOut)))
}

// HistoryMarkdown writes a history as GitHub-flavoured Markdown: for each
// experiment its changes and the level of every series now.
func HistoryMarkdown(w io.Writer, h *history.History, all bool) error {
	b := bufio.NewWriter(w)
	for _, p := range pasts(h) {
		p.markdown(b, all)
	}
	if len(h.Skipped) > 0 {
		fmt.Fprintf(b, "**Skipped**\n\n")
		for _, s := range h.Skipped {
			fmt.Fprintf(b, "- %s: %s\n", md(s.Directory), md(brief(s.Reason)))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintf(b, "%s\n", md(terms(h)))
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

func (p past) markdown(b *bufio.Writer, all bool) {
	chosen := p.chosen(all)
	fmt.Fprintf(b, "# %s\n\n%s. %s\n\n", md(p.Name), md(p.heading()), md(p.outcome(chosen)))
	if found := findings(chosen); len(found) > 0 {
		fmt.Fprintf(b, "| since run | what | change | began in (%s) | changed as well |\n|---|---|---|---|---|\n", wording.Share(p.h.Confidence))
		for _, f := range found {
			sure := p.Runs[f.Earliest].Directory
			if f.Earliest != f.Latest {
				sure += " to " + p.Runs[f.Latest].Directory
			}
			fmt.Fprintf(b, "| %s | %s: %s | %s %s | %s | %s |\n", md(p.runTitle(f.Run)), md(f.Cell), md(seriesName(f.Series)),
				shiftMark(f.Shift), md(shiftWord(f.Series, f.Shift)), md(sure), md(strings.Join(p.shiftCause(f.Shift), "; ")))
		}
		fmt.Fprintln(b)
	}
	if list := p.others(chosen); len(list) > 0 {
		fmt.Fprintf(b, "**Other parameters**\n\n")
		for _, o := range list {
			fmt.Fprintf(b, "- %s\n", md(o))
		}
		fmt.Fprintln(b)
	}
	for _, c := range byCell(chosen) {
		fmt.Fprintf(b, "## %s\n\n| series | level now | changes | remarks |\n|---|---|--:|---|\n", md(c.id))
		for _, s := range c.series {
			remarks := append([]string{seriesNote(s)}, s.Notes...)
			fmt.Fprintf(b, "| %s | %s | %d | %s |\n", md(seriesName(s)), md(nowText(s)), len(s.Shifts), md(strings.Join(remarks, "; ")))
		}
		fmt.Fprintln(b)
	}
	if left := p.leftOut(); len(left) > 0 {
		fmt.Fprintf(b, "**Left out**\n\n")
		for _, r := range left {
			fmt.Fprintf(b, "- %s: %s\n", md(r.Directory), md(brief(r.LeftOut)))
		}
		fmt.Fprintln(b)
	}
}
