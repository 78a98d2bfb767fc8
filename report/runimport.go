package report

import doc "tare/report/document"

// factSection is what the files tell of the systems that they were made on.
func (s *sheet) factSection() doc.Section {
	section := doc.Section{ID: "machine", Title: "Machines and versions"}
	columns := []doc.Column{{Title: "fact", Kind: doc.Name}}
	for _, a := range s.plan.Import.Arms {
		columns = append(columns, doc.Column{Title: plain(a.Name), Kind: doc.Prose})
	}
	var rows []doc.Row
	for _, f := range s.armFacts() {
		name := doc.Words(f.Name)
		if f.Differs {
			name = doc.In(doc.Strong, f.Name)
		}
		row := doc.Row{Cells: []doc.Cell{doc.Of(name)}}
		for _, v := range f.Values {
			if v == "" {
				row.Cells = append(row.Cells, doc.Of(doc.In(doc.Muted, "not told")))
			} else {
				row.Cells = append(row.Cells, doc.C(v))
			}
		}
		rows = append(rows, row)
	}
	if rows == nil {
		section.Blocks = []doc.Block{doc.Say("The files tell nothing of the systems that they were made on.")}
		return section
	}
	section.Blocks = []doc.Block{
		doc.Say("What the files tell of the systems that they were made on. Facts in bold differ between arms, and are compared along with them."),
		doc.Simple(columns, rows)}
	return section
}

// sourceBlocks say where the trials of each arm are from.
func (s *sheet) sourceBlocks(o RunOptions) []doc.Block {
	blocks := []doc.Block{doc.Facts{List: s.sources()}}
	if command := s.plan.Import.Command; command != "" {
		blocks = append(blocks, doc.On(doc.Page,
			doc.Say("The same files are imported again by:"), doc.Code{Text: command}))
	}
	return append(blocks, directoryLinks(o))
}
