package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/report/text"
	"tare/internal/run/journal"
	comparing "tare/internal/runs/compare"
	"tare/internal/test/golden"
)

// trialsOf gives the trials behind the series of a made run.
func trialsOf(r *analysis.Run) []journal.Trial {
	var list []journal.Trial
	for _, c := range r.Cells {
		for a, arm := range r.Plan.Arms {
			for i := range r.Rounds {
				t := journal.Trial{Round: i + 1, Attempt: 1, Position: a + 1, Cell: c.ID, Arm: arm.Name, Values: map[string]float64{}}
				for _, m := range c.Metrics {
					t.Values[m.Metric.Name] = m.Arms[a].Values[i]
				}
				list = append(list, t)
			}
		}
	}
	return list
}

// someComparison compares n runs, each a month later, of which the second and
// those after it were made on another machine and cost more.
func someComparison(t testing.TB, n int) *comparing.Result {
	t.Helper()
	var in []comparing.Input
	for i := range n {
		s := wireguard()
		s.rounds += i
		s.cells = s.cells[:1]
		for k := range s.arms[0].effects {
			s.arms[0].effects[k] += 0.03 * float64(i)
		}
		r := s.run()
		r.Start = r.Start.AddDate(0, i, 0)
		for k := range r.Cells[0].Metrics {
			for a := range r.Cells[0].Metrics[k].Arms {
				values := r.Cells[0].Metrics[k].Arms[a].Values
				for j := range values {
					values[j] *= 1 + 0.01*float64(i*(j%3)) // other trials, another level
				}
			}
		}
		if i > 0 {
			r.Environment.Kernel, r.Environment.CPU.Flags = "6.8.0", append(r.Environment.CPU.Flags[1:], "vaes")
			r.Plan.Cells[0].Testbed = map[string]any{"link": map[string]any{"mtu": 1500, "rate": "1Gbit"}}
			r.Warnings = nil
		}
		in = append(in, comparing.Input{Name: "runs/wireguard-" + r.Start.Format("20060102"), Run: r, Trials: trialsOf(r)})
	}
	r, err := comparing.Runs(in, comparing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompareGolden(t *testing.T) {
	r := someComparison(t, 2)
	golden.Check(t, "testdata/compare.txt", asText(t, Compare(r, CompareOptions{All: true}), text.Options{Width: 100}))
	golden.Check(t, "testdata/compare-narrow.txt", asText(t, Compare(r, CompareOptions{}), text.Options{Width: 50}))
	golden.Check(t, "testdata/compare-three.txt", asText(t, Compare(someComparison(t, 3), CompareOptions{}), text.Options{Width: 120}))
	golden.Check(t, "testdata/compare.csv", asCSV(t, CompareCSV, r))
}

func TestComparePage(t *testing.T) {
	for n := 2; n <= 4; n++ {
		page := asPage(t, Compare(someComparison(t, n), CompareOptions{}))
		checkPage(t, "comparison", page)
		if got := strings.Count(page, "<svg"); got != 2 {
			t.Errorf("%d runs: %d pictures, want a wide and a narrow one", n, got)
		}
	}
	page := asPage(t, Compare(someComparison(t, 2), CompareOptions{Generated: time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)}))
	says(t, "the page", page, "Comparison of 2 runs", "runs/wireguard-20260414", "6.8.0", "What is the same", "1 June 2026, 08:00 UTC",
		"made at different times (2026-03-14 and 2026-04-14)", "between these two occasions", "Levels against plain of run 1", "control (noise floor)")
}

// Numbers at the ends of what they can be are drawn, and JSON can be written.
func TestExtremeComparison(t *testing.T) {
	r := someComparison(t, 2)
	for i := range r.Changes {
		r.Changes[i].Overhead = analysis.Interval{Point: 1e300, Lo: -math.MaxFloat64, Hi: math.MaxFloat64}
		r.Changes[i].From.Overhead = r.Changes[i].Overhead
	}
	page := asPage(t, Compare(r, CompareOptions{}))
	checkPage(t, "extreme comparison", page)
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("the page holds what is not a number")
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}
