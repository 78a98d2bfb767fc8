package serve

import (
	"slices"
	"strings"
	"time"

	"tare/analysis"
	"tare/journal"
	"tare/report"
	"tare/report/document"
)

// going is a run that is not finished.
type going struct {
	result *analysis.Run
	trials []journal.Trial
	began  time.Time // of its last session
	first  int       // trials that earlier sessions made
}

func newGoing(record *journal.Run, result *analysis.Run) *going {
	g := &going{result: result, trials: record.Trials}
	if n := len(record.Sessions); n > 0 {
		g.began = record.Sessions[n-1].Start
		for g.first < len(g.trials) && g.trials[g.first].Session < record.Sessions[n-1].Number {
			g.first++
		}
	}
	return g
}

// left is how long the rest takes if it goes as this session went, with what was repeated and
// set up anew; 0 if nothing tells.
func (g *going) left(now time.Time) time.Duration {
	n := len(g.trials) - g.first
	if n < 1 || g.began.IsZero() {
		return 0
	}
	last := g.trials[len(g.trials)-1]
	ended := last.Start.Add(last.Wall)
	rest := ended.Sub(g.began) / time.Duration(n) * time.Duration(g.result.Trials.Planned-g.result.Trials.Done)
	return max(rest-now.Sub(ended), 0)
}

// working says whether a process worked on the run when it was read.
func (r *reading) working() bool { return strings.HasSuffix(r.stamp, working) }

// word says how a run is that is not finished.
func (r *reading) word() string {
	if r.working() {
		return "going on"
	}
	return "interrupted"
}

// live shows a run that is not finished.
func (r *reading) live(now time.Time) *document.Document {
	page := r.page(livePage)
	return report.Live(r.going.result, r.going.trials, report.LiveOptions{Working: r.working(), Left: r.going.left(now),
		Page: page, Links: append(slices.Clone(home), report.Link{Words: "Report so far", To: r.page(reportPage)}),
		Live: &document.Live{Script: report.Link{To: scriptFile}.From(page), Events: eventsFile + "?seen=" + r.stamp}})
}
