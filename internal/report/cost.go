package report

import (
	"io"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/runs/cost"
)

// Cost shows the cores, nodes and money that the arms of a run need at a rate of work.
func Cost(r *cost.Result, o CompareOptions) *doc.Document {
	r = labels.Shown(r, r.Plan)
	d := &doc.Document{Title: "What " + plain(r.Experiment) + " costs at " + plain(wording.CostRate(r)), About: "Tare cost", Styles: figure.PageCSS(),
		Footer: "Written by Tare" + generatedOn(o.Generated) + ". This page needs no network and no scripts."}
	observed := wording.Observation(r.Observation)
	d.Add(doc.Say(sentence(plain(wording.CostQuestion(r)))),
		doc.If(observed != "", doc.Alert{Title: "Observational: " + brief(observed)}),
		doc.If(!r.Finished, doc.Alert{Title: "The run is not finished: these figures are interim"}))
	for _, b := range pointers(r.Bills) {
		d.Add(doc.Section{Title: plain(b.Metric.Name), Note: plain(b.Cell), Flush: true, Blocks: []doc.Block{billTable(r, b)}})
	}
	return d.Add(doc.Section{Title: "What this assumes", Blocks: []doc.Block{doc.List{Items: doc.Each(plainAll(wording.CostAssumptions(r)))}}})
}

func billTable(r *cost.Result, b *cost.Bill) doc.Table {
	// output forms that show a column; more lacks the terminal, which has little room
	month, more := doc.Terminal|doc.Markdown|doc.Page, doc.Markdown|doc.Page
	priced, hourly := more, doc.Markdown
	if r.NodePrice == 0 {
		month, priced, hourly = doc.NoForm, doc.NoForm, doc.NoForm
	}
	in := when(r.Currency != "", ", "+plain(r.Currency))
	var rows []doc.Row
	for _, a := range pointers(b.Arms) {
		rows = append(rows, doc.Row{Cells: append(doc.Cells(plain(a.Arm), wording.Value(a.Level.Point, b.Metric.Unit), ""), needs(r, a.Needs, false)...)})
		if a.More != nil {
			word := gradedVerdict(&analysis.Comparison{Verdict: a.More.Verdict, Grade: a.More.Grade}, r.Observation != nil && a.More.Verdict.Claims())
			cells := append(doc.Cells("above "+plain(b.Arms[0].Arm), ""), doc.Of(word))
			rows = append(rows, doc.Row{Cells: append(cells, needs(r, a.More.Needs, true)...)})
		}
	}
	t := doc.Simple([]doc.Column{{Title: "arm", Kind: doc.Name}, {Title: plain(b.Metric.Name), NoBreak: true, In: more}, {Title: "verdict", Signs: true},
		{Title: "cores", Right: true}, {Title: "nodes", Right: true}, {Title: "whole", Right: true}, {Title: "per hour" + in, Right: true, In: hourly},
		{Title: "per month" + in, Right: true, In: month}, {Title: "whole nodes, per month", Right: true, In: priced}}, rows)
	t.Dense = true // the table fits a page only with smaller letters
	return t
}

func needs(r *cost.Result, n cost.Needs, more bool) []doc.Cell {
	write := func(i analysis.Interval, pointOnly bool) string { return wording.Amounts(i, pointOnly, more) }
	return doc.Cells(write(n.Cores, n.PointOnly), write(n.Nodes, n.PointOnly), wording.Whole(n.Whole, more),
		write(r.PerHour(n.Nodes), n.PointOnly), write(r.PerMonth(n.Nodes), n.PointOnly), write(r.PerMonth(n.Whole), n.Whole.Lo == n.Whole.Hi))
}

// CostCSV writes a line of kind "arm" with the needs of each arm. Arms except the baseline have a line of kind "more",
// the difference from the baseline.
func CostCSV(w io.Writer, r *cost.Result) error {
	var lines [][]field
	for _, b := range pointers(r.Bills) {
		for _, a := range pointers(b.Arms) {
			lines = append(lines, costFields(r, b, a, "arm", a.Needs))
			if a.More != nil {
				lines = append(lines, costFields(r, b, a, "more", a.More.Needs))
			}
		}
	}
	return writeCSV(w, costFields(r, &cost.Bill{}, &cost.Arm{}, "", cost.Needs{}), lines)
}

func costFields(r *cost.Result, b *cost.Bill, a *cost.Arm, kind string, n cost.Needs) []field {
	arm, priced := kind == "arm", r.NodePrice > 0
	fields := []field{{"kind", kind}, {"basis", b.Basis}, {"cell", b.Cell}, {"metric", b.Metric.Name}, {"unit", b.Metric.Unit}, {"arm", a.Arm}, {"rounds", a.Rounds},
		{"level", valueIf(arm, a.Level.Point)}, {"level_lo", valueIf(arm && !n.PointOnly, a.Level.Lo)}, {"level_hi", valueIf(arm && !n.PointOnly, a.Level.Hi)},
		{"rate", r.Rate}, {"work", r.Unit}, {"node_cpus", r.NodeCPUs}, {"utilisation", r.Utilisation}, {"node_price_per_hour", valueIf(priced, r.NodePrice)}, {"currency", r.Currency}}
	add := func(name string, known bool, i analysis.Interval) {
		fields = append(fields, field{name, valueIf(known, i.Point)}, field{name + "_lo", valueIf(known && !n.PointOnly, i.Lo)}, field{name + "_hi", valueIf(known && !n.PointOnly, i.Hi)})
	}
	add("cores", true, n.Cores)
	add("nodes", true, n.Nodes)
	add("whole_nodes", true, n.Whole)
	add("per_hour", priced, r.PerHour(n.Nodes))
	add("per_month", priced, r.PerMonth(n.Nodes))
	add("whole_nodes_per_month", priced, r.PerMonth(n.Whole))
	var verdict analysis.Verdict
	if kind == "more" {
		verdict = a.More.Verdict
	}
	return append(fields, field{"verdict", verdict}, field{"text", valueIf(kind == "more", wording.CostMore(b, a))})
}
