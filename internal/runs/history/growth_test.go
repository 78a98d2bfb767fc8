package history_test

import (
	"math"
	"reflect"
	"testing"

	"tare/internal/analysis"
	"tare/internal/runs/history"
	"tare/internal/runs/history/historytest"
)

// grow returns the growth of the time of the only arm in the last of the runs.
func grow(t *testing.T, values []float64, anchor string) history.Growth {
	t.Helper()
	runs := walk(values)
	n := len(runs) - 1
	h := history.New(runs[:n], nil, history.Options{})
	list, err := h.Growth(runs[n], anchor)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		if g.Metric.Name == "time" {
			return g
		}
	}
	t.Fatalf("no growth of time in %+v", list)
	return history.Growth{}
}

// The prediction interval by hand: log values of 0, 1, …, 9 % have the mean 4.5 %
// and the standard deviation 3.0277 %; t(9) at 97.5 % is 2.262157, so that
// for a new value of 20 % the difference is 15.5 % ± 2.262157 · 3.0277 · √1.1.
func TestGrowthByHand(t *testing.T) {
	values := []float64{0.04, 0.07, 0.00, 0.09, 0.02, 0.05, 0.01, 0.08, 0.03, 0.06, 0.20}
	g := grow(t, values, "")
	if g.Gap != nil {
		t.Fatalf("%+v", g.Gap)
	}
	half := 2.2621571628 * 0.0302765035 * math.Sqrt(1.1)
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"point", g.Recent.Interval.Point, math.Expm1(0.155)},
		{"low", g.Recent.Interval.Lo, math.Expm1(0.155 - half)},
		{"high", g.Recent.Interval.Hi, math.Expm1(0.155 + half)},
		{"p at the low bound", g.Recent.P(math.Expm1(0.155 - half)), 0.025},
		{"p at the point", g.Recent.P(math.Expm1(0.155)), 0.5},
		{"anchor", g.Anchor.Interval.Point, math.Expm1(0.20 - 0.044)},
	} {
		if math.Abs(v.got-v.want) > 1e-8 {
			t.Errorf("%s: %v, want %v", v.name, v.got, v.want)
		}
	}
	if p := g.Previous; p == nil || p.Run != "runs/009" || math.Abs(p.Change-math.Expm1(0.14)) > 1e-8 {
		t.Errorf("since the run before: %+v", p)
	}
	if g.Recent.Runs != 10 || g.Recent.From != "runs/000" || g.Recent.To != "runs/009" || g.Anchor.Runs != 5 || g.Anchor.To != "runs/004" {
		t.Errorf("compared with %+v and %+v", g.Recent, g.Anchor)
	}
	if g.Of != history.OfLevel || g.Arm != "plain" {
		t.Errorf("growth of %s of %s", g.Of, g.Arm)
	}
}

// A decline too slow for any change shows only against the anchor.
func TestSlowDeclineIsSeenByTheAnchor(t *testing.T) {
	const budget = 0.05
	recent, anchor := 0, 0
	for at := 10; at <= 40; at++ {
		values := noise(at, 3)
		for i := range values {
			values[i] = values[i]/3 + 0.005*float64(i) // noise of 1 %, and 0.5 % more with every run
		}
		g := grow(t, values, "")
		if recent == 0 && g.Recent.P(budget) <= 0.05 {
			recent = at
		}
		if anchor == 0 && g.Anchor.P(budget) <= 0.05 {
			anchor = at
		}
	}
	t.Logf("a decline of 0.5 %% a run exceeds 5 %% over the anchor with run 13; seen by the anchor with run %d, by recent runs with run %d (0: never)", anchor, recent)
	if anchor < 13 || anchor > 25 {
		t.Errorf("seen by the anchor with run %d, want soon after the 13th", anchor)
	}
	if recent != 0 && recent <= anchor {
		t.Errorf("seen by recent runs with run %d, before the anchor", recent)
	}
}

// The comparison begins after the last change, and at the named run.
func TestGrowthAfterAChange(t *testing.T) {
	values := stepped(noise(41, 7), 25)
	for i := range values {
		if i >= 25 {
			values[i] += 0.15
		}
	}
	g := grow(t, values, "")
	if g.Recent.From != "runs/025" || g.Recent.Runs != 15 || g.Anchor.From != "runs/000" {
		t.Errorf("recent from %s over %d runs, anchor from %s", g.Recent.From, g.Recent.Runs, g.Anchor.From)
	}
	if g.Recent.P(0.05) < 0.05 || g.Anchor.P(0.05) > 0.05 {
		t.Errorf("p of 5 %%: recent %v, anchor %v; want only the anchor to object", g.Recent.P(0.05), g.Anchor.P(0.05))
	}
	if g = grow(t, values, "runs/025"); g.Anchor.From != "runs/025" || g.Anchor.P(0.05) < 0.05 {
		t.Errorf("from the accepted change on: anchor from %s, p %v", g.Anchor.From, g.Anchor.P(0.05))
	}
	if g = grow(t, values, "runs/038"); g.Gap != (history.FewSinceAnchor{Fewest: 5}) || g.Recent.Runs != 15 || g.Anchor.P(0) != 1 {
		t.Errorf("anchor too late: %+v", g)
	}
}

func TestNoGrowth(t *testing.T) {
	quiet := func(int, *historytest.Run) {}
	earlier := made(8, quiet)
	h := history.New(earlier, nil, history.Options{})
	late := func(change func(*historytest.Run)) *history.Run {
		r := base
		r.Number = 100
		change(&r)
		return history.Of(r.Journal("runs/new"))
	}
	for _, test := range []struct {
		name    string
		history *history.History
		new     *history.Run
		want    analysis.Reason
	}{
		{"other experiment", h, late(func(r *historytest.Run) { r.Name = "net" }), history.NoSeries{}},
		{"invalid", h, late(func(r *historytest.Run) { r.Running = true }), history.NewRunLeftOut{Why: history.NotFinished{}}},
		{"imported", h, late(func(r *historytest.Run) { r.Tool = "fio" }), history.Unlike{}},
		{"other parameters", h, late(func(r *historytest.Run) { r.Size = "1MiB" }), history.OtherParameters{Differs: []history.Difference{{What: "command.size", Is: "1MiB", Was: "4KiB"}}}},
		{"too few", history.New(earlier[:4], nil, history.Options{}), late(func(*historytest.Run) {}), history.FewRuns{Runs: 4, Fewest: 5}},
		{"itself only", h, earlier[0], history.NoSeries{}},
		{"later runs", h, earlier[4], history.FewRuns{Runs: 4, Fewest: 5}},
		{"never varied", history.New(walk(make([]float64, 6)), nil, history.Options{}), walk([]float64{1, 1, 1, 1, 1, 1, 1})[6], history.NoSpread{}},
	} {
		list, err := test.history.Growth(test.new, "")
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if len(list) == 0 {
			t.Errorf("%s: nothing", test.name)
		}
		for _, g := range list {
			if !reflect.DeepEqual(g.Gap, test.want) || g.Recent.P(0) != 1 || g.Anchor.P(0) != 1 {
				t.Errorf("%s: %s: %+v, p %v; want %+v and 1", test.name, g.Metric.Name, g.Gap, g.Recent.P(0), test.want)
			}
		}
	}
	if _, err := h.Growth(late(func(*historytest.Run) {}), "elsewhere"); err == nil ||
		err.Error() != "the anchor elsewhere is no earlier run of the same experiment in this history" {
		t.Errorf("unknown anchor: %v", err)
	}
}

// A run with few rounds is less precise than the runs before it, and its interval is wider.
func TestGrowthOfALessPreciseRun(t *testing.T) {
	earlier := made(12, func(_ int, r *historytest.Run) { r.Rounds = 20; r.Noise = 0.01 })
	h := history.New(earlier, nil, history.Options{})
	width := func(rounds int, noise float64) float64 {
		r := base
		r.Number, r.Rounds, r.Noise = 60, rounds, noise
		list, err := h.Growth(history.Of(r.Journal("runs/new")), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			if g.Metric.Name == "time" && g.Arm == "layered" && g.Gap == nil {
				return g.Recent.Interval.Hi - g.Recent.Interval.Lo
			}
		}
		t.Fatalf("no growth in %+v", list)
		return 0
	}
	if alike, less := width(20, 0.01), width(8, 0.02); less <= 1.2*alike {
		t.Errorf("interval of a run as precise as the others %v, of one far less so %v", alike, less)
	}
}

// The comparison with the run before exists from the second run on, long before growth can be
// judged.
func TestPrevious(t *testing.T) {
	if g := grow(t, []float64{0, 0.1}, ""); g.Gap == nil || g.Previous == nil || math.Abs(g.Previous.Change-math.Expm1(0.1)) > 1e-8 {
		t.Errorf("%+v, %+v", g.Gap, g.Previous)
	}
	if g := grow(t, []float64{0}, ""); g.Previous != nil {
		t.Errorf("%+v", g.Previous)
	}
}
