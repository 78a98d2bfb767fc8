package report

import (
	"cmp"
	"slices"
	"strings"

	doc "tare/report/document"
	"tare/testbed"
	"tare/wording"
)

// partBlocks show the CPU time and memory of clients, servers and the layers' own processes, by cell.
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
		doc.Say("CPU time and memory of the programs and of the layers' own processes: medians of the valid trials of an arm, with their interval by order statistics where there are enough. Memory is the largest resident size."), t}}}
}

// resources lists the wires of the run's cells ("1 Gbit/s", "unlimited"; "" if unknown) and the resources
// that trials used up, whether measured or not.
func (s *sheet) resources() (wires, usedUp string) {
	var at, full []string
	for _, cell := range s.run.Cells {
		for _, r := range cell.Resources {
			if r.Name == testbed.ResourceWire {
				at = append(at, cmp.Or(when(r.Of > 0, wording.Value(r.Of, "bit/s")), "unlimited"))
			}
			if r.Exhausted {
				full = append(full, wording.ResourceName(r.Name))
			}
		}
	}
	each := func(list []string) string {
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(list))), "; ")
	}
	return each(at), each(full)
}
