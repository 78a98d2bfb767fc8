package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
)

// overheadBlocks draw the overheads of the first headline metrics.
func (s *sheet) overheadBlocks() []doc.Block {
	first, _ := s.forest().Split(maxOverheads)
	if first.Groups == nil {
		return []doc.Block{doc.Say("There is nothing to draw: no headline metric has " +
			s.sampled("complete pairs", "values of both arms") + ".")}
	}
	how := join(" ", "interval. To the right is a cost, to the left a gain.",
		when(s.margin() > 0, "The shaded band is the margin of ±"+wording.Share(s.margin())+" within which arms count as equivalent."),
		when(len(s.run.Controls) > 0, "The grey rows compare the baseline with its own copy: they show the size of differences without a cause in this run."),
		when(s.run.Observation != nil, "Verdicts marked (obs.) are observational."))
	return []doc.Block{doc.Section{Title: "Overheads", Blocks: []doc.Block{drawn(first), doc.Note("Each mark is the overhead of an arm relative to " +
		s.baseline + ", the line its " + s.confidence() + " " + how)}}}
}

// restOfOverheads draws the overheads that the picture at the top leaves out. With many arms, it draws all overheads,
// the largest first.
func (s *sheet) restOfOverheads() []doc.Block {
	if s.alone() {
		return nil
	}
	_, rest := s.forest().Split(maxOverheads)
	blocks := forestBlocks(rest)
	if s.many() {
		blocks = s.sortedForest()
	}
	return []doc.Block{doc.On(doc.Page, doc.If(blocks != nil, doc.Section{ID: "overheads", Title: "Overheads", Blocks: blocks}))}
}

// forestBlocks draws overheads in one picture. If there are more than maxRows overheads, each cell has a picture of its
// own.
func forestBlocks(f figure.Forest) []doc.Block {
	rows := 0
	var cells [][]figure.Group
	for i, g := range f.Groups {
		rows += len(g.Rows)
		if i == 0 || g.Cell != f.Groups[i-1].Cell {
			cells = append(cells, nil)
		}
		cells[len(cells)-1] = append(cells[len(cells)-1], g)
	}
	if rows > 0 && rows <= maxRows {
		return []doc.Block{drawn(f)}
	}
	var blocks []doc.Block
	for i, groups := range cells {
		f.Groups = groups
		blocks = append(blocks, doc.Section{Title: plain(groups[0].Cell), Fold: doc.Page, Open: i < 3,
			Blocks: []doc.Block{drawn(f)}})
	}
	return blocks
}

// drawn returns a picture for wide and for narrow pages.
func drawn(of interface{ Draw(wide bool) string }) doc.Figure {
	return doc.Figure{Wide: func() string { return of.Draw(true) }, Narrow: func() string { return of.Draw(false) }}
}

func (s *sheet) resultBlocks(all bool) []doc.Block {
	in := doc.Terminal | doc.Markdown | doc.Page
	switch {
	case s.alone():
		in = doc.Terminal // a page shows the values of a run's single arm at its top already
	case s.many() && !all:
		in = doc.Markdown | doc.Page // with many arms, a terminal shows a ranking of the arms instead
	}
	section := doc.Section{ID: "results", Title: "Results", NoTitle: doc.Terminal, Blocks: []doc.Block{
		doc.On(doc.Page, doc.Say(s.legend()))}}
	table := s.resultTable(true)
	table.Key = "Plot: ├●┤ estimate and interval, │ no difference, a cost to the right" +
		when(s.margin() > 0, ", ┊ the margin of ±"+wording.Share(s.margin())) + "."
	none := doc.If(table.Groups == nil, doc.On(doc.Page, doc.Say("No results.")))
	section.Blocks = append(section.Blocks, tables(all, table, s.resultTable(false), none)...)
	return []doc.Block{doc.On(in, section)}
}

func (s *sheet) resultTable(headline bool) doc.Table {
	floor := doc.Page
	if len(s.run.Controls) == 0 {
		floor = doc.NoForm
	}
	t := doc.Table{NoTitles: true, Split: true, Columns: []doc.Column{
		{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name}, {Title: "verdict"},
		{Title: "overhead", Right: true}, {Title: "interval", Right: true, Tight: true}, {Title: "mean", Right: true, In: doc.Markdown | doc.Page},
		{Title: s.baseline, Right: true, In: doc.Markdown}, {Title: "median", Right: true, In: doc.Markdown | doc.Page},
		{Title: "found with " + wording.Share(float64(s.plan.Power)), Right: true, In: doc.Markdown | doc.Page}, {Title: "noise floor", Right: true, In: floor},
		{Title: s.sizeHead(), Right: true, In: doc.Markdown | doc.Page}, {Title: "why", Kind: doc.Prose, In: doc.Terminal},
		{Kind: doc.Drawing},
	}}
	for _, b := range s.cells {
		g := doc.Group{Title: doc.Words(plain(b.id))}
		for _, c := range s.run.Cells {
			if c.ID == b.id && c.Loop != nil && (headline || len(b.only(true)) == 0) {
				g.Notes = []string{sentence(brief(wording.Loop(c.Loop)))}
			}
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

func (s *sheet) resultPart(g group) doc.Part {
	part := doc.Part{Title: doc.In(doc.Strong, plain(g.metric.Name))}
	baseline, restates := "", ""
	var drawn []analysis.Interval
	for _, c := range g.lines() {
		if wording.HasNumbers(c) {
			drawn = append(drawn, c.Overhead)
		}
		baseline = cmp.Or(baseline, when(c.Baseline.N > 0, wording.Value(c.Baseline.Median, g.metric.Unit)))
		restates = cmp.Or(restates, c.Restates)
	}
	if text := s.overload(g); text != "" {
		part.Notes = append(part.Notes, text)
	}
	about := when(baseline != "", " "+baseline) + when(g.metric.Better != "", ", "+better(g.metric)) +
		when(g.metric.Objective != "", ", at "+plain(g.metric.Objective))
	part.Title = append(part.Title, doc.Span{Words: about})
	if restates != "" {
		part.Notes = append(part.Notes, "restates "+plain(restates))
	}
	if of := s.bars(g); g.metric.Headline && len(of.Bars) > 1 {
		part.Above = func(width int) []string { return barLines(of, width) }
	}
	p := plot{axis: figure.Overheads(drawn, s.marginFor(g.metric), figure.BendRatio), margin: s.marginFor(g.metric)}
	if drawn != nil {
		part.Axis = func(width int) string { return p.labels(g.metric, width) }
	}
	shared := sharedReason(g.rows)
	if shared != "" {
		part.Notes = append(part.Notes, string(g.rows[0].Verdict)+": "+shared)
	}
	for _, c := range g.lines() {
		row := s.resultRow(c, plain(g.metric.Name), baseline, shared)
		row.Cells[len(row.Cells)-1] = doc.Cell{Draw: func(width int) string { return p.interval(c, s.role(c.Arm) == experiment.Control, width) }}
		part.Add(row)
	}
	switch {
	case len(part.Rows) > 0:
	case g.series == nil || !s.alone():
		part.Notes = append(part.Notes, s.sampled("no complete pairs", "no values of both arms"))
	default:
		for _, a := range g.series.Arms {
			part.Notes = append(part.Notes, plain(a.Arm)+": "+level(a, g.metric))
		}
	}
	return part
}

// overload states which share of its load each arm still serves beyond its capacity; "" if the metric is no capacity.
func (s *sheet) overload(g group) string {
	of := "answers %s of it"
	rate := s.seriesGroup(g.cell, labels.Metric("http", "rate-beyond"))
	if rate == nil { // the workload xds has a metric of its own for overload, ready-beyond
		of, rate = "has %s of it ready in time", s.seriesGroup(g.cell, labels.Metric("xds", "ready-beyond"))
	}
	if g.metric.Objective == "" || rate == nil {
		return ""
	}
	var parts []string
	for _, a := range rate.series.Arms {
		if m := a.Summary; m.N > 0 && s.role(a.Arm) != experiment.Control {
			parts = append(parts, plain(a.Arm)+" "+fmt.Sprintf(of, wording.Share(m.Median))+when(m.Median < collapseShare, ", a collapse"))
		}
	}
	return when(parts != nil, "Loaded beyond its capacity: "+strings.Join(parts, "; ")+".")
}

// resultRow returns the table row of a comparison. The row's last field stays empty: the caller adds the drawing there.
func (s *sheet) resultRow(c analysis.Comparison, metric, baseline, shared string) doc.Row {
	control := s.role(c.Arm) == experiment.Control
	point, interval := wording.Overhead(c)
	judged := wording.HasNumbers(c)
	value, _, _ := medianOrRange(c.Treated, c.Metric.Unit)
	value = when(judged && c.Treated.N > 0, value)
	mde := when(judged && c.MDE > 0, wording.Size(c.Metric, c.MDE))
	floor := when(judged && !control && len(s.run.Controls) > 0, wording.Size(c.Metric, c.Floor))
	mean := when(judged, wording.MeanOverhead(&c))
	reason := openReason(&c)
	reason = when(!control && reason != shared, reason)
	word := gradedVerdict(&c, s.claimsObservational(c.Verdict) || claimsObservational(c))
	if control {
		word = doc.In(doc.Muted, "noise floor")
	}
	row := doc.Row{Muted: control, Cells: append(append(doc.Cells(metric, plain(c.Arm)), doc.Of(word)),
		doc.Cells(point, interval, mean, baseline, plain(value), mde, floor, valueCount(c), reason, "")...)}
	if a := s.aside(c); a != "" {
		row.Notes = append(row.Notes, a)
	}
	if c.Verdict == analysis.Invalid && s.run.Valid && !control { // an invalid run has its reasons at the top of the report, and not at each row
		row.Notes = append(row.Notes, plain(wording.Reason(c.Reason)))
	}
	return row
}

// openReason explains why a comparison is not resolved or has no verdict yet; "" for other verdicts. For a claim, it
// names missing trials that do not change it.
func openReason(c *analysis.Comparison) string {
	switch c.Verdict {
	case analysis.NotResolved:
		return brief(wording.Why(c))
	case analysis.Interim:
		return brief(wording.Reason(c.Reason))
	case analysis.Costs, analysis.Gains:
		return when(c.Reason != nil, brief(wording.Why(c)))
	}
	return ""
}

// sharedReason returns the reason for the verdict if it is the same in all rows, so that it can be shown once; "" if
// the reasons differ.
func sharedReason(rows []analysis.Comparison) string {
	if len(rows) < 2 || slices.ContainsFunc(rows, func(c analysis.Comparison) bool { return openReason(&c) != openReason(&rows[0]) }) {
		return ""
	}
	return openReason(&rows[0])
}

func (s *sheet) legend() string {
	if s.alone() {
		return fmt.Sprintf("Medians with their %s intervals. Nothing is compared with %s.", s.confidence(), s.baseline)
	}
	text := fmt.Sprintf("Beside a metric stands the median of %s. Overheads are relative to %s and of the typical round, with their %s intervals.", s.baseline, s.reference(), s.confidence())
	normal := slices.ContainsFunc(s.run.Comparisons, func(c analysis.Comparison) bool { return c.Grade == analysis.Normal })
	return join(" ", text, when(normal, ifNormalNote), when(s.run.Observation != nil, observedNote))
}
