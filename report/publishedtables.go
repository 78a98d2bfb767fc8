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
		fmt.Fprintf(b, "### %s\n\n", md(c.ID))
		markdownPublished(b, c.Headline)
		if len(c.Exploratory.Metrics) > 0 {
			fmt.Fprintf(b, "%s:\n\n", md(upperFirst(publishedHints)))
			markdownPublished(b, c.Exploratory)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write published table: %w", err)
	}
	return nil
}

// markdownPublished writes a table of means and one of differences.
func markdownPublished(b *bufio.Writer, p publishedPart) {
	if len(p.Metrics) == 0 {
		return
	}
	fmt.Fprint(b, "| metric |")
	rule := "|---|"
	for _, a := range p.Arms {
		fmt.Fprintf(b, " %s |", md(a))
		rule += "--:|"
	}
	fmt.Fprintf(b, "\n%s\n", rule)
	for _, m := range p.Metrics {
		fmt.Fprintf(b, "| %s |", md(m.Name))
		for _, v := range m.Moments {
			fmt.Fprintf(b, " %s |", md(v))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintf(b, "\n| metric | difference | relative to the one | relative to the other | what the intervals say |\n|---|---|--:|--:|---|\n")
	for _, m := range p.Metrics {
		for _, d := range m.Differences {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", md(m.Name), md(d.Pair), md(d.ToA), md(d.ToB), md(d.Said))
		}
	}
	fmt.Fprintln(b)
}

// publishedCell is a cell's table as text, for every form.
type publishedCell struct {
	ID                    string
	Headline, Exploratory publishedPart
}

// publishedPart is the table of some metrics.
type publishedPart struct {
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
	var arms []string
	for _, a := range t.Arms {
		arms = append(arms, plain(a))
	}
	var list []publishedCell
	for _, c := range t.Cells {
		cell := publishedCell{ID: plain(c.ID), Headline: publishedPart{Arms: arms}, Exploratory: publishedPart{Arms: arms}}
		for _, m := range c.Metrics {
			sc := publishedScale(m)
			one := publishedMetric{Name: plain(m.Metric.Name)}
			if sc.Label != "" {
				one.Name += ", " + sc.Label
			}
			one.Name += exploratoryMark(m.Metric)
			for _, a := range m.Arms {
				one.Moments = append(one.Moments, moments(sc, a))
			}
			for _, d := range m.Differences {
				toA, toB := relative(d)
				row := publishedDifference{Pair: pairName(d), ToA: toA, ToB: toB, Said: tie(said(d))}
				if d.Said != nil {
					row.Verdict = badge(d.Said.Verdict, observed(*d.Said))
				}
				one.Differences = append(one.Differences, row)
			}
			if m.Metric.Headline {
				cell.Headline.Metrics = append(cell.Headline.Metrics, one)
			} else {
				cell.Exploratory.Metrics = append(cell.Exploratory.Metrics, one)
			}
		}
		list = append(list, cell)
	}
	return list
}

// publishedColumns are the columns of PublishedCSV. A line of kind "mean" has one
// arm in a; one of kind "difference" tells of b − a in percent of either side.
var publishedColumns = []string{"cell", "metric", "unit", "kind", "a", "b", "n", "invalid", "mean", "variance",
	"percent_of_a", "percent_of_b", "verdict", "text", "headline", "observational"}

// PublishedCSV writes a line for each mean and each difference, with full
// precision.
func PublishedCSV(w io.Writer, t *published.Table) error {
	out := csv.NewWriter(w)
	lines := [][]string{publishedColumns}
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			head := []string{unformula(plain(c.ID)), unformula(plain(m.Metric.Name)), unformula(plain(m.Metric.Unit))}
			kind := []string{strconv.FormatBool(m.Metric.Headline), strconv.FormatBool(t.Observational != "")}
			for _, a := range m.Arms {
				lines = append(lines, slices.Concat(head, []string{"mean", unformula(plain(a.Arm)), "", strconv.Itoa(a.N), strconv.Itoa(a.Invalid)},
					exact([]float64{a.Mean, a.Variance}, a.N > 0), []string{"", "", "", ""}, kind))
			}
			for _, d := range m.Differences {
				verdict, text := "", ""
				if d.Said != nil {
					verdict, text = unformula(plain(string(d.Said.Verdict))), unformula(plain(d.Said.Text))
				}
				lines = append(lines, slices.Concat(head, []string{"difference", unformula(plain(d.A)), unformula(plain(d.B)), "", "", "", "",
					percentOf(d.RelativeToA), percentOf(d.RelativeToB), verdict, text}, kind))
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
