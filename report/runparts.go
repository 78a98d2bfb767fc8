package report

import (
	"slices"
	"strings"

	doc "tare/report/document"
	"tare/testbed"
	"tare/wording"
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

// resourceBlocks are what programs share, and how much of it was used.
func (s *sheet) resourceBlocks() []doc.Block {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "resource", Kind: doc.Prose}, {Title: "there is", Right: true}, {Title: "used", Right: true},
		{Title: "lost", Kind: doc.Prose}, {Title: "it was", Kind: doc.Prose}}}
	for _, cell := range s.run.Cells {
		g := doc.Group{Title: doc.Words(plain(cell.ID)), Parts: []doc.Part{{}}}
		for _, r := range cell.Resources {
			state := when(r.Exhausted, "used up"+when(r.Tested, ", as what is measured"))
			g.Add(doc.Row{Cells: doc.Cells(plain(r.Arm), wording.ResourceName(r.Resource), wording.ResourceOf(r.Resource), strings.TrimSuffix(wording.ResourceUsed(r.Resource), " used"), wording.ResourceLost(r.Resource), state)})
		}
		if cell.Resources != nil {
			t.Groups = append(t.Groups, g)
		}
	}
	if t.Groups == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: "bounds", Title: "What bounds the results", Short: "Bounds", Fold: doc.Page, Blocks: []doc.Block{
		doc.Say("What programs share, and how much of it the trials used: medians of the valid trials of an arm. Of a search these are its tries near the capacity."), t}}}
}

// wires are the rates of the wires that the run's cells cross: "1 Gbit/s", "unlimited"; "" where none is known.
func (s *sheet) wires() string {
	var list []string
	for _, cell := range s.run.Cells {
		for _, r := range cell.Resources {
			if of := wording.ResourceOf(r.Resource); r.Name == testbed.ResourceWire && of != "" && !slices.Contains(list, of) {
				list = append(list, of)
			}
		}
	}
	return strings.Join(list, ", ")
}
