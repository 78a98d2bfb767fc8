package report

import (
	doc "tare/report/document"
)

// partBlocks are what clients, servers and the layers' own processes used, for cells in which
// layers have any.
func (s *sheet) partBlocks() []doc.Block {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "part"}, {Title: "CPUs", Right: true}, {Title: "CPU time of the work", Right: true},
		{Title: "memory", Right: true}, {Title: "trials", Right: true}}}
	for _, cell := range s.run.Cells {
		if len(cell.Parts) == 0 {
			continue
		}
		g := doc.Group{Title: doc.Words(plain(cell.ID)), Parts: []doc.Part{{}}}
		for _, p := range cell.Parts {
			g.Add(doc.Row{Cells: doc.Cells(plain(p.Arm), plain(p.Part), median(p.CPUs, "cores"), when(p.PerWork.N > 0, median(p.PerWork, p.Unit)), when(p.Memory.N > 0, median(p.Memory, "B")), number(p.CPUs.N))})
		}
		t.Groups = append(t.Groups, g)
	}
	if t.Groups == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: "parts", Title: "CPU time and memory by part", Fold: doc.Page, Blocks: []doc.Block{
		doc.Say("What the programs and the layers' own processes used: medians of the valid trials of an arm, with their interval by order statistics where there are enough. Memory is the most that was resident."), t}}}
}
