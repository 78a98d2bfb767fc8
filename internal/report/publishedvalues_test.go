package report

import (
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/report/text"
	"tare/internal/test/golden"
)

// withPublished is a run beside numbers of two documents, the second hostile.
func withPublished(t testing.TB) *analysis.Run {
	t.Helper()
	s := wireguard()
	s.cells = s.cells[:1]
	r := s.run()
	metric := func(name string) experiment.Metric { return *r.Plan.Cells[0].Metric(name) }
	number := func(text string) (a quantity.Amount) {
		if err := a.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	row := func(name, against string, p analysis.Published) analysis.Published {
		p.Cell, p.Arm, p.Metric, p.Against, p.Row.Metric = s.cells[0], "wireguard", metric(name), against, name
		return p
	}
	far, near, rtt := 0.58, 0.08, 500e-6
	overhead := r.Comparison(s.cells[0], "wireguard", "tcp-bandwidth").Overhead
	r.Published = []analysis.PublishedSource{
		{Source: "Performance of a distribution", URL: "https://example.org/performance", Revision: "9e3d605cf2", Rows: []analysis.Published{
			row("tcp-bandwidth", "plain", analysis.Published{Row: experiment.PublishedRow{Label: "on a cloud", Difference: factor.Of(number("-58%")), Unknown: []string{"interval", "trials"}, Note: "other machines"},
				Published: analysis.PublishedRange{Point: &far, Rounded: true}, Measured: &overhead, Trials: 12, Reading: analysis.Outside}),
			row("tcp-bandwidth", "plain", analysis.Published{Row: experiment.PublishedRow{Difference: factor.Of(number("-8.0%")), About: true},
				Published: analysis.PublishedRange{Point: &near, Rounded: true}, Measured: &overhead, Trials: 12, Reading: analysis.Inside, WithinNoise: true}),
			row("tcp-rtt", "", analysis.Published{Row: experiment.PublishedRow{Value: factor.Of(number("0.50ms"))}, Published: analysis.PublishedRange{Point: &rtt, Rounded: true},
				Measured: &analysis.Interval{Point: 413e-6, Lo: 411e-6, Hi: 415e-6}, Ratio: &analysis.Interval{Point: 0.826, Lo: 0.822, Hi: 0.83}, Trials: 12, Reading: analysis.Outside}),
		}},
		{Source: "<b>|", URL: "javascript:alert(1)", Rows: []analysis.Published{
			row("tcp-memory", "plain", analysis.Published{Row: experiment.PublishedRow{Difference: factor.Of(number("2%"), number("8%")), Label: "<i>\x1b[31m"}, Reason: analysis.InvalidRuns{}})}},
	}
	return r
}

// TestPublishedValues compares the views of published numbers with golden files.
func TestPublishedValues(t *testing.T) {
	r := withPublished(t)
	section := func(text, begin, end string) string {
		_, rest, found := strings.Cut(text, begin)
		part, _, ends := strings.Cut(rest, end)
		if !found || !ends {
			t.Fatalf("no section from %q to %q in\n%s", begin, end, text)
		}
		return begin + part
	}
	golden.Check(t, "testdata/published-values.txt", section(asText(t, Run(r, RunOptions{}), text.Options{Width: 100}), "Published and measured", "12 rounds,"))
	golden.Check(t, "testdata/published-values.md", section(asMarkdown(t, Run(r, RunOptions{})), "## Published and measured", "\n## "))
	golden.Check(t, "testdata/published-values.svg", Figure(r))
	page := render(t, r, RunOptions{})
	checkPage(t, "published values", page)
	says(t, "the page", page, `<section id="published-values">`, "https://example.org/performance", "published (an arrow: beyond the axis)", "58 % less")
}

// TestManyPublishedValues checks that a terminal shows the first numbers, unless it is asked for all.
func TestManyPublishedValues(t *testing.T) {
	r := withPublished(t)
	for range 20 {
		r.Published[0].Rows = append(r.Published[0].Rows, r.Published[0].Rows[0])
	}
	short, long := asText(t, Run(r, RunOptions{}), text.Options{}), asText(t, Run(r, RunOptions{All: true}), text.Options{})
	if n := strings.Count(short, "against plain"); n != mostPublished-1 || !strings.Contains(short, "12 published numbers more (--all shows them)") {
		t.Errorf("%d of the differences are shown in\n%s", n, short)
	}
	if strings.Count(long, "against plain") != 23 || strings.Contains(long, "numbers more") {
		t.Errorf("with --all, the numbers are\n%s", long)
	}
}
