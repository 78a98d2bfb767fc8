package report

import (
	"io"
	"slices"
	"strconv"

	"tare/published"
	"tare/wording"
)

// publishedColumns are the columns of PublishedCSV. A line of kind "mean" has one
// arm in a; one of kind "difference" tells of b − a in percent of either side.
var publishedColumns = []string{"cell", "metric", "unit", "kind", "a", "b", "n", "invalid", "mean", "variance",
	"percent_of_a", "percent_of_b", "verdict", "text", "headline", "observational"}

// PublishedCSV writes a line for each mean and each difference, with full
// precision.
func PublishedCSV(w io.Writer, t *published.Table) error {
	lines := [][]string{publishedColumns}
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			head := []string{c.ID, m.Metric.Name, m.Metric.Unit}
			kind := []string{strconv.FormatBool(m.Metric.Headline), strconv.FormatBool(t.Observation != nil)}
			for _, a := range m.Arms {
				lines = append(lines, slices.Concat(head, []string{"mean", a.Arm, "", strconv.Itoa(a.N), strconv.Itoa(a.Invalid)},
					exact([]float64{a.Mean, a.Variance}, a.N > 0), []string{"", "", "", ""}, kind))
			}
			for _, d := range m.Differences {
				verdict, text := "", ""
				if d.Said != nil {
					verdict, text = string(d.Said.Verdict), wording.Sentence(d.Said)
				}
				lines = append(lines, slices.Concat(head, []string{"difference", d.A, d.B, "", "", "", "",
					percentOf(d.RelativeToA), percentOf(d.RelativeToB), verdict, text}, kind))
			}
		}
	}
	return writeCSV(w, lines)
}

func percentOf(share *float64) string {
	if share == nil {
		return ""
	}
	return strconv.FormatFloat(*share*100, 'g', -1, 64)
}
