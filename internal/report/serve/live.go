package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/run/journal"
)

// unfinished holds what the live page of an unfinished run shows.
type unfinished struct {
	result        *analysis.Run
	trials        []journal.Trial
	began         time.Time // start of the last session
	earlierTrials int       // number of trials from earlier sessions
}

func newUnfinished(record *journal.Run, result *analysis.Run) *unfinished {
	g := &unfinished{result: result, trials: record.Trials}
	if n := len(record.Sessions); n > 0 {
		g.began = record.Sessions[n-1].Start
		for g.earlierTrials < len(g.trials) && g.trials[g.earlierTrials].Session < record.Sessions[n-1].Number {
			g.earlierTrials++
		}
	}
	return g
}

// left estimates the remaining time from the speed of this session, repeated trials and set-ups included;
// 0 if unknown.
func (g *unfinished) left(now time.Time) time.Duration {
	n := len(g.trials) - g.earlierTrials
	if n < 1 || g.began.IsZero() {
		return 0
	}
	last := g.trials[len(g.trials)-1]
	ended := last.Start.Add(last.Wall)
	rest := ended.Sub(g.began) / time.Duration(n) * time.Duration(g.result.Trials.Planned-g.result.Trials.Done)
	return max(rest-now.Sub(ended), 0)
}

// working reports whether a process was working on the run when it was read.
func (r *reading) working() bool { return strings.HasSuffix(r.stamp, working) }

func (r *reading) word() string {
	if r.working() {
		return "in progress"
	}
	return "interrupted"
}

func (r *reading) live(now time.Time) *document.Document {
	page := r.page(livePage)
	return report.Live(r.unfinished.result, r.unfinished.trials, report.LiveOptions{Working: r.working(), Left: r.unfinished.left(now),
		Page: page, Links: append(slices.Clone(home), report.Link{Words: "Report so far", To: r.page(reportPage)}),
		Live: &document.Live{Script: report.Link{To: scriptFile}.From(page), Events: eventsFile + "?seen=" + r.stamp}})
}

// showAlive is the interval between the lines that keep a connection open.
const showAlive = 15 * time.Second

// events sends a page a server-sent event whenever its run has changed, until the reader disconnects.
// Look is the interval between two checks of the run.
func (r *run) events(w http.ResponseWriter, q *http.Request, look time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if q.Method == http.MethodHead {
		return
	}
	say := func(line string) bool {
		_, err := fmt.Fprint(w, line+"\n\n")
		return err == nil && out.Flush() == nil
	}
	if !say(": listening") {
		return
	}
	looks, alive := time.NewTicker(look), time.NewTicker(showAlive)
	defer looks.Stop()
	defer alive.Stop()
	seen := q.URL.Query().Get("seen")
	for {
		select {
		case <-q.Context().Done():
			return
		case <-alive.C:
			if !say(": listening") {
				return
			}
		case <-looks.C:
			now, changed := r.changed(seen)
			if changed && !say("event: changed\ndata: "+now) {
				return
			}
			seen = now
		}
	}
}
