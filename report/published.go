package report

import (
	"tare/published"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// Published shows the published table: for each cell the means with their
// variances, then the differences with what the intervals say of each.
func Published(t *published.Table) *doc.Document {
	d := &doc.Document{Title: publishedTitle(t), Styles: figure.PageCSS(), Footer: "Made by tare show."}
	return d.Add(publishedBlocks(t)...)
}

func publishedBlocks(t *published.Table) []doc.Block {
	survived := survivors(t)
	blocks := []doc.Block{doc.Say(publishedTrials(t)), doc.If(survived != "", doc.Say(survived)),
		doc.If(t.Observation != nil, doc.Say("Observational: "+brief(wording.Observation(t.Observation))+".")),
		doc.If(!t.Valid, doc.Say("This run gives no verdicts, so nothing is said of its differences.")),
		doc.If(t.Hidden > 0, doc.Say(upperFirst(notShown(t.Hidden))+"."))}
	for _, c := range t.Cells {
		var headline, rest []published.Metric
		for _, m := range c.Metrics {
			if m.Metric.Headline {
				headline = append(headline, m)
			} else {
				rest = append(rest, m)
			}
		}
		blocks = append(blocks, doc.Section{Title: plain(c.ID), Flush: true, Blocks: append(publishedTables(t, headline),
			doc.If(rest != nil, doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page, Open: true,
				Blocks: publishedTables(t, rest)}))})
	}
	return blocks
}

// publishedTables are a table of means, and one of differences.
func publishedTables(t *published.Table, metrics []published.Metric) []doc.Block {
	if len(metrics) == 0 {
		return nil
	}
	means := doc.Table{Columns: []doc.Column{{Title: "metric", Kind: doc.Name}}, Groups: []doc.Group{{Parts: []doc.Part{{}}}}}
	for _, a := range t.Arms {
		means.Columns = append(means.Columns, doc.Column{Title: plain(a), Right: true})
	}
	differences := doc.Table{Bare: true, Groups: []doc.Group{{}}, Columns: []doc.Column{
		{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "difference", Kind: doc.Name},
		{Title: "relative to the one"}, {Title: "relative to the other"},
		{Title: "verdict", In: doc.Page}, {Title: "what the intervals say", Kind: doc.Prose}}}
	for _, m := range metrics {
		name, sc := publishedName(m), publishedScale(m)
		row := doc.Row{Cells: doc.Cells(name)}
		for _, a := range m.Arms {
			row.Cells = append(row.Cells, doc.C(moments(sc, a)))
		}
		means.Groups[0].Add(row)
		part := doc.Part{Title: doc.In(doc.Strong, name)}
		for _, d := range m.Differences {
			toA, toB := relative(d)
			row := doc.Row{Cells: append(doc.Cells(name, pairName(d), toA, toB), doc.Cell{}, doc.C(said(d)))}
			if d.Said != nil {
				row.Cells[4] = doc.Of(verdict(d.Said.Verdict, observed(*d.Said)))
			}
			part.Add(row)
		}
		differences.Groups[0].Parts = append(differences.Groups[0].Parts, part)
	}
	return []doc.Block{means, differences}
}

// publishedName is a metric with the unit of its moments.
func publishedName(m published.Metric) string {
	return join(", ", plain(m.Metric.Name), publishedScale(m).Label) + when(!m.Metric.Headline, " (exploratory)")
}
