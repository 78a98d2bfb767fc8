package report

import doc "tare/report/document"

// factSection is what the files tell of the systems that they were made on.
func (s *sheet) factSection() doc.Section {
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
			told := doc.In(doc.Muted, "not told")
			if v != "" {
				told = doc.Words(v)
			}
			row.Cells = append(row.Cells, doc.Of(told))
		}
		rows = append(rows, row)
	}
	return doc.Section{ID: "machine", Title: "Machines and versions", Blocks: []doc.Block{
		doc.If(rows == nil, doc.Say("The files tell nothing of the systems that they were made on.")),
		doc.If(rows != nil, doc.Say("What the files tell of the systems that they were made on. Facts in bold differ between arms, and are compared along with them."),
			doc.Simple(columns, rows))}}
}

// sourceBlocks say where the trials of each arm are from.
func (s *sheet) sourceBlocks(o RunOptions) []doc.Block {
	command := s.plan.Import.Command
	return []doc.Block{doc.Facts{List: s.sources()},
		doc.If(command != "", doc.On(doc.Page, doc.Say("The same files are imported again by:"), doc.Code{Text: command})), directoryLinks(o)}
}
