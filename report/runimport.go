package report

import (
	"maps"
	"slices"
	"strings"

	doc "tare/report/document"
)

// mostValues is how many values of a fact are listed: there may be one a file.
const mostValues = 4

// factSection is what the files tell of the systems that they were made on, facts
// that differ between arms first.
func (s *sheet) factSection() doc.Section {
	columns, names := []doc.Column{{Title: "fact", Kind: doc.Name}}, map[string]bool{}
	for _, a := range s.plan.Import.Arms {
		columns = append(columns, doc.Column{Title: plain(a.Name), Kind: doc.Prose})
		for name := range a.Facts {
			names[name] = true
		}
	}
	var differing, same []doc.Row
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := doc.Row{Cells: doc.Cells(name)}
		var told []string
		for _, a := range s.plan.Import.Arms {
			values := plainAll(a.Facts[name])
			text := doc.In(doc.Muted, "not told")
			if len(values) > 0 {
				text = doc.Words(firstFew(values, mostValues, ", ", " and "))
				slices.Sort(values)
				told = append(told, strings.Join(slices.Compact(values), "\n"))
			}
			row.Cells = append(row.Cells, doc.Of(text))
		}
		if len(slices.Compact(told)) > 1 {
			row.Cells[0] = doc.Of(doc.In(doc.Strong, name))
			differing = append(differing, row)
		} else {
			same = append(same, row)
		}
	}
	rows := append(differing, same...)
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
