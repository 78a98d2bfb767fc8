package report

import (
	"cmp"
	"fmt"

	"tare/history"
	doc "tare/report/document"
	"tare/wording"
)

const (
	mostLeftOut   = 10  // runs that a terminal lists as left out
	mostRunRows   = 500 // runs that a page lists, the latest
	mostRunEvents = 8   // events listed with a run
)

// runBlocks show the runs: all on a page, else those that are left out.
func (p past) runBlocks(o HistoryOptions) []doc.Block {
	var left []string
	for _, r := range p.leftOut() {
		left = append(left, plain(r.Directory)+": "+brief(wording.Reason(r.LeftOut)))
	}
	return []doc.Block{doc.On(doc.Page, doc.Section{Title: "Runs", Note: "the latest first", Fold: doc.Page, Blocks: p.runTable(o)}),
		doc.On(doc.Terminal|doc.Markdown, doc.If(left != nil,
			doc.Section{Title: "Left out", Flush: true, Blocks: []doc.Block{doc.List{Items: doc.Each(left), Most: mostLeftOut}}}))}
}

func (p past) runTable(o HistoryOptions) []doc.Block {
	changed := map[int]bool{}
	for _, f := range findings(p.series(true)) {
		changed[f.Run] = true
	}
	var rows []doc.Row
	for i := len(p.Runs) - 1; i >= 0 && len(rows) < mostRunRows; i-- {
		rows = append(rows, p.runRow(i, changed[i], o))
	}
	more := len(p.Runs) - len(rows)
	return []doc.Block{doc.Simple([]doc.Column{{Title: "no.", Right: true}, {Title: "run", Kind: doc.Name}, {Title: "start (UTC)"}, {Title: "Tare"},
		{Title: "state", Kind: doc.Prose}, {Title: "different from the run before", Kind: doc.Prose}}, rows),
		doc.If(more > 0, doc.Say(wording.Count(more, "earlier run is", "earlier runs are")+" not listed."))}
}

// runRow is one run. The number of one that begins a change stands out.
func (p past) runRow(i int, changed bool, o HistoryOptions) doc.Row {
	r := p.Runs[i]
	number, state := doc.Words(fmt.Sprint(i+1)), "used"
	if changed {
		number[0].Style = doc.Strong
	}
	switch {
	case r.LeftOut != nil:
		state = "left out: " + brief(wording.Reason(r.LeftOut))
	case r.Imported != "":
		state = "observational: " + brief(wording.Imported(r))
	}
	return doc.Row{Muted: r.LeftOut != nil, Cells: []doc.Cell{doc.Of(number), doc.Of(doc.Text{{Words: plain(r.Directory), Link: o.link(r)}}),
		doc.C(moment(r)), doc.C(plain(r.TareVersion)), doc.C(state), doc.Of(doc.Each(runEvents(r))...)}}
}

// runEvents are the first events of a run.
func runEvents(r *history.Run) []string {
	list := plainAll(wording.Differences(r.Events[:min(len(r.Events), mostRunEvents)]))
	if n := len(r.Events) - mostRunEvents; n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return list
}

// link is the way from the page to a run's report, or to its directory.
func (o HistoryOptions) link(r *history.Run) string {
	way := base(cmp.Or(o.Page, "history.html"), r.Directory)
	if o.Reports[r.Directory] {
		return link(way, "report.html")
	}
	return link(way, "/")
}

// remarks are what a reader must know of a series.
func remarks(s *history.Series) string {
	return join("; ", append([]string{seriesNote(s)}, plainAll(wording.Findings(s.Notes))...)...)
}
