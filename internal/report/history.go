package report

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/experiment"
	"tare/internal/lists"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/runs/history"
)

// History shows the runs of each experiment over time: the changes, the series, and the runs.
func History(h *history.History, o HistoryOptions) *doc.Document {
	var plans []*experiment.Plan
	for _, e := range h.Experiments {
		plans = append(plans, lists.Map(e.Runs, func(r *history.Run) *experiment.Plan { return r.Plan })...)
	}
	h = labels.Shown(h, plans...)
	d := &doc.Document{Title: "History", Styles: figure.PageCSS(), Footer: "Made by tare history" + generatedOn(o.Generated) + "."}
	var all []experimentHistory
	runs, left := 0, 0
	for _, e := range h.Experiments {
		p := experimentHistory{e, h.Confidence}
		all, runs, left = append(all, p), runs+len(p.Runs), left+len(p.leftOut())
	}
	if len(all) == 1 {
		d.Title = "History of " + experimentName(all[0])
	}
	d.Add(doc.On(doc.Page, doc.Facts{Look: doc.Glance, List: known(
		"Runs", number(runs), "Left out", number(left), "Experiments", number(len(all)),
		"Smallest segment", wording.Count(h.Segment, "run", "runs"),
		"Chance of a false change", "at most "+wording.Share(h.Alpha))}))
	for i, p := range all {
		s := doc.Section{ID: fmt.Sprintf("e%d", i+1), Title: experimentName(p), Flush: true}
		if len(all) == 1 {
			s.NoTitle = doc.Terminal | doc.Markdown // the document's title already names the experiment
		}
		s.Blocks = p.blocks(s.ID, o)
		d.Add(s)
	}
	terms := fmt.Sprintf(historyTerms, wording.Share(h.Alpha), h.Segment, wording.Confidence(h.Confidence))
	return d.Add(doc.On(doc.Markdown|doc.Page, skippedRuns(h.Skipped)),
		doc.Section{ID: "read", Title: "How to read this", NoTitle: doc.Terminal | doc.Markdown, Blocks: []doc.Block{
			doc.On(doc.Page, doc.Say(historyLegend)),
			doc.Section{Blocks: []doc.Block{doc.Say(terms)}},
			doc.On(doc.Page, doc.Say(historyDoubts))}})
}

func experimentName(p experimentHistory) string { return cmp.Or(plain(p.Name), "(no name)") }

// historyLegend explains the charts. historyDoubts explains why the charts may be wrong.
const (
	historyLegend = "Each mark is one run, the line through it its interval; a mark leads to the run's report. " +
		"Overheads are relative to the run's own baseline, so that the level of the machine cancels; the levels of baselines show the machine itself. " +
		"Heavy lines are the level between changes. A change is drawn between the last run of the old level and the first of the new one; " +
		"it may lie anywhere among the shaded runs. Crosses are runs that are left out of all statistics. " +
		"Ticks at the foot mark runs in which something else changed (point at a tick to see what it is); dashed lines mark runs with other parameters."
	historyTerms = "The search would find a false change in at most %s of histories without changes. Changes are at least %d runs apart. " +
		"Each point is one run; levels are Hodges–Lehmann estimates over the runs between changes, intervals have %s confidence."
	historyDoubts = "A change's position was chosen because the change looks large there, which the interval of its size does not allow for. The positions assume independent runs."
)

func (p experimentHistory) blocks(id string, o HistoryOptions) []doc.Block {
	headline, rest := p.series(true), p.series(false)
	shown := headline
	if o.All {
		shown = pointers(p.Series)
	}
	changes, others := p.changes(id, headline, o), p.parameterChanges(shown)
	found := cmp.Or(when(len(findings(shown)) > 0, wording.Count(len(findings(shown)), "change", "changes")), "No change")
	blocks := []doc.Block{doc.Say(p.heading() + ". " + found + " in " + wording.Count(len(shown), "series", "series") + "."),
		doc.If(changes != nil, doc.On(doc.Markdown|doc.Page, doc.Answers{List: changes})),
		doc.If(others != nil, doc.Section{Title: "Other parameters", Note: "marked by ┊ in a plot, by a dashed line in a chart",
			Flush: true, Blocks: []doc.Block{doc.List{Items: doc.Each(others)}}})}
	blocks = append(blocks, p.cells(id, headline, true, o)...)
	return slices.Concat(blocks, p.restBlocks(id, rest, o), p.runBlocks(o))
}

func (p experimentHistory) restBlocks(id string, rest []*history.Series, o HistoryOptions) []doc.Block {
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

func (p experimentHistory) cells(id string, list []*history.Series, headline bool, o HistoryOptions) []doc.Block {
	var blocks []doc.Block
	drawn := 0
	var cells []string
	for _, s := range list {
		indexOrAdd(&cells, s.Cell)
	}
	for _, cell := range cells {
		charts := doc.Only{In: doc.Terminal | doc.Page}
		var rows []doc.Row
		for _, s := range list {
			if s.Cell != cell {
				continue
			}
			drawn++
			charts.Blocks = append(charts.Blocks, p.seriesSection(id, s, len(s.Shifts) > 0 || headline && drawn <= maxOpen, o))
			rows = append(rows, doc.Row{Cells: doc.Cells(seriesName(s), nowText(s), fmt.Sprint(len(s.Shifts)),
				join("; ", append([]string{seriesNote(s)}, plainAll(wording.Findings(s.Notes))...)...))})
		}
		blocks = append(blocks, doc.Section{Title: plain(cell), Blocks: []doc.Block{charts,
			doc.On(doc.Markdown, doc.Simple([]doc.Column{{Title: "series", Kind: doc.Name}, {Title: "level now"},
				{Title: "changes", Right: true}, {Title: "remarks"}}, rows))}})
	}
	return blocks
}

func (p experimentHistory) seriesSection(id string, s *history.Series, open bool, o HistoryOptions) doc.Section {
	chart := drawn(p.chart(s, o))
	chart.Plot = func(width int) []string { return spark(s, len(p.Runs), width) }
	section := doc.Section{ID: p.chartID(id, s), Title: seriesName(s), Value: nowText(s), Note: seriesNote(s), Fold: doc.Page, Open: open,
		Blocks: []doc.Block{chart}}
	changes := lists.Map(s.Shifts, func(c history.Change) doc.Answer {
		return doc.Answer{Verdict: changeVerdict(c), Text: doc.Words(shiftWord(s, c) + " " + p.shiftRun(c)), Causes: p.shiftCause(c)}
	})
	section.Blocks = append(section.Blocks, doc.On(doc.Terminal, doc.If(changes != nil, doc.Answers{List: changes})))
	for _, n := range wording.Findings(s.Notes) {
		section.Blocks = append(section.Blocks, doc.Note(brief(n)))
	}
	return section
}

func (p experimentHistory) changes(id string, list []*history.Series, o HistoryOptions) []doc.Answer {
	var answers []doc.Answer
	for _, f := range findings(list) {
		text := doc.Text{{Words: plain(f.Cell) + ": " + seriesName(f.Series), Style: doc.Strong, Link: "#" + p.chartID(id, f.Series)},
			{Words: ": " + shiftWord(f.Series, f.Change) + " " + p.shiftRun(f.Change)}}
		text = append(text, p.comparisonLinks(f.Change, o)...)
		answers = append(answers, doc.Answer{Verdict: changeVerdict(f.Change), Text: text, Causes: p.shiftCause(f.Change)})
	}
	return answers
}

func (p experimentHistory) comparisonLinks(c history.Change, o HistoryOptions) doc.Text {
	if o.Compared == nil {
		return nil
	}
	before, after := p.Runs[c.Last], p.Runs[c.Run]
	return doc.Text{{Words: "; "}, {Words: "before", Link: o.link(before)}, {Words: ", "}, {Words: "after", Link: o.link(after)}, {Words: ", "},
		{Words: "both compared", Link: link("", o.Compared(before, after))}}
}

func (p experimentHistory) chartID(id string, s *history.Series) string {
	for i := range p.Series {
		if &p.Series[i] == s {
			return fmt.Sprintf("%s-%d", id, i+1)
		}
	}
	return id
}

func (p experimentHistory) runBlocks(o HistoryOptions) []doc.Block {
	left := lists.Map(p.leftOut(), func(r *history.Run) string { return plain(r.Directory) + ": " + brief(wording.Reason(r.LeftOut)) })
	return []doc.Block{doc.On(doc.Page, doc.Section{Title: "Runs", Note: "the latest first", Fold: doc.Page, Blocks: p.runTable(o)}),
		doc.On(doc.Terminal|doc.Markdown, doc.If(left != nil,
			doc.Section{Title: "Left out", Flush: true, Blocks: []doc.Block{doc.List{Items: doc.Each(left), Most: maxLeftOut}}}))}
}

func (p experimentHistory) runTable(o HistoryOptions) []doc.Block {
	changed := map[int]bool{}
	for _, f := range findings(p.series(true)) {
		changed[f.Run] = true
	}
	var rows []doc.Row
	for i := len(p.Runs) - 1; i >= 0 && len(rows) < maxRunRows; i-- {
		rows = append(rows, p.runRow(i, changed[i], o))
	}
	more := len(p.Runs) - len(rows)
	columns := []doc.Column{{Title: "no.", Right: true}, {Title: "run", Kind: doc.Name}, {Title: "start (UTC)"}, {Title: "Tare"},
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

// runRow returns the row of a run. The run's number is bold if a change begins at this run.
func (p experimentHistory) runRow(i int, changed bool, o HistoryOptions) doc.Row {
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

func runEvents(r *history.Run) []string {
	list := plainAll(wording.Differences(r.Events[:min(len(r.Events), maxRunEvents)]))
	if n := len(r.Events) - maxRunEvents; n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return list
}

// link returns the relative address of a run's report, or of its directory.
func (o HistoryOptions) link(r *history.Run) string {
	way := relativePath(cmp.Or(o.Page, "history.html"), r.Directory)
	if o.Reports[r.Directory] {
		return link(way, "report.html")
	}
	return link(way, "/")
}
