package report

import (
	"fmt"
	"strings"

	"tare/analysis"
	"tare/experiment"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// overheadBlocks draw the overheads of the headline metrics.
func (s *sheet) overheadBlocks() []doc.Block {
	forests := forestBlocks(s.forest(s.ratioGroups()))
	if forests == nil {
		text := "There is nothing to draw: no headline metric has values of both arms."
		if s.plan.Paired() {
			text = "There is nothing to draw: no headline metric has complete pairs."
		}
		return []doc.Block{doc.Say(text)}
	}
	text := doc.Text{{Words: "Each mark is the overhead of an arm relative to "}, {Words: s.baseline, Style: doc.Strong},
		{Words: ", the line its " + wording.Share(float64(s.plan.Confidence)) + " interval. To the right is a cost, to the left a gain."}}
	say := func(sentence string) { text = append(text, doc.Span{Words: " " + sentence}) }
	if s.margin() > 0 {
		say("The shaded band is the margin of ±" + wording.Share(s.margin()) + " within which arms count as equivalent.")
	}
	if len(s.run.Controls) > 0 {
		say("The grey rows compare the baseline with its own copy: what a difference of nothing looks like in this run.")
	}
	if s.run.Observation != nil {
		say("Verdicts marked (obs.) are observational.")
	}
	return append([]doc.Block{doc.Paragraph{Text: text}}, forests...)
}

// forestBlocks draw overheads: in one picture, or in one for each cell where there
// are many.
func forestBlocks(f figure.Forest) []doc.Block {
	rows := 0
	for _, g := range f.Groups {
		rows += len(g.Rows)
	}
	if rows > 0 && rows <= mostRows {
		return []doc.Block{forestFigure(f)}
	}
	var blocks []doc.Block
	for from := 0; from < len(f.Groups); {
		to := from
		for to < len(f.Groups) && f.Groups[to].Cell == f.Groups[from].Cell {
			to++
		}
		one := f
		one.Groups = f.Groups[from:to]
		blocks = append(blocks, doc.Section{Title: plain(one.Groups[0].Cell), Fold: doc.Page, Open: len(blocks) < 3, Blocks: []doc.Block{forestFigure(one)}})
		from = to
	}
	return blocks
}

func forestFigure(f figure.Forest) doc.Figure {
	return doc.Figure{Wide: func() string { return f.Draw(true) }, Narrow: func() string { return f.Draw(false) }}
}

// resultBlocks are the results of headline metrics, and of exploratory ones.
func (s *sheet) resultBlocks(all bool) []doc.Block {
	in := doc.Terminal | doc.Markdown | doc.Page
	if s.alone() {
		in = doc.Terminal // the summary has all
	}
	section := doc.Section{ID: "results", Title: "Results", Quiet: doc.Terminal, Blocks: []doc.Block{
		doc.On(doc.Page, doc.Say(s.legend()))}}
	if table := s.resultTable(true); len(table.Groups) > 0 {
		table.Key = s.plotLegend()
		section.Blocks = append(section.Blocks, table)
	} else {
		section.Blocks = append(section.Blocks, doc.On(doc.Page, doc.Say("No results.")))
	}
	if rest := s.resultTable(false); len(rest.Groups) > 0 {
		exploratory := doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page, Blocks: []doc.Block{rest}}
		section.Blocks = append(section.Blocks, doc.On(shownIn(all), exploratory))
	}
	return []doc.Block{doc.On(in, section)}
}

// resultTable shows comparisons by cell and metric.
func (s *sheet) resultTable(headline bool) doc.Table {
	floor := doc.Page
	if len(s.run.Controls) == 0 {
		floor = doc.Nowhere
	}
	t := doc.Table{Bare: true, Split: true, Columns: []doc.Column{
		{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name}, {Title: "verdict"},
		{Title: "overhead", Right: true}, {Title: "interval", Right: true, Tight: true},
		{Title: s.baseline, Right: true, In: doc.Markdown}, {Title: "median", Right: true, In: doc.Markdown | doc.Page},
		{Title: "smallest visible", Right: true, In: doc.Markdown | doc.Page}, {Title: "noise floor", Right: true, In: floor},
		{Title: strings.ToLower(s.sizeHead()), Right: true, In: doc.Markdown | doc.Page}, {Title: "why", Kind: doc.Prose, In: doc.Terminal}, {Kind: doc.Drawing},
	}}
	for _, b := range s.blocks {
		g := doc.Group{Title: doc.Words(plain(b.id)), Aside: b.levels}
		if text := s.loop(b.id); text != "" && (headline || len(b.only(true)) == 0) {
			g.Notes = []string{text}
		}
		for _, of := range b.only(headline) {
			g.Parts = append(g.Parts, s.resultPart(of))
		}
		if g.Parts != nil {
			t.Groups = append(t.Groups, g)
		}
	}
	return t
}

// resultPart shows the comparisons of one metric.
func (s *sheet) resultPart(g group) doc.Part {
	part := doc.Part{Title: doc.In(doc.Strong, plain(g.metric.Name))}
	baseline := ""
	if v, ok := g.baselineMedian(); ok {
		baseline = wording.Value(v, g.metric.Unit)
		part.Title = append(part.Title, doc.Span{Words: " " + baseline})
	}
	if g.metric.Better != "" {
		part.Title = append(part.Title, doc.Span{Words: ", " + plain(string(g.metric.Better)) + " is better"})
	}
	if r := g.restates(); r != "" {
		part.Notes = []string{"restates " + r}
	}
	p := plot{axis: figure.Overheads(drawn(g.lines()), s.marginFor(g.metric)), margin: s.marginFor(g.metric)}
	for _, c := range g.lines() {
		if wording.Judged(c) {
			part.Axis = func(width int) string { return p.labels(g.metric, width) }
		}
		row := s.resultRow(c, plain(g.metric.Name), baseline)
		row.Cells[len(row.Cells)-1] = doc.Cell{Draw: func(width int) string { return p.interval(c, s.role(c.Arm) == experiment.Control, width) }}
		part.Add(row)
	}
	if len(part.Rows) == 0 {
		part.Notes = append(part.Notes, s.noComparison(g)...)
	}
	return part
}

// noComparison says what there is of a metric where nothing is compared.
func (s *sheet) noComparison(g group) []string {
	if g.series == nil || !s.alone() {
		return []string{s.nothingCompared()}
	}
	var list []string
	for _, a := range g.series.Arms {
		list = append(list, plain(a.Arm)+": "+level(a, g.metric))
	}
	return list
}

// resultRow writes a comparison's numbers. The last cell is for its drawing.
func (s *sheet) resultRow(c analysis.Comparison, metric, baseline string) doc.Row {
	control := s.role(c.Arm) == experiment.Control
	point, interval := wording.Overhead(c)
	median, mde, floor, reason := "", "", "", ""
	if wording.Judged(c) {
		if c.Treated.N > 0 {
			median = wording.Value(c.Treated.Median, c.Metric.Unit)
		}
		if c.MDE > 0 {
			mde = wording.Size(c.Metric, c.MDE)
		}
		if !control && len(s.run.Controls) > 0 {
			floor = wording.Size(c.Metric, c.Floor)
		}
	}
	said := verdict(c.Verdict, s.observes(c.Verdict) || observed(c))
	if control {
		said = doc.In(doc.Muted, "noise floor")
	} else if c.Verdict == analysis.NotResolved {
		reason = brief(wording.Why(&c))
	}
	row := doc.Row{Muted: control, Cells: append(append(doc.Cells(metric, plain(c.Arm)), doc.Of(said)),
		doc.Cells(point, interval, baseline, median, mde, floor, valueCount(c), reason, "")...)}
	if a := s.aside(c); a != "" {
		row.Notes = append(row.Notes, a)
	}
	if c.Verdict == analysis.Invalid && s.run.Valid {
		row.Notes = append(row.Notes, plainAll(wording.Findings(c.Warnings))...)
	}
	return row
}

// plotLegend explains the drawings of a terminal.
func (s *sheet) plotLegend() string {
	text := "Plot: ├●┤ estimate and interval, │ no difference"
	if s.margin() > 0 {
		text += ", ┊ the margin of ±" + wording.Share(s.margin())
	}
	return text + "."
}

// legend explains the columns.
func (s *sheet) legend() string {
	if s.alone() {
		return fmt.Sprintf("Medians with their %s intervals. Nothing is compared with %s.", wording.Share(float64(s.plan.Confidence)), s.baseline)
	}
	text := fmt.Sprintf("Beside a metric stands the median of %s. Overheads are relative to it, plus is a cost, [%s interval].", s.baseline, wording.Share(float64(s.plan.Confidence)))
	if s.run.Observation != nil {
		text += " " + observedNote
	}
	return text
}
