package report

import (
	"slices"

	"tare/gate"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// Gate shows a gate: the outcome, a row for each case with its limit and its
// overhead, and why. Link is where the report of the run is, as a URL or a
// relative path; empty for none.
func Gate(r *gate.Result, link string) *doc.Document {
	d := &doc.Document{Title: wording.GateLine(r), Style: gateStyle(r.Outcome), Level: 3, Styles: figure.PageCSS(), Footer: "Made by tare gate."}
	about := doc.Words(wording.GateAbout(r) + ".")
	if link != "" {
		about = append(about, doc.Span{Words: " Report", Link: link})
	}
	label, shared, warnings := wording.GateObservational(r), wording.GateShared(r), plainAll(wording.Findings(r.Warnings))
	var why []string
	for _, c := range r.Cases {
		if c.Outcome != gate.Unresolved || !slices.Contains(shared, wording.GateWhy(r, c)) {
			why = append(why, wording.GateSentence(r, c))
		}
	}
	return d.Add(doc.Paragraph{Text: about}, doc.If(label != "", doc.Paragraph{Text: doc.In(doc.Strong, upperFirst(label))}),
		doc.List{Items: doc.Each(append(plainAll(wording.GateReasons(r)), shared...))},
		gateCases(r, shared),
		doc.Section{Title: "Why", Fold: doc.Markdown, Quiet: doc.Terminal | doc.Page, Blocks: []doc.Block{
			doc.On(doc.Markdown, doc.List{Items: doc.Each(why)}),
			doc.If(len(warnings) > 0, doc.Alert{Title: beforeTrusting, Items: doc.Each(warnings)}),
			doc.On(doc.Markdown|doc.Page, doc.Say(wording.GateLegend(r)))}})
}

// gateCases are the cases, cell by cell. Markdown has the cell in a column, so
// that what a pull request shows is one table.
func gateCases(r *gate.Result, shared []string) doc.Table {
	t := doc.Table{Bare: true, Columns: []doc.Column{
		{Signs: true}, {Title: "arm", Kind: doc.Name, Tight: true}, {Title: "metric", Kind: doc.Name}, {Title: "cell", Kind: doc.Name, In: doc.Markdown},
		{Title: "limit", Label: "limit"}, {Title: "overhead", Right: true}, {Title: wording.Share(r.Confidence) + " interval", Right: true, Tight: true},
		{Title: "why", Kind: doc.Prose, In: doc.Terminal | doc.Page},
	}}
	for i, c := range r.Cases {
		if i == 0 || c.Cell != r.Cases[i-1].Cell {
			t.Groups = append(t.Groups, doc.Group{Title: doc.Words(plain(c.Cell)), Parts: []doc.Part{{}}})
		}
		point, interval := wording.GateOverhead(c)
		why := when(c.Outcome != gate.Pass && c.Outcome != gate.Invalid, wording.GateBrief(r, c, shared))
		t.Groups[len(t.Groups)-1].Add(doc.Row{Cells: append([]doc.Cell{doc.Of(doc.In(gateStyle(c.Outcome), string(c.Outcome)))},
			doc.Cells(plain(c.Arm), wording.GateWhat(c), plain(c.Cell), plain(c.Budget.String()), point, interval, why)...)})
	}
	return t
}
