package report

import (
	"fmt"

	doc "tare/report/document"
	"tare/wording"
)

// importedState says where the trials are from and how many gave data.
func (s *sheet) importedState() []doc.Block {
	r := s.run
	var from []string
	for _, a := range s.sources() {
		from = append(from, a.Key+": "+a.Value)
	}
	blocks := []doc.Block{doc.Say(fmt.Sprintf("imported from %s, %s of %s valid", s.tool(),
		wording.Number(float64(r.Trials.Valid), 9), wording.Count(r.Trials.Planned, "trial", "trials"))),
		doc.List{Items: doc.Each(from)}}
	if len(r.Controls) > 0 {
		blocks = append(blocks, doc.Say(s.controlLine()))
	}
	return blocks
}

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

// importedFacts are an imported run at a glance.
func (s *sheet) importedFacts(state string) []doc.Fact {
	r, files := s.run, 0
	for _, a := range s.plan.Import.Arms {
		files += a.Files
	}
	list := []doc.Fact{{Key: "Imported from", Value: s.tool()}, {Key: "Run", Value: state}, {Key: "Files", Value: wording.Number(float64(files), 9)}}
	if s.plan.Paired() {
		list = append(list, doc.Fact{Key: "Rounds", Value: wording.Number(float64(r.Rounds), 9)})
	}
	list = append(list, doc.Fact{Key: "Valid trials", Value: fmt.Sprintf("%s of %s", wording.Number(float64(r.Trials.Valid), 9), wording.Number(float64(r.Trials.Planned), 9))})
	if len(r.Controls) > 0 {
		list = append(list, doc.Fact{Key: "Control", Value: s.controlState()})
	}
	if !r.Start.IsZero() {
		list = append(list, doc.Fact{Key: "First trial", Value: r.Start.UTC().Format("2 January 2006, 15:04 UTC")})
	}
	return list
}
