package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"tare/published"
	doc "tare/report/document"
	"tare/wording"
)

// surroundings are the machine, what measuring cost, and how to repeat the run.
func (s *sheet) surroundings(o RunOptions) []doc.Block {
	if s.imported() {
		return []doc.Block{s.factSection(), doc.Section{ID: "repeat", Title: "Where the trials are from", Blocks: s.sourceBlocks(o)}}
	}
	h := s.run.Harness
	return []doc.Block{s.machineSection(), doc.On(doc.Page,
		doc.Section{ID: "harness", Title: "Cost of measuring", Blocks: []doc.Block{doc.Say(
			fmt.Sprintf("Outside trials Tare took %s of the run's wall clock, and during trials its own process used %s of one CPU core.",
				wording.Share(h.WallShare), wording.Share(h.CPUShare)))}},
		doc.Section{ID: "repeat", Title: "How to repeat", Blocks: s.repeatBlocks(o)})}
}

func (s *sheet) repeatBlocks(o RunOptions) []doc.Block {
	note := fmt.Sprintf("The order of trials is drawn from the seed. With seed: %d under design in the experiment file, the same order is run again.", s.plan.Seed)
	var rows []doc.Row
	for _, a := range s.plan.Arms {
		var layers []doc.Text
		for _, l := range a.Layers {
			layers = append(layers, doc.In(doc.Mono, plain(l.Kind)+" "+compact(l.Config)))
		}
		if layers == nil {
			layers = []doc.Text{doc.In(doc.Muted, "none")}
		}
		rows = append(rows, doc.Row{Cells: append(doc.Cells(plain(a.Name), string(a.Role)), doc.Of(layers...))})
	}
	file := string(bytes.TrimRight(o.Experiment, "\n"))
	return []doc.Block{doc.Say(note), doc.Code{Text: cmp.Or(o.Command, "tare run experiment.yaml")},
		doc.If(file != "", doc.Section{Title: "The experiment file", Fold: doc.Page, Open: true, Blocks: []doc.Block{doc.Code{Text: file}}}),
		doc.Section{Title: "Arms", Fold: doc.Page, Blocks: []doc.Block{doc.Simple([]doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "role"},
			{Title: "layers with their parameters in force", Kind: doc.Prose}}, rows)}},
		directoryLinks(o)}
}

func compact(config any) string {
	if config == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(config); err != nil {
		return "(parameters that cannot be written: " + plain(err.Error()) + ")"
	}
	return plain(b.String())
}

// publishedSection is the published table as a part of a run's report.
func publishedSection(t *published.Table) doc.Section {
	intro := publishedTitle(t) + ". This is how benchmarks are mostly written up; how sure a difference is stands only in the last column."
	return doc.Section{ID: "published", Title: "The published table", Short: "Published table",
		Blocks: append([]doc.Block{doc.Say(intro)}, publishedBlocks(t)...)}
}
