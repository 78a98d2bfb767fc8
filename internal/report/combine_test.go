package report

import (
	"encoding/json"
	"math"
	"testing"

	"tare/internal/analysis"
	"tare/internal/report/text"
	"tare/internal/runs/combine"
	comparing "tare/internal/runs/compare"
	"tare/internal/test/golden"
)

// someCombination combines n runs of one experiment, whose overheads differ from one
// month to the next; the last is not finished.
func someCombination(t testing.TB, n int) *combine.Result {
	t.Helper()
	var in []comparing.Input
	for i := range n {
		s := wireguard()
		s.cells = s.cells[:1]
		for k := range s.arms[0].effects {
			s.arms[0].effects[k] += 0.02 * math.Sin(float64(3*i))
		}
		r := s.run()
		r.Start = r.Start.AddDate(0, i, 0)
		if i == n-1 {
			r.Finished, r.Trials.Done = false, 20
		}
		for k := range r.Controls {
			by := r.Controls[k].Overhead
			move := (by.Hi - by.Lo) / 4 * math.Cos(float64(2*i+k))
			r.Controls[k].Overhead = analysis.Interval{Point: by.Point + move, Lo: by.Lo + move, Hi: by.Hi + move}
		}
		if i > 0 {
			r.Environment.Kernel = "6.8.0"
		}
		in = append(in, comparing.Input{Name: "runs/" + string(rune('a'+i)), Run: r, Trials: trialsOf(r)})
	}
	r, err := combine.Runs(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCombineGolden(t *testing.T) {
	r := someCombination(t, 6)
	golden.Check(t, "testdata/combine.txt", asText(t, Combine(r, CompareOptions{}), text.Options{Width: 110}))
	golden.Check(t, "testdata/combine.csv", asCSV(t, CombineCSV, r))
}

func TestCombinePage(t *testing.T) {
	says(t, "the page", asPage(t, Combine(someCombination(t, 6), CompareOptions{All: true})),
		"Combination of 6 runs of", "Overheads over occasions", "run 1", ", mean", "is left out: it is not finished", "How to read this", "<svg")
}

// What is written as JSON has no number that JSON lacks.
func TestCombineJSON(t *testing.T) {
	if _, err := json.Marshal(someCombination(t, 3)); err != nil {
		t.Error(err)
	}
}
