package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/text"
	"tare/internal/runs/history"
	"tare/internal/runs/history/historytest"
	"tare/internal/test/golden"
)

// someHistory is 40 runs: the layer costs 3 % more from the 21st on, with a new
// kernel; the machine is slower from the 31st on; some runs are left out, and one
// asks for something else.
func someHistory() *history.History {
	var runs []*history.Run
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range 40 {
		r := historytest.Run{Name: "disk", Number: i, Level: 0.4 * math.Exp(0.01*rng.NormFloat64()), Cost: 0.07 + 0.005*rng.NormFloat64(),
			Noise: 0.005, Rounds: 8, Size: "4KiB", Kernel: "6.1", Version: "v1.0.0"}
		if i >= 20 {
			r.Cost, r.Kernel = r.Cost+0.03, "6.8"
		}
		if i >= 30 {
			r.Level *= 1.1
		}
		if i >= 15 {
			r.Commit = fmt.Sprintf("%08x%032x", 0x1a2b3c00+i, i)
		}
		switch i {
		case 7:
			r.Invalid = true
		case 12:
			r.Size = "1MiB"
		case 39:
			r.Running = true
		}
		runs = append(runs, history.Of(r.Journal(fmt.Sprintf("nightly/%03d", i))))
	}
	return history.New(runs, []history.Skipped{{Directory: "nightly/odd", Reason: "plan.json: not JSON"}}, history.Options{})
}

// hostileHistory has hostile strings wherever one can be.
func hostileHistory() *history.History {
	h := someHistory()
	for _, e := range h.Experiments {
		e.Name += venom
		for _, r := range e.Runs {
			r.Directory, r.TareVersion, r.Imported = r.Directory+venom, r.TareVersion+venom, venom
			r.Labels = experiment.Labels{"commit": venom, venom: venom}
			r.Events = append(r.Events, history.Difference{What: venom, Is: venom})
			if r.LeftOut != nil {
				r.LeftOut = history.Copy{Of: venom}
			}
		}
		for i := range e.Series {
			s := &e.Series[i]
			s.Cell, s.Arm, s.Metric.Name, s.Metric.Unit = s.Cell+venom, s.Arm+venom, s.Metric.Name+venom, s.Metric.Unit+venom
			s.Notes = append(s.Notes, analysis.Remark{Text: venom})
			for k := range s.Stretches {
				s.Stretches[k].Differs = append(s.Stretches[k].Differs, history.Difference{What: venom})
			}
			for k := range s.Shifts {
				s.Shifts[k].With = append(s.Shifts[k].With, history.Event{Difference: history.Difference{What: venom}})
			}
			for k := range s.Points {
				if s.Points[k].LeftOut != nil {
					s.Points[k].LeftOut = history.Copy{Of: venom}
				}
			}
		}
	}
	h.Skipped[0].Directory, h.Skipped[0].Reason = venom, venom
	return h
}

// histories are those that every format must cope with.
func histories() map[string]*history.History {
	alone := history.Of(historytest.Run{Name: "one", Level: 1, Rounds: 1, Alone: true, Tool: "fio"}.Journal("one"))
	empty := history.Of(historytest.Run{Name: "none", Level: -1, Rounds: 1}.Journal("none"))
	return map[string]*history.History{
		"some": someHistory(), "one": history.New([]*history.Run{alone}, nil, history.Options{}),
		"none": history.New([]*history.Run{empty}, nil, history.Options{}), "empty": history.New(nil, nil, history.Options{}),
	}
}

func TestHistoryGolden(t *testing.T) {
	h := someHistory()
	one := asText(t, History(histories()["one"], HistoryOptions{}), text.Options{})
	says(t, "a series of imports", strings.Join(strings.Fields(one), " "), observedOnly)
	golden.Check(t, "testdata/history.txt", asText(t, History(h, HistoryOptions{}), text.Options{Width: 80}))
	golden.Check(t, "testdata/history-narrow.txt", asText(t, History(h, HistoryOptions{}), text.Options{Width: 40}))
	golden.Check(t, "testdata/history-all.txt", asText(t, History(h, HistoryOptions{All: true}), text.Options{Width: 100}))
	golden.Check(t, "testdata/history.csv", asCSV(t, HistoryCSV, h))
	p := experimentHistory{h.Experiments[0], h.Confidence}
	golden.Check(t, "testdata/history-wide.svg", p.chart(&p.Series[0], HistoryOptions{}).Draw(true))
	golden.Check(t, "testdata/history-small.svg", p.chart(&p.Series[0], HistoryOptions{}).Draw(false))
}

func TestHistoryPage(t *testing.T) {
	for name, h := range histories() {
		checkPage(t, name, asPage(t, History(h, HistoryOptions{})))
	}
	page := asPage(t, History(someHistory(), HistoryOptions{Page: "public/history.html", Reports: map[string]bool{"nightly/003": true},
		Generated: time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)}))
	says(t, "the page", page,
		"History of disk", "together with: kernel is 6.8, was 6.1", `<a href="./../nightly/003/report.html">`, `<a href="./../nightly/004/">`,
		"nightly/odd", "plan.json: not JSON", "left out: it is not finished", "command.size is 1MiB, was 4KiB", "14 March 2026, 15:00 UTC",
		"level of the baseline", "40 runs from 2026-01-05 to 2026-02-13, 2 of them left out")
	if n := strings.Count(page, "<svg"); n != 2*4 {
		t.Errorf("%d pictures, want a wide and a narrow one of 4 series", n)
	}
}

// Values at the ends of what numbers can be are drawn, and JSON can be written.
func TestExtremeHistory(t *testing.T) {
	h := someHistory()
	for i := range h.Experiments[0].Series {
		s := &h.Experiments[0].Series[i]
		for k := range s.Points {
			switch k % 4 {
			case 0:
				s.Points[k].Value = &analysis.Interval{Point: 1e300, Lo: -math.MaxFloat64, Hi: math.MaxFloat64}
			case 1:
				s.Points[k].Value = &analysis.Interval{}
			}
		}
	}
	page := asPage(t, History(h, HistoryOptions{}))
	checkPage(t, "extreme", page)
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("the page holds what is not a number")
	}
	if _, err := json.Marshal(h); err != nil {
		t.Error(err)
	}
}

// sameDay is a history of n runs, minutes apart.
func sameDay(n, minutes int) experimentHistory {
	e := &history.Experiment{Name: "disk", Series: []history.Series{{Cell: "disk.1", Arm: "layered", Of: history.OfOverhead}}}
	for i := range n {
		e.Runs = append(e.Runs, &history.Run{Directory: fmt.Sprintf("nightly/%03d", i), Start: historytest.Start.Add(time.Duration(i*minutes) * time.Minute)})
	}
	return experimentHistory{e, 0}
}

// A difference of parameters is said once for a run, with what it is about where
// that is not everything.
func TestOtherParameters(t *testing.T) {
	p := sameDay(3, 60)
	env, size := history.Difference{What: "env", Is: "on"}, history.Difference{What: "size", Is: "2", Was: "1"}
	stretches := func(differs ...history.Difference) []history.Stretch {
		return []history.Stretch{{First: 0}, {First: 2, Differs: differs}}
	}
	p.Series = []history.Series{
		{Cell: "a", Arm: "plain", Stretches: stretches(size)},
		{Cell: "a", Arm: "layered", Stretches: stretches(env, size)},
		{Cell: "a", Arm: "layered", Of: history.OfOverhead, Stretches: stretches(env, size)},
	}
	got := strings.Join(p.parameterChanges([]*history.Series{&p.Series[0], &p.Series[1], &p.Series[2]}), "\n")
	if want := "first with nightly/002 (2026-01-05 04:00): env is on, was unset (layered in a); size is 2, was 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
