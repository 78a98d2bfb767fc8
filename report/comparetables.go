package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"tare/analysis"
	comparing "tare/compare"
	"tare/wording"
)

// CompareMarkdown writes a comparison of runs as GitHub-flavoured Markdown, with
// a column for each run.
func CompareMarkdown(w io.Writer, r *comparing.Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Comparison of %s\n\n", wording.Count(len(r.Runs), "run", "runs"))
	for _, run := range r.Runs {
		fmt.Fprintf(b, "%d. %s: %s\n", run.Number, md(run.Name), md(comparedRun(run)))
	}
	fmt.Fprintln(b)
	if r.Observational != "" {
		fmt.Fprintf(b, "**Observational, across runs**: %s.\n\n", md(r.Observational))
	}
	markdownList(b, "**Before trusting these numbers**", r.Warnings)
	if len(r.Runs) > 1 {
		markdownDifferences(b, r)
	}
	markdownCompared(b, "Overheads, each against the baseline of its own run", changeRows(r, true), len(r.Runs), r.Family.Changes)
	markdownCompared(b, "Levels against "+comparedReference(r), levelRows(r, true), len(r.Runs), r.Family.Levels)
	markdownCompared(b, "Overheads, exploratory metrics", changeRows(r, false), len(r.Runs), 0)
	markdownCompared(b, "Levels, exploratory metrics", levelRows(r, false), len(r.Runs), 0)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

func markdownList(b *bufio.Writer, title string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n\n", title)
	for _, text := range list {
		fmt.Fprintf(b, "- %s\n", md(brief(text)))
	}
	fmt.Fprintln(b)
}

func markdownDifferences(b *bufio.Writer, r *comparing.Result) {
	fmt.Fprintf(b, "## What differs besides the numbers\n\n")
	if len(r.Differences) == 0 {
		fmt.Fprintf(b, "Nothing that is on record.\n\n")
	} else {
		fmt.Fprint(b, "| of | what |")
		rule := "|---|---|"
		for _, run := range r.Runs {
			fmt.Fprintf(b, " run %d |", run.Number)
			rule += "---|"
		}
		fmt.Fprintf(b, "\n%s\n", rule)
		for _, p := range r.Differences {
			fmt.Fprintf(b, "| %s | %s |", md(string(p.Group)), md(p.Path))
			for _, v := range comparedValues(p) {
				fmt.Fprintf(b, " %s |", md(brief(v)))
			}
			fmt.Fprintln(b)
		}
		fmt.Fprintln(b)
	}
	var rest []string
	for _, a := range r.Apart {
		rest = append(rest, apartText(a))
	}
	rest = append(rest, r.Unknown...)
	for _, e := range sameByGroup(r, 0) {
		rest = append(rest, "the same, "+e.Key+": "+e.Value)
	}
	for _, text := range rest {
		fmt.Fprintf(b, "- %s\n", md(brief(text)))
	}
	fmt.Fprintln(b)
}

func markdownCompared(b *bufio.Writer, title string, metrics []*comparedMetric, runs, family int) {
	if len(metrics) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n", md(title))
	if note := familyNote(family); note != "" {
		fmt.Fprintf(b, "%s\n\n", md(note))
	}
	cell := ""
	for _, m := range metrics {
		if m.Cell != cell {
			cell = m.Cell
			fmt.Fprintf(b, "### %s\n\n", md(cell))
		}
		fmt.Fprintf(b, "| %s |", md(m.Metric))
		rule := "|---|"
		for i := range runs {
			fmt.Fprintf(b, " run %d |", i+1)
			rule += "--:|"
		}
		fmt.Fprintf(b, "\n%s\n", rule)
		var notes []string
		for _, row := range m.Rows {
			name := md(row.Name)
			if row.Floor {
				name += " *(noise floor)*"
			}
			fmt.Fprintf(b, "| %s |", name)
			for _, e := range row.Entries {
				fmt.Fprintf(b, " %s |", markdownEntry(e))
			}
			fmt.Fprintln(b)
			for _, note := range row.Notes {
				notes = append(notes, row.Name+". "+note)
			}
		}
		fmt.Fprintln(b)
		for _, note := range notes {
			fmt.Fprintf(b, "- %s\n", md(note))
		}
		if notes != nil {
			fmt.Fprintln(b)
		}
	}
}

// markdownEntry writes an entry in one cell of a table.
func markdownEntry(e comparedEntry) string {
	text := md(e.Value)
	if against := e.signed(false); against != "" && !e.Reference {
		text += "; " + md(against+" "+e.kind())
	}
	return text
}

// compareColumns are the columns of CompareCSV. A line of kind "change" or
// "floor" compares the overhead of an arm in a run with the one named by
// against_run and against_arm; one of kind "level" its values with theirs.
var compareColumns = []string{"kind", "cell", "metric", "unit", "better", "scale", "headline", "run", "arm", "against_run", "against_arm",
	"verdict", "n", "overhead", "overhead_lo", "overhead_hi", "method", "p", "p_holm", "p_equivalence", "mde", "from_overhead", "to_overhead", "median", "text"}

// CompareCSV writes a line for each change, floor and level, with full precision.
func CompareCSV(w io.Writer, r *comparing.Result) error {
	out := csv.NewWriter(w)
	lines := [][]string{compareColumns}
	for _, list := range []struct {
		kind    string
		changes []comparing.Change
	}{{"change", r.Changes}, {"floor", r.Floors}} {
		for _, c := range list.changes {
			line := compareLine(list.kind, c.Comparison, c.To.Run, c.To.Arm, c.From.Run, c.From.Arm)
			line = append(line, exact([]float64{c.From.Overhead.Point}, c.From.Known)...)
			line = append(line, exact([]float64{c.To.Overhead.Point}, c.To.Known)...)
			lines = append(lines, append(line, "", unformula(plain(c.Text))))
		}
	}
	for _, l := range r.Levels {
		c := analysis.Comparison{Cell: l.Cell, Metric: l.Metric}
		run, arm := 0, ""
		if l.Against != nil {
			c, run, arm = *l.Against, r.Reference.Run, r.Reference.Arm
		}
		line := append(compareLine("level", c, l.Run, l.Arm, run, arm), "", "")
		line = append(line, exact([]float64{l.Values.Median}, l.Values.N > 0)...)
		lines = append(lines, append(line, unformula(plain(c.Text))))
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// compareLine is what lines of all kinds begin with.
func compareLine(kind string, c analysis.Comparison, run int, arm string, againstRun int, againstArm string) []string {
	against := ""
	if againstRun > 0 {
		against = strconv.Itoa(againstRun)
	}
	m := c.Metric
	line := []string{kind, c.Cell, m.Name, m.Unit, string(m.Better), string(m.Scale), strconv.FormatBool(m.Headline), strconv.Itoa(run), arm,
		against, againstArm, string(c.Verdict), strconv.Itoa(c.Rounds)}
	for i := range line {
		line[i] = unformula(plain(line[i]))
	}
	ok := againstRun > 0 && wording.Judged(c)
	estimates := []float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi}
	if c.PointOnly {
		estimates[1], estimates[2] = math.NaN(), math.NaN() // leaves the fields empty
	}
	line = append(line, exact(estimates, ok)...)
	line = append(line, plain(c.Method))
	return append(line, exact([]float64{c.P, c.PAdjusted, c.PEquiv, c.MDE}, ok)...)
}
