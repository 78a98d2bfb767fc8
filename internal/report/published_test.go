package report

import (
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
	"tare/internal/run/journal"
	"tare/internal/runs/published"
	"tare/internal/test/golden"
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
	table.Cells[0].Metrics[0].Differences[0].Verdict.WithInvalid = &analysis.Alternative{Trials: 1, Comparison: analysis.Comparison{Verdict: analysis.NotResolved, Paired: true, Rounds: 12,
		Metric: experiment.Metric{Scale: experiment.Ratio}, Overhead: analysis.Interval{Point: 0.01, Lo: -0.03, Hi: 0.05}, MDE: 0.06, Power: 0.8, Reason: analysis.NothingShown{}}}
	return r, table
}

func TestPublishedGolden(t *testing.T) {
	_, without := someTable(t, published.Options{})
	_, with := someTable(t, published.Options{WithInvalid: true, Reference: "wireguard"})
	golden.Check(t, "testdata/published.txt", asText(t, Published(without, AsTheyVary), text.Options{}))
	golden.Check(t, "testdata/published-reference.txt", asText(t, Published(with, 6), text.Options{Width: 100}))
	golden.Check(t, "testdata/published.csv", asCSV(t, PublishedCSV, without))
}

// The section is on a page only where it is asked for.
func TestPublishedSection(t *testing.T) {
	r, table := someTable(t, published.Options{})
	page := render(t, r, RunOptions{Published: table})
	checkPage(t, "published", page)
	says(t, "the page", page, `<section id="published">`, `href="#published"`, " of ipsec less</td>", "1 invalid")
	if page := render(t, r, RunOptions{}); strings.Contains(page, "published") {
		t.Error("a page without the table speaks of it")
	}
}

func TestFixed(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000000", 1.6322: "1.632200", 0.000133: "0.000133", 0.00001234: "1.2340e−5", -2.5: "−2.500000", 1e13: "1.0000e13"} {
		if got := fixed(v, 6); got != want {
			t.Errorf("fixed(%v, 6) = %s, want %s", v, got, want)
		}
	}
}

// A mean has two digits of what its values vary by, and no more.
func TestDecimalsAreWhatVaries(t *testing.T) {
	for spread, want := range map[float64]int{12: 0, 1.2: 1, 0.3: 2, 0.0042: 4, 1e-9: 6, 0: 6} {
		if got := decimalsFor(spread); got != want {
			t.Errorf("decimalsFor(%v) = %d, want %d", spread, got, want)
		}
	}
}
