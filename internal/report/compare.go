package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/report/columns"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	comparing "tare/internal/runs/compare"
)

// Compare shows a comparison of runs: how machines and settings differ, how overheads changed, and the values
// of each arm.
func Compare(r *comparing.Result, o CompareOptions) *doc.Document {
	r = labels.Shown(r, r.Plans...)
	d := &doc.Document{Title: "Comparison of " + wording.Count(len(r.Runs), "run", "runs"), Styles: figure.PageCSS(),
		Footer: "Made by tare compare" + generatedOn(o.Generated) + "."}
	rest := levelTable(r, false)
	hidden := len(rest.Parts())
	d.Add(comparedRuns(r)...)
	d.Add(doc.Section{ID: "summary", Title: "Summary", NoTitle: doc.Terminal | doc.Markdown, Blocks: compareSummary(r)},
		doc.If(len(r.Runs) > 1, compareDifferences(r)),
		comparedSection(doc.Section{ID: "changes", Title: "Overheads, each against the baseline of its own run",
			Short: "Overheads", Flush: true, Blocks: []doc.Block{doc.On(doc.Page, changeFigures(r)...)}},
			r.Family.Changes, changeTable(r, true), changeTable(r, false), o.All),
		comparedSection(doc.Section{ID: "levels", Title: fmt.Sprintf("Levels against %s of run %d",
			plain(r.Reference.Arm), r.Reference.Run), Short: "Levels", Flush: true,
			Blocks: []doc.Block{doc.On(doc.Page, doc.Say(levelIntro))}}, r.Family.Levels, levelTable(r, true), rest, o.All))
	return d.Add(
		doc.On(doc.Terminal, doc.Section{Blocks: []doc.Block{doc.SayIf(hidden > 0 && !o.All, notShown(hidden)),
			doc.SayIf(wording.ObservationAcross(r) != "", observedNote)}}),
		doc.On(doc.Page, compareReading(r)))
}

func comparedRuns(r *comparing.Result) []doc.Block {
	var items []string
	var rows []doc.Row
	for _, run := range r.Runs {
		var arms []string
		for _, a := range run.Arms {
			arms = append(arms, plain(a.Name))
		}
		items = append(items, plain(run.Name)+": "+comparedRun(run))
		rows = append(rows, doc.Row{Cells: doc.Cells(number(run.Number), plain(run.Name), comparedRun(run),
			strings.Join(arms, ", "))})
	}
	return []doc.Block{
		doc.On(doc.Terminal|doc.Markdown, doc.List{Items: doc.Each(items), Numbered: true}),
		doc.On(doc.Page, doc.Simple([]doc.Column{{Title: "run", Right: true}, {Title: "directory", Kind: doc.Name},
			{Title: "what", Kind: doc.Prose}, {Title: "arms", Kind: doc.Prose}}, rows))}
}

func compareSummary(r *comparing.Result) []doc.Block {
	var answers []doc.Answer
	for _, c := range r.Changes {
		if c.Metric.Headline {
			where := fmt.Sprintf("%s, run %d", c.Cell, c.To.Run)
			answers = append(answers, answerOn(verdict(c.Verdict, claimsObservational(c.Comparison)), changeName(c), c.Metric, where, plain(wording.Qualified(&c.Comparison))))
		}
	}
	observed := wording.ObservationAcross(r)
	return append(comparedSummary(when(observed != "", "Observational, across runs: "+brief(observed)+"."), r.Warnings, answers),
		doc.On(doc.Page, doc.SayIf(answers == nil, "No arm is a treatment in two of the runs, and none are matched: there are no overheads to compare.")))
}

// comparedSummary returns the first blocks of a comparison: the notice on observational runs, the warnings,
// and on a page the answers.
func comparedSummary(observational string, warnings []analysis.Finding, answers []doc.Answer) []doc.Block {
	items := lists.Map(wording.Findings(warnings), func(text string) string { return sentence(brief(text)) })
	return []doc.Block{doc.If(observational != "", doc.Alert{Title: observational}),
		doc.If(items != nil, doc.Alert{Title: beforeTrusting, Items: doc.Each(items)}),
		doc.On(doc.Page, doc.If(answers != nil, doc.Answers{List: answers}))}
}

func compareDifferences(r *comparing.Result) doc.Section {
	minor, main := partition(r.Differences, func(p comparing.Property) bool { return p.Minor })
	var rest []string
	for _, a := range r.Apart {
		why := wording.NotShared(a)
		text := fmt.Sprintf("%s %s: only in run %s", plain(a.What), plain(a.Name), wording.Numbers(a.Runs)) +
			when(why != "", " ("+why+")")
		rest = append(rest, sentence(text))
	}
	for _, text := range wording.Findings(r.Unknown) {
		rest = append(rest, sentence(brief(text)))
	}
	return doc.Section{ID: "differences", Title: "What differs besides the numbers", Short: "What differs", Flush: true,
		Blocks: []doc.Block{
			doc.If(main != nil, doc.On(doc.Page, doc.Say("Any difference listed here may also be the cause of a difference in the results.")),
				propertyTable(len(r.Runs), main)), doc.SayIf(main == nil, "Nothing that is on record."),
			doc.List{Items: doc.Each(rest)},
			doc.If(minor != nil, doc.Section{Title: "Differences of less weight", Flush: true, Fold: doc.Page,
				Blocks: []doc.Block{propertyTable(len(r.Runs), minor)}}),
			doc.If(len(r.Same) > 0, doc.Folded("What is the same",
				doc.On(doc.Terminal, doc.Facts{List: sameByGroup(r, maxSame)}),
				doc.On(doc.Markdown|doc.Page, doc.Facts{List: sameByGroup(r, 0)})))}}
}

func propertyTable(runs int, properties []comparing.Property) doc.Table {
	t := doc.Table{NoTitles: true, Groups: []doc.Group{{}}, Columns: []doc.Column{{Title: "of", In: doc.Markdown}, {Title: "what", Kind: doc.Name},
		{Title: "run by run", In: doc.Terminal}}}
	for i := range runs {
		t.Columns = append(t.Columns, doc.Column{Title: runTitle(i + 1), Kind: doc.Prose, In: doc.Markdown | doc.Page})
	}
	g := &t.Groups[0]
	for i, p := range properties {
		if i == 0 || p.Group != properties[i-1].Group {
			g.Parts = append(g.Parts, doc.Part{Title: doc.Words(plain(string(p.Group)))})
		}
		values := plainAll(wording.PropertyValues(p))
		for i, v := range values {
			values[i] = cmp.Or(v, wording.Missing)
		}
		row := doc.Row{Cells: doc.Cells(append([]string{plain(string(p.Group)), plain(p.Path), strings.Join(values, " → ")}, values...)...)}
		if columns.Width(row.Cells[2].Lines[0].String()) > longProperty {
			row.Cells[2].Lines = nil
			for i, v := range values {
				row.Cells[2].Lines = append(row.Cells[2].Lines, doc.Words(runTitle(i+1)+": "+v))
			}
		}
		g.Add(row)
	}
	return t
}

func compareReading(r *comparing.Result) doc.Section {
	imported := slices.ContainsFunc(r.Runs, func(run comparing.Run) bool { return run.Observation != nil })
	measured := slices.ContainsFunc(r.Runs, func(run comparing.Run) bool { return run.Observation == nil })
	own := cmp.Or(when(imported, "In a run of Tare's own, an overhead"), "An overhead") + " is measured"
	return doc.Section{ID: "read", Title: "How to read this", Blocks: []doc.Block{
		doc.SayIf(measured, own+" against a baseline in the next minute on the same machine. A slower machine slows both, which cancels before the runs are compared. "+
			"The change of an overhead therefore shows more than the difference of two levels. "+
			"It does not cancel if the layer itself costs relatively more on one machine, for instance without instructions for its cipher."),
		doc.SayIf(imported, "In an imported run, an overhead is the difference between two sets of another tool's results. They may come from different machines or different days, "+
			"and their order was not random: other differences between them are part of the overhead, and do not cancel when runs are compared."),
		doc.SayIf(true, "A change is the ratio of two cost factors: from 5 % to 10 % of a time is 1.10 ÷ 1.05, a change of 4.8 %."+
			when(wording.ObservationAcross(r) != "", " The order of the runs was not random, so claims across them are observational (obs.).")),
		doc.SayIf(true, "▲ costs more, ▼ costs less, ≈ equivalent within the margin, ? not resolved, × no verdict.")}}
}

// comparedSection adds the tables of headline and exploratory metrics to a section. family counts the claims corrected
// together. Without all, a terminal omits exploratory metrics.
func comparedSection(s doc.Section, family int, headline, rest doc.Table, all bool) doc.Section {
	s.Blocks = append(s.Blocks, doc.SayIf(family > 1, fmt.Sprintf("Corrected by Holm's method as a family of %s.",
		wording.Count(family, "claim", "claims"))))
	s.Blocks = append(s.Blocks, tables(all, headline, rest, doc.SayIf(headline.Groups == nil, "There is nothing to compare."))...)
	return s
}

const levelIntro = "Medians of each arm, and below each its cost or gain relative to the reference. " +
	"Within the reference's run, arms are paired by round, if it has rounds. Across runs they are independent samples, and a level depends on the machine as much as on the layer."

func changeFigures(r *comparing.Result) []doc.Block {
	forests := forestBlocks(changeForest(r))
	if forests == nil {
		return nil
	}
	text := join(" ", fmt.Sprintf("Each mark is the change of an overhead from one run to another with its %s interval: to the right it costs more than it did, to the left less.",
		wording.Confidence(float64(r.Confidence))),
		when(r.Margin > 0, "The shaded band is the margin of ±"+wording.Share(float64(r.Margin))+" within which overheads count as equivalent."),
		when(len(r.Floors) > 0, "The grey rows compare the controls, which differ only by chance."))
	return append([]doc.Block{doc.Say(text)}, forests...)
}

func changeForest(r *comparing.Result) figure.Forest {
	f := figure.Forest{Baseline: "the overhead it had", Margin: float64(r.Margin)}
	var arms []string
	for i, c := range slices.Concat(r.Changes, r.Floors) {
		control := i >= len(r.Changes)
		c.Arm = changeName(c)
		if len(r.Runs) > 2 || c.Direct {
			c.Arm += fmt.Sprintf(", run %d", c.To.Run)
		}
		index := indexOrAdd(&arms, c.Arm)
		if !c.Metric.Headline || !wording.IsRatio(c.Metric) {
			continue
		}
		g := groupIn(&f, c.Comparison)
		look, verdict := figure.Control, string(c.Verdict)
		if !control {
			look = figure.Treatment(index)
		}
		verdict += when(claimsObservational(c.Comparison), " "+observedMark)
		g.Rows = append(g.Rows, forestRow(c.Comparison, look, control, verdict))
	}
	var cells []string
	for _, g := range f.Groups {
		indexOrAdd(&cells, g.Cell)
	}
	slices.SortStableFunc(f.Groups, func(a, b figure.Group) int { return slices.Index(cells, a.Cell) - slices.Index(cells, b.Cell) })
	return withRows(f)
}

func groupIn(f *figure.Forest, c analysis.Comparison) *figure.Group {
	return findOrAdd(&f.Groups, func(g figure.Group) bool { return g.Cell == c.Cell && g.Metric == c.Metric.Name },
		figure.Group{Metric: c.Metric.Name, Cell: c.Cell})
}

func withRows(f figure.Forest) figure.Forest {
	f.Groups = slices.DeleteFunc(f.Groups, func(g figure.Group) bool {
		return !slices.ContainsFunc(g.Rows, func(r figure.Row) bool { return r.Drawn })
	})
	return f
}

const runColumn = 2 // index of the first run's column in a comparedTable, after the columns metric and arm

func comparedTable(r *comparing.Result) *doc.Table {
	t := &doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name}}}
	for i := range r.Runs {
		t.Columns = append(t.Columns, doc.Column{Title: runTitle(i + 1), Right: true})
	}
	return t
}

// comparedRow returns the table's row for a metric in a cell with the given name. If the row is missing, it is added at
// the end.
func comparedRow(t *doc.Table, cell string, m experiment.Metric, name string) *doc.Row {
	cells := append([]doc.Cell{doc.C(m.Name), doc.Of(doc.Words(name))}, make([]doc.Cell, len(t.Columns)-runColumn)...)
	return findOrAdd(&partOf(t, cell, m).Rows, func(r doc.Row) bool { return r.Cells[1].Lines[0].First() == name }, doc.Row{Cells: cells})
}

func groupOf(t *doc.Table, cell string) *doc.Group {
	return findOrAdd(&t.Groups, func(g doc.Group) bool { return g.Title.First() == cell }, doc.Group{Title: doc.Words(cell)})
}

// partOf returns the part of a table with the rows of one metric in a cell. A missing part is added to the
// cell's group.
func partOf(t *doc.Table, cell string, m experiment.Metric) *doc.Part {
	title := append(doc.In(doc.Strong, m.Name), doc.Span{Words: when(m.Better != "", ", "+better(m))})
	return findOrAdd(&groupOf(t, cell).Parts, func(p doc.Part) bool { return p.Title.First() == m.Name }, doc.Part{Title: title})
}

// reference returns the table cell of the reference: the run that all other runs are compared with.
func reference(value string) doc.Cell {
	return doc.Of(doc.Words(value), doc.In(doc.Muted, "(compared with)"))
}

// judged returns a table cell with a run's value. The lines below the value are the comparison with the reference, and
// the verdict.
func judged(value string, c analysis.Comparison, verdict doc.Text) doc.Cell {
	lines := []doc.Text{doc.Words(when(wording.HasNumbers(c), wording.Estimate(c))), verdict}
	return doc.Of(append([]doc.Text{doc.Words(value)}, slices.DeleteFunc(lines, doc.Text.Empty)...)...)
}

// changeTable lists the changes of overheads. The controls come last and have no verdict.
func changeTable(r *comparing.Result, headline bool) doc.Table {
	t := comparedTable(r)
	for i, c := range slices.Concat(r.Changes, r.Floors) {
		if c.Metric.Headline != headline {
			continue
		}
		floor := i >= len(r.Changes)
		row := comparedRow(t, c.Cell, c.Metric, plain(changeName(c))+when(floor, " (noise floor)"))
		if !c.Direct {
			row.Cells[runColumn+c.From.Run-1] = reference(ownOverhead(c.From, c.Metric))
		}
		var word doc.Text
		row.Muted = floor
		if !floor {
			word = gradedVerdict(&c.Comparison, claimsObservational(c.Comparison))
			row.Notes = append(row.Notes, runNote(c.To.Run, &c.Comparison))
		}
		row.Cells[runColumn+c.To.Run-1] = judged(ownOverhead(c.To, c.Metric), c.Comparison, word)
	}
	return *t
}

func levelTable(r *comparing.Result, headline bool) doc.Table {
	t := comparedTable(r)
	for _, l := range r.Levels {
		if l.Metric.Headline != headline {
			continue
		}
		row := comparedRow(t, l.Cell, l.Metric, l.Arm)
		value := cmp.Or(when(l.Values.N > 0, wording.Value(l.Values.Median, l.Metric.Unit)), wording.Missing)
		if l.Against == nil {
			row.Cells[runColumn+l.Run-1] = reference(value)
			continue
		}
		row.Cells[runColumn+l.Run-1] = judged(value, *l.Against, gradedVerdict(l.Against, claimsObservational(*l.Against)))
		if !l.Against.Verdict.Claims() {
			row.Notes = append(row.Notes, runNote(l.Run, l.Against))
		}
	}
	return *t
}

func runTitle(n int) string { return fmt.Sprintf("run %d", n) }

// changeName names the arm of a change, or both arms if they differ.
func changeName(c comparing.Change) string {
	switch {
	case c.Direct:
		return c.To.Arm + " against " + c.From.Arm
	case c.From.Arm == c.To.Arm:
		return c.To.Arm
	}
	return c.From.Arm + " → " + c.To.Arm
}

func runNote(run int, c *analysis.Comparison) string {
	return fmt.Sprintf("Run %d: %s.", run, plain(wording.Qualified(c)))
}

func ownOverhead(o comparing.Overhead, m experiment.Metric) string {
	if !o.Known {
		return wording.Missing
	}
	return wording.Estimate(analysis.Comparison{Metric: m, Overhead: o.Overhead, PointOnly: o.PointOnly, Rounds: 1})
}

// comparedRun describes a run in a line: "wireguard, 2026-01-02 10:00 UTC, 12 rounds".
func comparedRun(r comparing.Run) string {
	return plain(r.Experiment) + ", " + join(", ", wording.Labels(r.Labels), when(!r.Start.IsZero(), r.Start.UTC().Format("2006-01-02 15:04 UTC")),
		when(r.Paired, wording.Count(r.Rounds, "round", "rounds")), wording.Count(r.Trials, "valid trial", "valid trials"),
		when(!r.Finished, "NOT FINISHED"), when(!r.Valid, "INVALID"))
}

// sameByGroup lists, for each group, the properties that are equal in all runs. Above limit+1 properties, it lists
// limit and counts the rest; limit 0: no limit.
func sameByGroup(r *comparing.Result, limit int) []doc.Fact {
	type group struct {
		comparing.Group
		names []string
	}
	var groups []group
	for _, p := range r.Same {
		g := findOrAdd(&groups, func(g group) bool { return g.Group == p.Group }, group{Group: p.Group})
		g.names = append(g.names, plain(p.Path))
	}
	var list []doc.Fact
	for _, g := range groups {
		value := strings.Join(g.names, ", ")
		if limit > 0 && len(g.names) > limit+1 {
			value = firstFew(g.names, limit, ", ", " and ")
		}
		list = append(list, doc.Fact{Key: plain(string(g.Group)), Value: value})
	}
	return list
}
