package report

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"tare/history"
	"tare/wording"
)

//go:embed page/history.css
var historyCSS string

// HistoryOptions is what the page of a history shows besides it.
type HistoryOptions struct {
	Page      string          // the file that the page is written to, for links to runs
	Reports   map[string]bool // run directories that hold a report.html
	Generated time.Time       // shown at the foot unless zero
}

// HistoryHTML writes a history as one page that needs neither network nor
// scripts.
func HistoryHTML(w io.Writer, h *history.History, o HistoryOptions) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate.ExecuteTemplate(buffered, "history.gohtml", makeHistoryPage(h, o)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// historyPage is everything that the template shows, as text; html/template
// escapes it. Pictures are markup, whose text the drawing has escaped.
type historyPage struct {
	CSS           template.CSS
	Title, Footer string
	Facts         []entry
	Experiments   []historyExperiment
	Skipped       []entry
	MoreSkipped   string
	Terms         string
}

type historyExperiment struct {
	ID, Name         string
	Heading, Outcome string
	Findings         []historyFinding
	Others           []string // where parameters differ
	Headline         []historyCell
	Exploratory      []historyCell
	ExploratoryNote  string
	Runs             []historyRun
	MoreRuns         string
}

type historyFinding struct {
	Verdict      pageVerdict
	Where, Text  string
	Place, Chart string
	Causes       []string
	run          int
}

type historyCell struct {
	ID     string
	Charts []historyPicture
}

type historyPicture struct {
	ID, Name, Now, Note string
	Open                bool
	Wide, Narrow        template.HTML
	Notes               []string
}

type historyRun struct {
	Number        int
	Name, Link    string
	Start, State  string
	Version       string
	Events        []string
	Extra         string
	Left, Changed bool
}

// mostRunRows is how many runs the page lists, the latest.
const mostRunRows = 500

// mostRunEvents is how many events are listed with a run.
const mostRunEvents = 8

func makeHistoryPage(h *history.History, o HistoryOptions) *historyPage {
	p := &historyPage{CSS: template.CSS(paletteCSS() + pictureCSS + pageCSS + historyCSS), Title: "History", Terms: terms(h)}
	runs, left := 0, 0
	for i, e := range pasts(h) {
		runs += len(e.Runs)
		left += len(e.leftOut())
		p.Experiments = append(p.Experiments, e.page(fmt.Sprintf("e%d", i+1), o))
	}
	if len(p.Experiments) == 1 {
		p.Title = "History of " + p.Experiments[0].Name
	}
	p.Facts = []entry{
		{"Runs", wording.Number(float64(runs), 9)}, {"Left out", wording.Number(float64(left), 9)},
		{"Experiments", wording.Number(float64(len(h.Experiments)), 9)}, {"Smallest segment", wording.Count(h.Segment, "run", "runs")},
		{"Chance of a false change", "at most " + wording.Share(h.Alpha)},
	}
	for _, s := range h.Skipped[:min(len(h.Skipped), mostWarnings)] {
		p.Skipped = append(p.Skipped, entry{plain(s.Directory), brief(s.Reason)})
	}
	if n := len(h.Skipped) - mostWarnings; n > 0 {
		p.MoreSkipped = wording.Count(n, "more directory", "more directories") + "."
	}
	p.Footer = "Made by tare history"
	if !o.Generated.IsZero() {
		p.Footer += " on " + o.Generated.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Footer += "."
	return p
}

// page arranges one experiment.
func (p past) page(id string, o HistoryOptions) historyExperiment {
	headline := p.chosen(false)
	e := historyExperiment{ID: id, Name: cmp.Or(plain(p.Name), "(no name)"), Heading: p.heading(), Outcome: p.outcome(headline)}
	var rest []*history.Series
	for _, s := range p.chosen(true) {
		if !s.Metric.Headline {
			rest = append(rest, s)
		}
	}
	shown := 0
	draw := func(list []*history.Series, kind string) []historyCell {
		var cells []historyCell
		for _, c := range byCell(list) {
			cell := historyCell{ID: plain(c.id)}
			for _, s := range c.series {
				shown++
				pic := historyPicture{ID: fmt.Sprintf("%s-%s%d", id, kind, shown), Name: seriesName(s), Now: nowText(s), Note: seriesNote(s),
					Open:   len(s.Shifts) > 0 || kind == "h" && shown <= mostOpen,
					Wide:   template.HTML(p.chart(s, o, historyWide)),
					Narrow: template.HTML(p.chart(s, o, historyNarrow)), Notes: plainAll(s.Notes)}
				for _, c := range s.Shifts {
					if kind == "h" {
						e.Findings = append(e.Findings, p.finding(finding{s, c}, pic.ID))
					}
				}
				cell.Charts = append(cell.Charts, pic)
			}
			cells = append(cells, cell)
		}
		return cells
	}
	e.Headline = draw(headline, "h")
	slices.SortStableFunc(e.Findings, func(a, b historyFinding) int { return a.run - b.run })
	e.Exploratory = draw(rest, "x")
	if len(rest) > 0 {
		e.ExploratoryNote = wording.Count(len(rest), "series", "series") + ", with a level of their own for changes"
	}
	for _, text := range p.others(p.chosen(true)) {
		e.Others = append(e.Others, tie(text))
	}
	e.Runs, e.MoreRuns = p.rows(o)
	return e
}

func (p past) finding(f finding, chart string) historyFinding {
	verdict := pageVerdict{Class: "mixed", Word: f.Direction}
	switch f.Direction {
	case history.Worse:
		verdict.Class = "costs"
	case history.Better:
		verdict.Class = "gains"
	}
	return historyFinding{Verdict: verdict, Chart: chart, Where: plain(f.Cell) + ": " + seriesName(f.Series),
		Text: tie(shiftWord(f.Series, f.Shift)), Place: tie(p.shiftPlace(f.Shift)), Causes: p.shiftCause(f.Shift), run: f.Run}
}

// rows are the runs, the latest first.
func (p past) rows(o HistoryOptions) (rows []historyRun, more string) {
	changed := map[int]bool{}
	for _, f := range findings(p.chosen(false)) {
		changed[f.Run] = true
	}
	for i := len(p.Runs) - 1; i >= 0 && len(rows) < mostRunRows; i-- {
		r := p.Runs[i]
		row := historyRun{Number: i + 1, Name: plain(r.Directory), Link: o.link(r), Version: plain(r.TareVersion), State: "used",
			Left: r.LeftOut != "", Changed: changed[i]}
		if !r.Start.IsZero() {
			row.Start = moment(r)
		}
		switch {
		case r.LeftOut != "":
			row.State = "left out: " + brief(r.LeftOut)
		case r.Observational != "":
			row.State = "observational: " + brief(r.Observational)
		}
		for _, e := range r.Events[:min(len(r.Events), mostRunEvents)] {
			row.Events = append(row.Events, brief(e))
		}
		if n := len(r.Events) - mostRunEvents; n > 0 {
			row.Extra = fmt.Sprintf("and %d more", n)
		}
		rows = append(rows, row)
	}
	if n := len(p.Runs) - len(rows); n > 0 {
		more = wording.Count(n, "earlier run is", "earlier runs are") + " not listed."
	}
	return rows, more
}

// link is the way from the page to a run's report, or to its directory.
func (o HistoryOptions) link(r *history.Run) string {
	base := HTMLOptions{RunDir: r.Directory, Page: cmp.Or(o.Page, "history.html")}.base()
	if o.Reports[r.Directory] {
		return link(base, "report.html")
	}
	return link(base, "/")
}
