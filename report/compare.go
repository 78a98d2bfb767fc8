package report

import (
	"strings"

	comparing "tare/compare"
	"tare/report/columns"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// Compare shows a comparison of runs: what differs between them, then the changes
// of overheads, then the levels.
func Compare(r *comparing.Result, o CompareOptions) *doc.Document {
	d := &doc.Document{Title: "Comparison of " + wording.Count(len(r.Runs), "run", "runs"), Styles: figure.PageCSS(),
		Footer: "Made by tare compare" + generatedOn(o.Generated) + "."}
	d.Add(comparedRuns(r)...)
	d.Add(doc.Section{ID: "summary", Title: "Summary", Quiet: doc.Terminal | doc.Markdown, Blocks: compareSummary(r)})
	if len(r.Runs) > 1 {
		d.Add(compareDifferences(r))
	}
	d.Add(comparedSection(doc.Section{ID: "changes", Title: "Overheads, each against the baseline of its own run", Short: "Overheads", Flush: true,
		Blocks: []doc.Block{doc.On(doc.Page, changeFigures(r)...)}}, r.Family.Changes, changeRows(r, true), changeRows(r, false), o.All),
		comparedSection(doc.Section{ID: "levels", Title: "Levels against " + comparedReference(r), Short: "Levels", Flush: true,
			Blocks: []doc.Block{doc.On(doc.Page, doc.Say(levelIntro))}}, r.Family.Levels, levelRows(r, true), levelRows(r, false), o.All))
	return d.Add(
		doc.On(doc.Terminal, doc.Section{Blocks: compareFoot(r, o.All)}),
		doc.On(doc.Page, compareReading(r)))
}

// comparedRuns lists the runs.
func comparedRuns(r *comparing.Result) []doc.Block {
	var items []string
	var rows []doc.Row
	for _, run := range r.Runs {
		var arms []string
		for _, a := range run.Arms {
			arms = append(arms, plain(a.Name))
		}
		items = append(items, plain(run.Name)+": "+comparedRun(run))
		rows = append(rows, doc.Row{Cells: doc.Cells(wording.Number(float64(run.Number), 9), plain(run.Name), comparedRun(run), strings.Join(arms, ", "))})
	}
	return []doc.Block{
		doc.On(doc.Terminal|doc.Markdown, doc.List{Items: doc.Each(items), Numbered: true}),
		doc.On(doc.Page, doc.Simple([]doc.Column{{Title: "run", Right: true}, {Title: "directory", Kind: doc.Name},
			{Title: "what", Kind: doc.Prose}, {Title: "arms", Kind: doc.Prose}}, rows))}
}

// compareSummary is what to know before trusting the numbers, and the changes in
// sentences.
func compareSummary(r *comparing.Result) []doc.Block {
	var blocks []doc.Block
	if wording.ObservationAcross(r) != "" {
		blocks = append(blocks, doc.Alert{Title: "Observational, across runs: " + brief(wording.ObservationAcross(r)) + "."})
	}
	if len(r.Warnings) > 0 {
		var items []string
		for _, text := range wording.Findings(r.Warnings) {
			items = append(items, sentence(brief(text)))
		}
		blocks = append(blocks, doc.Alert{Title: beforeTrusting, Items: doc.Each(items)})
	}
	var answers []doc.Answer
	for _, c := range r.Changes {
		if c.Metric.Headline {
			answers = append(answers, doc.Answer{Verdict: verdict(c.Verdict, observed(c.Comparison)), Text: doc.Words(changeAnswer(c))})
		}
	}
	said := doc.Block(doc.Answers{List: answers})
	if answers == nil {
		said = doc.Say("No arm is a treatment in two of the runs, and none are matched: there are no overheads to compare.")
	}
	return append(blocks, doc.On(doc.Page, said))
}

// compareDifferences is what differs, what is the same, and what cannot be said.
func compareDifferences(r *comparing.Result) doc.Section {
	var main, minor []comparing.Property
	for _, p := range r.Differences {
		if p.Minor {
			minor = append(minor, p)
		} else {
			main = append(main, p)
		}
	}
	s := doc.Section{ID: "differences", Title: "What differs besides the numbers", Short: "What differs", Flush: true}
	if len(main) > 0 {
		s.Blocks = append(s.Blocks, doc.On(doc.Page, doc.Say("Whatever differs is being compared, too.")),
			propertyTable(len(r.Runs), main))
	} else {
		s.Blocks = append(s.Blocks, doc.Say("Nothing that is on record."))
	}
	var rest []string
	for _, a := range r.Apart {
		rest = append(rest, upperFirst(apartText(a))+".")
	}
	for _, text := range wording.Findings(r.Unknown) {
		rest = append(rest, sentence(brief(text)))
	}
	s.Blocks = append(s.Blocks, doc.List{Items: doc.Each(rest)})
	if len(minor) > 0 {
		s.Blocks = append(s.Blocks, doc.Section{Title: "Differences of less weight", Flush: true, Fold: doc.Page, Blocks: []doc.Block{propertyTable(len(r.Runs), minor)}})
	}
	if len(r.Same) > 0 {
		s.Blocks = append(s.Blocks, doc.Section{Title: "What is the same", Fold: doc.Page, Blocks: []doc.Block{
			doc.On(doc.Terminal, doc.Facts{List: sameByGroup(r, mostSame)}),
			doc.On(doc.Markdown|doc.Page, doc.Facts{List: sameByGroup(r, 0)})}})
	}
	return s
}

// propertyTable shows properties with their values in each run.
func propertyTable(runs int, properties []comparing.Property) doc.Table {
	t := doc.Table{Bare: true, Groups: []doc.Group{{}}, Columns: []doc.Column{{Title: "of", In: doc.Markdown}, {Title: "what", Kind: doc.Name},
		{Title: "run by run", In: doc.Terminal}}}
	for i := range runs {
		t.Columns = append(t.Columns, doc.Column{Title: runTitle(i + 1), Kind: doc.Prose, In: doc.Markdown | doc.Page})
	}
	g := &t.Groups[0]
	for i, p := range properties {
		if i == 0 || p.Group != properties[i-1].Group {
			g.Parts = append(g.Parts, doc.Part{Title: doc.Words(plain(string(p.Group)))})
		}
		values := plainAll(comparedValues(p))
		row := doc.Row{Cells: doc.Cells(append([]string{plain(string(p.Group)), plain(p.Path), strings.Join(values, " → ")}, values...)...)}
		if columns.Width(row.Cells[2].Lines[0].String()) > longProperty {
			row.Cells[2] = doc.Of()
			for i, v := range values {
				row.Cells[2].Lines = append(row.Cells[2].Lines, doc.Words(runTitle(i+1)+": "+v))
			}
		}
		g.Add(row)
	}
	return t
}

// longProperty is how wide the values of a property may be to stand in one line
// of a terminal.
const longProperty = 60

// compareFoot is what a terminal says last.
func compareFoot(r *comparing.Result, all bool) []doc.Block {
	var blocks []doc.Block
	if n := levelRows(r, false).count(); n > 0 && !all {
		blocks = append(blocks, doc.Say(notShown(n)))
	}
	if wording.ObservationAcross(r) != "" {
		blocks = append(blocks, doc.Say(observedNote))
	}
	return blocks
}

// compareReading says how a page is to be read.
func compareReading(r *comparing.Result) doc.Section {
	imported, measured := false, false
	for _, run := range r.Runs {
		imported, measured = imported || run.Observation != nil, measured || run.Observation == nil
	}
	var list []string
	if measured {
		text := "An overhead is measured"
		if imported {
			text = "In a run of Tare's own, an overhead is measured"
		}
		list = append(list, text+" against a baseline in the next minute on the same machine. What makes a machine slower slows both, and cancels before the runs are compared. "+
			"That is why the change of an overhead is worth more than the difference of two levels. "+
			"What does not cancel is a machine on which the layer itself is relatively dearer: without instructions for its cipher, for instance.")
	}
	if imported {
		list = append(list, "In an imported run, an overhead is the difference between two sets of another tool's results. They may come from different machines or different days, "+
			"and nobody drew their order: what else differed between them is part of the overhead, and does not cancel when runs are compared.")
	}
	text := "A change is the ratio of two cost factors: from 5 % to 10 % of a time is 1.10 ÷ 1.05, a change of 4.8 %."
	if wording.ObservationAcross(r) != "" {
		text += " Nothing was drawn at random between the runs, so what is claimed across them is observational (obs.)."
	}
	s := doc.Section{ID: "read", Title: "How to read this"}
	for _, text := range append(list, text, "▲ costs more, ▼ costs less, ≈ equivalent within the margin, ? not resolved, × no verdict.") {
		s.Blocks = append(s.Blocks, doc.Say(text))
	}
	return s
}
