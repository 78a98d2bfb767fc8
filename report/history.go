package report

import (
	"cmp"
	"fmt"
	"slices"

	"tare/history"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// History shows a history: for each experiment its changes, every series over
// its runs, and the runs themselves.
func History(h *history.History, o HistoryOptions) *doc.Document {
	d := &doc.Document{Title: "History", Styles: figure.PageCSS(), Footer: "Made by tare history" + generatedOn(o.Generated) + "."}
	all := pasts(h)
	if len(all) == 1 {
		d.Title = "History of " + experimentName(all[0])
	}
	runs, left := 0, 0
	var skipped []string
	for _, p := range all {
		runs, left = runs+len(p.Runs), left+len(p.leftOut())
	}
	for _, s := range h.Skipped {
		skipped = append(skipped, plain(s.Directory)+": "+brief(s.Reason))
	}
	d.Add(doc.On(doc.Page, doc.Facts{Look: doc.Glance, List: known(
		"Runs", number(runs), "Left out", number(left), "Experiments", number(len(all)),
		"Smallest segment", wording.Count(h.Segment, "run", "runs"),
		"Chance of a false change", "at most "+wording.Share(h.Alpha))}))
	for i, p := range all {
		s := doc.Section{ID: fmt.Sprintf("e%d", i+1), Title: experimentName(p), Flush: true}
		if len(all) == 1 {
			s.Quiet = doc.Terminal | doc.Markdown // the title says it
		}
		s.Blocks = p.blocks(s.ID, o)
		d.Add(s)
	}
	return d.Add(
		doc.On(doc.Markdown|doc.Page, doc.If(skipped != nil,
			doc.Section{ID: "skipped", Title: "Skipped", Blocks: []doc.Block{doc.List{Items: doc.Each(skipped)}}})),
		doc.Section{ID: "read", Title: "How to read this", Quiet: doc.Terminal | doc.Markdown, Blocks: []doc.Block{
			doc.On(doc.Page, doc.Say(historyLegend)),
			doc.Section{Blocks: []doc.Block{doc.Say(terms(h))}},
			doc.On(doc.Page, doc.Say(historyDoubts))}})
}

func experimentName(p past) string { return cmp.Or(plain(p.Name), "(no name)") }

// historyLegend says what the charts show, historyDoubts what they cannot.
const (
	historyLegend = "Each mark is one run, the line through it its interval; a mark leads to the run's report. " +
		"Overheads are relative to the run's own baseline, so that the level of the machine cancels; the levels of baselines tell of the machine itself. " +
		"Heavy lines are the level between changes. A change stands between the last run of the old level and the first of the new one; " +
		"the shaded runs are those among which it may lie. Crosses are runs that are left out of all statistics. " +
		"Ticks at the foot are runs in which something else changed (point at one to read what), dashed lines runs with other parameters."
	historyDoubts = "The interval of a change's size does not know that its place was chosen because it looks large, and the places suppose that runs are independent."
)

func (p past) blocks(id string, o HistoryOptions) []doc.Block {
	headline, rest := p.series(true), p.series(false)
	shown := headline
	if o.All {
		shown = pointers(p.Series)
	}
	changes, others := p.changes(id, headline, o), p.others(shown)
	found := cmp.Or(when(len(findings(shown)) > 0, wording.Count(len(findings(shown)), "change", "changes")), "No change")
	blocks := []doc.Block{doc.Say(p.heading() + ". " + found + " in " + wording.Count(len(shown), "series", "series") + "."),
		doc.If(changes != nil, doc.On(doc.Markdown|doc.Page, doc.Answers{List: changes})),
		doc.If(others != nil, doc.Section{Title: "Other parameters",
			Note:  "a line ┊ in a plot, dashed in a chart, stands before them",
			Flush: true, Blocks: []doc.Block{doc.List{Items: doc.Each(others)}}})}
	blocks = append(blocks, p.cells(id, headline, true, o)...)
	return slices.Concat(blocks, p.restBlocks(id, rest, o), p.runBlocks(o))
}

// restBlocks show the exploratory metrics, and where there is little room only
// if asked.
func (p past) restBlocks(id string, rest []*history.Series, o HistoryOptions) []doc.Block {
	if len(rest) == 0 {
		return nil
	}
	section := doc.Section{Title: exploratoryTitle, Note: wording.Count(len(rest), "series", "series") + ", with a level of their own for changes", Flush: true, Fold: doc.Page}
	if o.All {
		changes := p.changes(id, rest, o)
		section.Blocks = []doc.Block{doc.If(changes != nil, doc.On(doc.Markdown, doc.Answers{List: changes}))}
	}
	section.Blocks = append(section.Blocks, p.cells(id, rest, false, o)...)
	if o.All {
		return []doc.Block{section}
	}
	note := wording.Count(len(rest), "series of exploratory metrics is", "series of exploratory metrics are") + " not shown (--all shows them)"
	return []doc.Block{doc.On(doc.Page, section), doc.On(doc.Terminal, doc.Section{Blocks: []doc.Block{doc.Say(note)}})}
}

// pastCell is the series of one cell, in the order of the plan.
type pastCell struct {
	id     string
	series []*history.Series
}

// cells show series, cell by cell: as charts, and as a table in Markdown.
func (p past) cells(id string, list []*history.Series, headline bool, o HistoryOptions) []doc.Block {
	var blocks []doc.Block
	drawn := 0
	var cells []pastCell
	for _, s := range list {
		c := found(&cells, func(c pastCell) bool { return c.id == s.Cell }, pastCell{id: s.Cell})
		c.series = append(c.series, s)
	}
	for _, c := range cells {
		charts := doc.Only{In: doc.Terminal | doc.Page}
		var rows []doc.Row
		for _, s := range c.series {
			drawn++
			charts.Blocks = append(charts.Blocks, p.seriesSection(id, s, len(s.Shifts) > 0 || headline && drawn <= mostOpen, o))
			rows = append(rows, doc.Row{Cells: doc.Cells(seriesName(s), nowText(s), fmt.Sprint(len(s.Shifts)), remarks(s))})
		}
		blocks = append(blocks, doc.Section{Title: plain(c.id), Blocks: []doc.Block{charts,
			doc.On(doc.Markdown, doc.Simple([]doc.Column{{Title: "series", Kind: doc.Name}, {Title: "level now"},
				{Title: "changes", Right: true}, {Title: "remarks"}}, rows))}})
	}
	return blocks
}

func (p past) seriesSection(id string, s *history.Series, open bool, o HistoryOptions) doc.Section {
	section := doc.Section{ID: p.chartID(id, s), Title: seriesName(s), Value: nowText(s), Note: seriesNote(s), Fold: doc.Page, Open: open,
		Blocks: []doc.Block{doc.Figure{
			Wide:   func() string { return p.chart(s, o).Draw(true) },
			Narrow: func() string { return p.chart(s, o).Draw(false) },
			Plot:   func(width int) []string { return spark(s, len(p.Runs), width) }}}}
	var changes []doc.Answer
	for _, c := range s.Shifts {
		changes = append(changes, doc.Answer{Verdict: changeVerdict(c), Text: doc.Words(shiftWord(s, c) + " " + p.shiftPlace(c)), Causes: p.shiftCause(c)})
	}
	section.Blocks = append(section.Blocks, doc.On(doc.Terminal, doc.If(changes != nil, doc.Answers{List: changes})))
	for _, n := range wording.Findings(s.Notes) {
		section.Blocks = append(section.Blocks, doc.Note(brief(n)))
	}
	return section
}

// changes are the changes of series, in the order in which they happened.
func (p past) changes(id string, list []*history.Series, o HistoryOptions) []doc.Answer {
	var answers []doc.Answer
	for _, f := range findings(list) {
		text := doc.Text{{Words: plain(f.Cell) + ": " + seriesName(f.Series), Style: doc.Strong, Link: "#" + p.chartID(id, f.Series)},
			{Words: ": " + shiftWord(f.Series, f.Shift) + " " + p.shiftPlace(f.Shift)}}
		text = append(text, p.around(f.Shift, o)...)
		answers = append(answers, doc.Answer{Verdict: changeVerdict(f.Shift), Text: text, Causes: p.shiftCause(f.Shift)})
	}
	return answers
}

// around leads to the runs before and after a change, and to their comparison, if there is one.
func (p past) around(c history.Shift, o HistoryOptions) doc.Text {
	if o.Compared == nil {
		return nil
	}
	before, after := p.Runs[c.Last], p.Runs[c.Run]
	return doc.Text{{Words: "; "}, {Words: "before", Link: o.link(before)}, {Words: ", "}, {Words: "after", Link: o.link(after)}, {Words: ", "},
		{Words: "both compared", Link: link("", o.Compared(before, after))}}
}

// chartID names the chart of a series within a page.
func (p past) chartID(id string, s *history.Series) string {
	for i := range p.Series {
		if &p.Series[i] == s {
			return fmt.Sprintf("%s-%d", id, i+1)
		}
	}
	return id
}

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
	return []doc.Block{doc.On(doc.Page, doc.Section{Title: "Runs", Note: "the latest first", Fold: doc.Page,
		Blocks: p.runTable(o)}),
		doc.On(doc.Terminal|doc.Markdown, doc.If(left != nil,
			doc.Section{Title: "Left out", Flush: true, Blocks: []doc.Block{doc.List{Items: doc.Each(left),
				Most: mostLeftOut}}}))}
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
	columns := []doc.Column{{Title: "no.", Right: true}, {Title: "run", Kind: doc.Name},
		{Title: "start (UTC)"}, {Title: "Tare"},
		{Title: "state", Kind: doc.Prose}, {Title: "different from the run before", Kind: doc.Prose}}
	if slices.ContainsFunc(p.Runs, func(r *history.Run) bool { return len(r.Labels) > 0 }) {
		columns = append(columns, doc.Column{Title: "made of"})
		for i := range rows {
			rows[i].Cells = append(rows[i].Cells, doc.C(wording.Labels(p.Runs[len(p.Runs)-1-i].Labels)))
		}
	}
	return []doc.Block{doc.Simple(columns, rows),
		doc.SayIf(more > 0, wording.Count(more, "earlier run is", "earlier runs are")+" not listed.")}
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
