package report

import (
	"tare/analysis"
	doc "tare/report/document"
	"tare/wording"
)

// blockNote explains the overheads of blocks.
const blockNote = "Each block is compared with its own baseline. The interval of a block covers the variation of its repeats, not that of another deployment. " +
	"The interval and the verdict over all blocks rest on one value per block."

// blockBlocks show the overhead in each block of an import. A terminal shows headline metrics only,
// unless all is set.
func (s *sheet) blockBlocks(all bool) []doc.Block {
	return notedSection("blocks", "Block by block", blockNote, tables(all, s.blockTable(true), s.blockTable(false)))
}

// blockTable lists the overheads of blocks by cell, metric and arm, and below them the overhead over all
// blocks.
func (s *sheet) blockTable(headline bool) doc.Table {
	t := doc.Table{Bare: true, Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name, In: doc.Markdown},
		{Title: "block", Kind: doc.Name}, {Title: "overhead", Right: true}, {Title: "interval", Right: true, Tight: true}, {Title: "rounds", Right: true}, {Title: "verdict"}}}
	for i := range s.run.Comparisons {
		c := &s.run.Comparisons[i]
		if c.Blocks == nil || c.Metric.Headline != headline {
			continue
		}
		g := groupOf(&t, plain(c.Cell))
		part := doc.Part{Title: append(doc.In(doc.Strong, plain(c.Metric.Name)), doc.Span{Words: " " + join(", ", plain(c.Arm), when(c.Metric.Better != "", better(c.Metric)))})}
		for _, b := range c.Blocks {
			point, interval := wording.Overhead(analysis.Comparison{Metric: c.Metric, Overhead: b.Overhead, PointOnly: b.PointOnly, Rounds: b.Rounds})
			part.Add(doc.Row{Cells: doc.Cells(plain(c.Metric.Name), plain(c.Arm), plain(b.Block), point, interval, number(b.Rounds), "")})
		}
		point, interval := wording.Overhead(*c)
		part.Add(doc.Row{Cells: append(doc.Cells(plain(c.Metric.Name), plain(c.Arm), "all blocks", point, interval, number(c.Rounds)), doc.Of(gradedVerdict(c, claimsObservational(*c))))})
		g.Parts = append(g.Parts, part)
	}
	return t
}
