package report

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/report/columns"
	"tare/internal/report/text"
)

// everyForm writes a run in all forms that have its numbers.
func everyForm(t *testing.T, r *analysis.Run) map[string]string {
	t.Helper()
	return map[string]string{"text": asText(t, Run(r, RunOptions{All: true}), text.Options{}), "markdown": asMarkdown(t, Run(r, RunOptions{})), "csv": asCSV(t, CSV, r), "page": render(t, r, RunOptions{}),
		"figure": Figure(r)}
}

// A point of values that allow no interval is shown without one.
func TestPointWithoutInterval(t *testing.T) {
	r := wireguard().run()
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Verdict, c.PointOnly, c.Reason = analysis.NotResolved, true, analysis.NoSpread{Fewest: 6}
		c.Overhead = analysis.Interval{Point: 0.146, Lo: 0.146, Hi: 0.146}
		c.T = c.Overhead
	}
	r.Controls = nil
	single := regexp.MustCompile(`\[\+?14\.6|,0\.146,0\.146`)
	for name, got := range everyForm(t, r) {
		if at := single.FindString(html.UnescapeString(got)); at != "" {
			t.Errorf("%s shows an interval where there is none: %q", name, at)
		}
		if !strings.Contains(got, "14.6") && !strings.Contains(got, ",0.146,,,") {
			t.Errorf("%s lacks the point", name)
		}
	}
}

// Equivalence that the interval shown does not bear out says on which it rests.
func TestEquivalenceNamesItsInterval(t *testing.T) {
	r := wireguard().run()
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Verdict = analysis.Equivalent
		c.Overhead, c.Inner = analysis.Interval{Point: 0.002, Lo: -0.004, Hi: 0.031}, &analysis.Inner{Interval: analysis.Interval{Point: 0.002, Lo: -0.001, Hi: 0.012}, Confidence: 0.9}
	}
	forms := everyForm(t, r)
	delete(forms, "csv")
	delete(forms, "figure")
	for name, got := range forms {
		got = strings.Join(strings.Fields(strings.NewReplacer(`\`, "", "\u00a0", " ", "&#43;", "+").Replace(got)), " ")
		if !strings.Contains(got, "the 90 % interval [0.1 more, 1.2 less] lies within ±2 %") {
			t.Errorf("%s does not say on which interval the claim rests", name)
		}
	}
}

// The value of the baseline and its unit are whole at every width.
func TestValuesAreNeverCut(t *testing.T) {
	r := wireguard().run()
	for width := 40; width <= 200; width += 4 {
		shown := asText(t, Run(r, RunOptions{All: true}), text.Options{Width: width})
		got := strings.Join(strings.Fields(shown), " ")
		says(t, fmt.Sprintf("width %d", width), got, "TCP bandwidth 9", " Mbit/s, higher is better", "µs, lower is better")
		if strings.Contains(got, columns.Ellipsis) && width >= 80 {
			t.Errorf("width %d: something is cut:\n%s", width, shown)
		}
	}
}
