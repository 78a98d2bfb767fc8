package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"tare/published"
)

// PublishedMarkdown writes the published table as Markdown: for each cell one
// table of means and one of differences.
func PublishedMarkdown(w io.Writer, t *published.Table) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "## %s\n\n", md(publishedTitle(t)))
	for _, s := range publishedNotes(t) {
		fmt.Fprintf(b, "%s\n\n", md(s))
	}
	for _, c := range publishedCells(t) {
		fmt.Fprintf(b, "### %s\n\n| metric |", md(c.ID))
		for _, a := range c.Arms {
			fmt.Fprintf(b, " %s |", md(a))
		}
		fmt.Fprint(b, "\n|---|")
		for range c.Arms {
			fmt.Fprint(b, "--:|")
		}
		fmt.Fprintln(b)
		for _, m := range c.Metrics {
			fmt.Fprintf(b, "| %s |", md(m.Name))
			for _, v := range m.Moments {
				fmt.Fprintf(b, " %s |", md(v))
			}
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "\n| metric | difference | relative to the one | relative to the other | what the intervals say |\n|---|---|--:|--:|---|\n")
		for _, m := range c.Metrics {
			for _, d := range m.Differences {
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", md(m.Name), md(d.Pair), md(d.ToA), md(d.ToB), md(d.Said))
			}
		}
		fmt.Fprintln(b)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write published table: %w", err)
	}
	return nil
}

// publishedCell is a cell's table as text, for Markdown and for the page.
type publishedCell struct {
	ID      string
	Arms    []string
	Metrics []publishedMetric
}

type publishedMetric struct {
	Name        string
	Moments     []string
	Differences []publishedDifference
}

type publishedDifference struct {
	Pair, ToA, ToB, Said string
	Verdict              pageVerdict
}

// pagePublished is the section of a page.
type pagePublished struct {
	Title string
	Notes []string
	Cells []publishedCell
}

// publishedSection is nil where no table is asked for.
func publishedSection(t *published.Table) *pagePublished {
	if t == nil {
		return nil
	}
	return &pagePublished{Title: publishedTitle(t), Notes: publishedNotes(t), Cells: publishedCells(t)}
}

func publishedCells(t *published.Table) []publishedCell {
	var list []publishedCell
	for _, c := range t.Cells {
		cell := publishedCell{ID: plain(c.ID)}
		for _, a := range t.Arms {
			cell.Arms = append(cell.Arms, plain(a))
		}
		for _, m := range c.Metrics {
			sc := publishedScale(m)
			one := publishedMetric{Name: plain(m.Metric.Name)}
			if sc.label != "" {
				one.Name += ", " + sc.label
			}
			one.Name += exploratoryMark(m.Metric)
			for _, a := range m.Arms {
				one.Moments = append(one.Moments, sc.moments(a))
			}
			for _, d := range m.Differences {
				toA, toB := relative(d)
				row := publishedDifference{Pair: pairName(d), ToA: toA, ToB: toB, Said: said(d)}
				if d.Said != nil {
					row.Verdict = badge(d.Said.Verdict)
				}
				one.Differences = append(one.Differences, row)
			}
			cell.Metrics = append(cell.Metrics, one)
		}
		list = append(list, cell)
	}
	return list
}

// publishedColumns are the columns of PublishedCSV. A line of kind "mean" has one
// arm in a; one of kind "difference" tells of b − a in percent of either side.
var publishedColumns = []string{"cell", "metric", "unit", "kind", "a", "b", "n", "invalid", "mean", "variance",
	"percent_of_a", "percent_of_b", "verdict", "text"}

// PublishedCSV writes a line for each mean and each difference, with full
// precision.
func PublishedCSV(w io.Writer, t *published.Table) error {
	out := csv.NewWriter(w)
	lines := [][]string{publishedColumns}
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			head := []string{unformula(plain(c.ID)), unformula(plain(m.Metric.Name)), unformula(plain(m.Metric.Unit))}
			for _, a := range m.Arms {
				lines = append(lines, slices.Concat(head, []string{"mean", unformula(plain(a.Arm)), "", strconv.Itoa(a.N), strconv.Itoa(a.Invalid)},
					exact([]float64{a.Mean, a.Variance}, a.N > 0), []string{"", "", "", ""}))
			}
			for _, d := range m.Differences {
				verdict, text := "", ""
				if d.Said != nil {
					verdict, text = unformula(plain(string(d.Said.Verdict))), unformula(plain(d.Said.Text))
				}
				lines = append(lines, slices.Concat(head, []string{"difference", unformula(plain(d.A)), unformula(plain(d.B)), "", "", "", "",
					percentOf(d.RelativeToA), percentOf(d.RelativeToB), verdict, text}))
			}
		}
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write published table: %w", err)
	}
	return nil
}

func percentOf(share *float64) string {
	if share == nil {
		return ""
	}
	return strconv.FormatFloat(*share*100, 'g', -1, 64)
}
