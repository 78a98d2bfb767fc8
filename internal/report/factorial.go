package report

import (
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
)

const factorialNote = "A layer alone: its cost on average over the settings of the others. × is an interaction: the joint cost of layers beyond the sum. " +
	"Shares are combined as factors: 10 % and 20 % make 32 %. The effects on headline metrics are a family of their own under Holm's correction."

// factorialBlocks show the effects of a factorial design's layers, alone and together. A terminal shows
// headline metrics only, unless all is set.
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
	for i := range f.Effects {
		e := &f.Effects[i]
		if e.Metric.Headline != headline {
			continue
		}
		g := groupOf(&t, plain(e.Cell))
		title := append(doc.In(doc.Strong, plain(e.Metric.Name)), doc.Span{Words: when(e.Metric.Better != "", " "+better(e.Metric))})
		part := findOrAdd(&g.Parts, func(p doc.Part) bool { return slices.Equal(p.Title, title) }, doc.Part{Title: title})
		part.Add(effectRow(e))
	}
	return t
}

func effectRow(e *analysis.Effect) doc.Row {
	point, interval := wording.EffectOverhead(e)
	mde := when(wording.HasNumbers(e.Comparison) && e.MDE > 0, wording.Size(e.Metric, e.MDE))
	cells := append(doc.Cells(plain(e.Metric.Name), plain(wording.EffectName(e))), doc.Of(gradedVerdict(&e.Comparison, false)))
	return doc.Row{Cells: append(cells, doc.Cells(point, interval, mde, number(e.Rounds), brief(wording.EffectVerdict(e)))...)}
}

// effectFields returns the CSV line of an effect, in the columns of a comparison.
func (s *sheet) effectFields(e analysis.Effect) []field {
	role := experiment.Role("main effect")
	if e.Interaction() {
		role = "interaction"
	}
	return replaced(s.fields(e.Comparison), map[string]any{"arm": wording.EffectName(&e), "role": role,
		"baseline_median": nil, "arm_median": nil, "text": wording.EffectSentence(&e)})
}
