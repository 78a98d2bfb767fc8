package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

// LiveOptions holds the content of a live page besides the analysis.
type LiveOptions struct {
	Working bool          // a process is working on the run
	Left    time.Duration // estimated remaining time; 0: unknown
	Page    string        // address of the page itself
	Links   []Link        // links to other pages
	Live    *doc.Live
}

// maxLive is the number of latest trials that a live page lists.
const maxLive = 15

// Live shows the progress of a run: finished and remaining trials, estimates without verdicts, and the
// latest trials with the machine's condition.
func Live(r *analysis.Run, trials []journal.Trial, o LiveOptions) *doc.Document {
	r = labels.Shown(suspended(r), r.Plan)
	s := arrange(r)
	done := number(r.Trials.Done) + " of " + number(r.Trials.Planned)
	title, lede := s.title()
	d := &doc.Document{Title: title, About: done + " trials", Lede: lede,
		Styles: figure.PageCSS(), Live: o.Live}
	facts := known("Run", cmp.Or(when(o.Working, "in progress"), "interrupted"), "Trials", done,
		"Time left", when(o.Working && o.Left > 0, "about "+wording.Span(o.Left)), "Round", s.roundNow(trials),
		"Failed trials", when(s.failedTrials() > 0, number(s.failedTrials())), "Spoilt attempts", number(s.spoiltTrials()),
		"Control", s.controlState(), "Testbed", s.plan.Testbed, "Started", minuteOf(r.Start))
	table := s.resultTable(true)
	for i := range table.Groups {
		table.Groups[i].Notes = nil // removes notes on closed loops, which the report has
	}
	return d.Add(Beside(o.Page, o.Links...), doc.Facts{Look: doc.Glance, List: facts},
		doc.SayIf(!o.Working, "No process works on this run. All its trials are kept: tare resume continues it."),
		doc.Section{ID: "interim", Title: "Interim estimates", Blocks: []doc.Block{
			doc.Say("These are estimates of a run that is not finished. There is no verdict before its last round: stopping a run at a convenient result leads to false claims."),
			doc.If(table.Groups != nil, table), doc.SayIf(table.Groups == nil, "There is no estimate yet.")}},
		doc.Section{ID: "trials", Title: "Latest trials", Note: "with the machine's condition", Blocks: []doc.Block{trialTable(trials)}})
}

// suspended returns a copy of a run without verdicts. Even after the last planned round, rounds may be added.
func suspended(r *analysis.Run) *analysis.Run {
	run := *r
	run.Comparisons = slices.Clone(r.Comparisons)
	for i := range run.Comparisons {
		if c := &run.Comparisons[i]; c.Verdict != analysis.Invalid && c.Verdict != analysis.Interim {
			c.Suspend(analysis.RoundsMissing{Rounds: r.Rounds, Of: r.Plan.Total()})
		}
	}
	return &run
}

// roundNow writes the round of the last trial.
func (s *sheet) roundNow(trials []journal.Trial) string {
	if len(trials) == 0 {
		return ""
	}
	pilot := s.plan.Precision > 0 && s.plan.Fixed == 0
	return fmt.Sprintf("%d of %d", trials[len(trials)-1].Round, max(s.plan.Total(), trials[len(trials)-1].Round)) + when(pilot, " of the pilot")
}

// trialTable lists the latest trials, the last one first.
func trialTable(trials []journal.Trial) doc.Table {
	var rows []doc.Row
	for _, t := range slices.Backward(trials[max(len(trials)-maxLive, 0):]) {
		_, broken := reasonOf(t)
		ended := when(!t.Start.IsZero(), t.Start.Add(t.Wall).UTC().Format("15:04:05"))
		c := t.Conditions
		rows = append(rows, doc.Row{Muted: !t.Valid(), Cells: doc.Cells(number(t.Seq), ended, number(t.Round), plain(t.Cell), plain(t.Arm), wording.Span(t.Wall),
			cmp.Or(broken, "valid"), shareOf(c.ForeignCPU), shareOf(c.Steal), shareOf(c.CPUPressure),
			when(c.Throttled >= 0, number(max(c.Throttled, 0))), wording.Fixed(c.Load, 2))})
	}
	return doc.Simple([]doc.Column{{Title: "no.", Right: true}, {Title: "ended (UTC)"}, {Title: "round", Right: true}, {Title: "cell", Kind: doc.Name}, {Title: "arm", Kind: doc.Name},
		{Title: "took", Right: true}, {Title: "state", Kind: doc.Prose}, {Title: "foreign CPU", Right: true}, {Title: "steal", Right: true}, {Title: "CPU pressure", Right: true},
		{Title: "throttled", Right: true}, {Title: "load", Right: true}}, rows)
}

// shareOf writes a share of the machine's time; a dash if unknown.
func shareOf(v float64) string { return cmp.Or(when(v >= 0, wording.Share(v)), wording.Missing) }
