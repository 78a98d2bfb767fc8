package report

import (
	"slices"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
)

const breakdownNote = "Installed: the layer's cost at level 0. Any: the cost of the first one, independent of the number. Each: the slope of a line through the levels above zero, fitted in every round. " +
	"Any and each on headline metrics are a family of their own under Holm's correction."

func (s *sheet) breakdownBlocks(all bool) []doc.Block {
	headline, rest := partition(pointers(s.run.Breakdowns), func(b *analysis.Breakdown) bool { return b.Metric.Headline })
	var figures []doc.Block
	for i, b := range headline {
		figures = append(figures, doc.On(doc.Page, doc.Section{Title: plain(b.Metric.Name) + " by " + plain(b.Factor) + ", " + plain(wording.BreakdownName(b)),
			Note: plain(b.Cell), Flush: true, Fold: doc.Page, Open: i < maxOpen,
			Blocks: []doc.Block{doc.Say(brief(upperFirst(wording.BreakdownText(b))) + "."), drawn(s.breakdownChart(b))}}))
	}
	return notedSection("breakdown", "Installed, any, each", breakdownNote, tables(all, partTable(headline), partTable(rest), figures...))
}

func partTable(list []*analysis.Breakdown) doc.Table {
	t := doc.Table{NoTitles: true, Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name, In: doc.Markdown},
		{Title: "part", Kind: doc.Name}, {Title: "verdict"}, {Title: "cost", Right: true}, {Title: "interval", Right: true, Tight: true}, {Title: "in its unit", Right: true},
		{Title: "rounds", Right: true, In: doc.Markdown | doc.Page}, {Title: "why no claim", Kind: doc.Prose}}}
	for _, b := range list {
		g := groupOf(&t, plain(b.Cell))
		name := plain(wording.BreakdownName(b))
		part := doc.Part{Title: append(doc.In(doc.Strong, plain(b.Metric.Name)), doc.Span{Words: " " + join(", ", name, better(b.Metric))})}
		for _, p := range pointers(b.Parts) {
			point, interval := wording.Overhead(p.Comparison)
			row := doc.Row{Cells: append(doc.Cells(plain(b.Metric.Name), name, plain(wording.PartName(b, p.Part))), doc.Of(gradedVerdict(&p.Comparison, false)))}
			row.Cells = append(row.Cells, doc.Cells(point, interval, wording.PartAmount(p), number(p.Rounds), when(!p.Verdict.Claims(), brief(wording.Verdict(&p.Comparison))))...)
			part.Rows = append(part.Rows, row)
		}
		if miss := wording.NotALine(b); miss != "" && len(part.Rows) > 0 {
			last := &part.Rows[len(part.Rows)-1]
			last.Notes = append(last.Notes, brief(upperFirst(miss)))
		}
		g.Parts = append(g.Parts, part)
	}
	return t
}

func (s *sheet) breakdownChart(b *analysis.Breakdown) figure.Lines {
	name := "overhead on " + b.Metric.Name
	l := figure.Lines{Metric: name, Unit: b.Metric.Unit, Factor: b.Factor, X: b.X, Bars: true}
	scale := 1.0
	if wording.IsRatio(b.Metric) {
		l.Unit, scale = "%", 100
	}
	scaled := func(i analysis.Interval) analysis.Interval {
		return analysis.Interval{Point: scale * i.Point, Lo: scale * i.Lo, Hi: scale * i.Hi}
	}
	line := figure.Line{Arm: wording.BreakdownName(b), From: max(0, len(b.X)-len(b.Line))}
	if len(b.Arms) > 0 {
		line.Look = s.look(b.Arms[len(b.Arms)-1])
	}
	line.Fitted = make([]analysis.Interval, line.From, len(b.X))
	for _, at := range b.Line {
		line.Fitted = append(line.Fitted, scaled(at))
	}
	for _, arm := range b.Arms {
		_, c := s.measured(b.Cell, b.Metric.Name, arm)
		estimate := overheadEstimate(c)
		estimate.At = scaled(estimate.At)
		line.Estimates = append(line.Estimates, estimate)
	}
	l.Arms = []figure.Line{line}
	return l
}

const factorialNote = "A layer alone: its cost on average over the settings of the others. × is an interaction: the joint cost of layers beyond the sum. " +
	"Shares are combined as factors: 10 % and 20 % make 32 %. The effects on headline metrics are a family of their own under Holm's correction."

func (s *sheet) factorialBlocks(all bool) []doc.Block {
	f := s.run.Factorial
	if f == nil {
		return nil
	}
	return notedSection("factorial", "Alone and together", factorialNote, tables(all, s.effectTable(f, true), s.effectTable(f, false)))
}

func (s *sheet) effectTable(f *analysis.Factorial, headline bool) doc.Table {
	t := doc.Table{NoTitles: true, Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown},
		{Title: "layers", Kind: doc.Name}, {Title: "verdict"}, {Title: "effect", Right: true}, {Title: "interval", Right: true, Tight: true},
		{Title: "found with " + wording.Share(float64(s.plan.Power)), Right: true, In: doc.Markdown | doc.Page}, {Title: "rounds", Right: true, In: doc.Markdown | doc.Page},
		{Title: "in words", Kind: doc.Prose}}}
	for _, e := range pointers(f.Effects) {
		if e.Metric.Headline != headline {
			continue
		}
		g := groupOf(&t, plain(e.Cell))
		title := append(doc.In(doc.Strong, plain(e.Metric.Name)), doc.Span{Words: when(e.Metric.Better != "", " "+better(e.Metric))})
		part := findOrAdd(&g.Parts, func(p doc.Part) bool { return slices.Equal(p.Title, title) }, doc.Part{Title: title})
		point, interval := wording.Overhead(*wording.AgainstSum(e))
		mde := when(wording.HasNumbers(e.Comparison) && e.MDE > 0, wording.Size(e.Metric, e.MDE))
		cells := append(doc.Cells(plain(e.Metric.Name), plain(wording.EffectName(e))), doc.Of(gradedVerdict(&e.Comparison, false)))
		part.Add(doc.Row{Cells: append(cells, doc.Cells(point, interval, mde, number(e.Rounds), brief(wording.EffectVerdict(e)))...)})
	}
	return t
}
