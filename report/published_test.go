package report

import (
	"strings"
	"testing"

	"tare/analysis"
	"tare/experiment"
	"tare/golden"
	"tare/journal"
	"tare/published"
	"tare/report/text"
)

// someTable is the published table of a run of which trials failed.
func someTable(t testing.TB, o published.Options) (*analysis.Run, *published.Table) {
	t.Helper()
	s := wireguard()
	s.cells = s.cells[:1]
	s.arms = append(s.arms, madeArm{"ipsec", []float64{0.09, 0.4, 0.002}})
	r := s.run()
	r.Observation = afterAnother
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Observational = true
	}
	trials := trialsOf(r)
	trials[0].Invalid = []journal.Violation{{Rule: "errors", Detail: "failed operations 50 %"}}
	table, err := published.Of(r, trials, o)
	if err != nil {
		t.Fatal(err)
	}
	table.Cells[0].Metrics[0].Differences[0].Said.WithInvalid = &analysis.Alternative{Trials: 1, Comparison: analysis.Comparison{Verdict: analysis.NotResolved, Paired: true, Rounds: 12,
		Metric: experiment.Metric{Scale: experiment.Ratio}, Overhead: analysis.Interval{Point: 0.01, Lo: -0.03, Hi: 0.05}, MDE: 0.06, Power: 0.8, Reason: analysis.NothingShown{}}}
	return r, table
}

func TestPublishedGolden(t *testing.T) {
	_, without := someTable(t, published.Options{})
	_, with := someTable(t, published.Options{WithInvalid: true, Reference: "wireguard"})
	golden.Check(t, "testdata/published.txt", asText(t, Published(without), text.Options{}))
	golden.Check(t, "testdata/published-reference.txt", asText(t, Published(with), text.Options{Width: 100, ASCII: true}))
	golden.Check(t, "testdata/published.md", asMarkdown(t, Published(without)))
	golden.Check(t, "testdata/published.csv", asCSV(t, PublishedCSV, without))
}

// The section is on a page only where it is asked for.
func TestPublishedSection(t *testing.T) {
	r, table := someTable(t, published.Options{})
	page := render(t, r, RunOptions{Published: table})
	checkPage(t, "published", page)
	says(t, "the page", page, `<section id="published">`, `href="#published"`, " of ipsec</td>", "1 invalid")
	if page := render(t, r, RunOptions{}); strings.Contains(page, "published") {
		t.Error("a page without the table speaks of it")
	}
}

func TestSix(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000000", 1.6322: "1.632200", 0.000133: "0.000133", 0.00001234: "1.2340e−5", -2.5: "−2.500000", 1e13: "1.0000e13"} {
		if got := six(v); got != want {
			t.Errorf("six(%v) = %s, want %s", v, got, want)
		}
	}
}
