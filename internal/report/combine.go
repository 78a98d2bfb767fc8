package report

import (
	"fmt"
	"slices"

	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/runs/combine"
	comparing "tare/internal/runs/compare"
)

// Combine shows the joint result of several runs of one experiment: means over occasions, the spread between occasions,
// each run, and the occasions' differences.
func Combine(r *combine.Result, o CompareOptions) *doc.Document {
	r = labels.Shown(r, r.Plan)
	d := &doc.Document{Title: "Combination of " + wording.Count(len(r.Runs), "run", "runs") + " of " + plain(r.Experiment),
		Styles: figure.PageCSS(), Footer: "Made by tare combine" + generatedOn(o.Generated) + "."}
	seen := &comparing.Result{Differences: r.Differences, Same: r.Same, Unknown: r.Unknown}
	for _, run := range r.Runs {
		seen.Runs = append(seen.Runs, run.Run)
	}
	rest := combinedTable(r, false)
	hidden := len(rest.Parts())
	differences := compareDifferences(seen)
	differences.Title, differences.Short = "What differs between the occasions", "Occasions"
	return d.Add(comparedRuns(seen)...).Add(
		doc.Section{ID: "summary", Title: "Summary", NoTitle: doc.Terminal | doc.Markdown, Blocks: combinedSummary(r)},
		comparedSection(doc.Section{ID: "means", Title: "Overheads over occasions", Short: "Means", Flush: true,
			Blocks: []doc.Block{doc.On(doc.Page, combinedFigures(r)...)}}, r.Family, combinedTable(r, true), rest, o.All),
		doc.Section{ID: "runs", Title: "Run by run", Flush: true, Fold: doc.Page, Open: true, Blocks: []doc.Block{occasionTable(r, o.All)}},
		differences, doc.On(doc.Terminal, doc.SayIf(hidden > 0 && !o.All, notShown(hidden))),
		doc.On(doc.Page, combinedReading(r)))
}

func combinedSummary(r *combine.Result) []doc.Block {
	var answers []doc.Answer
	for _, c := range pointers(r.Comparisons) {
		if c.Metric.Headline {
			answers = append(answers, answerOn(verdict(c.Verdict, claimsObservational(c.Comparison)), c.Arm, c.Metric, c.Cell, plain(wording.Combined(c))))
		}
	}
	return comparedSummary(when(r.Observational, "Observational: arms of some of the runs did not run in random order."), r.Warnings, answers)
}

func combinedTable(r *combine.Result, headline bool) doc.Table {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name},
		{Title: "mean over occasions", Right: true}, {Title: "differ by", Right: true}, {Title: "another run", Right: true},
		{Title: "verdict"}}}
	for i, c := range slices.Concat(r.Comparisons, r.Controls) {
		if c.Metric.Headline != headline {
			continue
		}
		floor := i >= len(r.Comparisons)
		row := doc.Row{Muted: floor, Cells: doc.Cells(c.Metric.Name, plain(c.Arm)+when(floor, " (noise floor)"), wording.Estimate(c.Comparison),
			wording.Spread(&c), wording.Prediction(&c))}
		if !floor {
			row.Cells = append(row.Cells, doc.Of(verdict(c.Verdict, claimsObservational(c.Comparison))))
			if !c.Verdict.Claims() {
				row.Notes = append(row.Notes, sentence(plain(wording.Combined(&c))))
			}
		}
		partOf(&t, c.Cell, c.Metric).Add(row)
	}
	return t
}

func occasionTable(r *combine.Result, all bool) doc.Table {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name},
		{Title: "run", Right: true}, {Title: "overhead", Right: true}, {Title: "weight", Right: true}, {Title: "", Kind: doc.Prose}}}
	for _, c := range slices.Concat(r.Comparisons, r.Controls) {
		if !c.Metric.Headline && !all {
			continue
		}
		for _, o := range c.Occasions {
			if r.Runs[o.Run-1].LeftOut != nil {
				continue
			}
			own := ownOverhead(comparing.Overhead{Known: o.Rounds > 0, Overhead: o.Overhead}, c.Metric)
			row := doc.Row{Cells: doc.Cells(c.Metric.Name, plain(c.Arm), number(o.Run), own, wording.Share(o.Weight))}
			if o.LeftOut != nil {
				row.Muted = true
				row.Cells[4] = doc.C(wording.Missing)
				row.Cells = append(row.Cells, doc.C("left out: "+plain(wording.Reason(o.LeftOut))))
			}
			partOf(&t, c.Cell, c.Metric).Add(row)
		}
	}
	return t
}

func combinedReading(r *combine.Result) doc.Section {
	confidence := wording.Share(float64(r.Confidence))
	return doc.Section{ID: "read", Title: "How to read this", Blocks: []doc.Block{
		doc.Say("A run speaks for its occasion: its rounds share the load, the neighbours and the set-up of that hour. Here each run counts as one occasion. " +
			"The mean over occasions stands with its " + confidence + " interval."),
		doc.Say("“Differ by” is the standard deviation of the true overhead from one occasion to another, with its " + confidence + " interval. " +
			"“Another run” is the range in which another run of this experiment would find the overhead, in " + confidence + " of cases."),
		doc.Say("▲ costs, ▼ gains, ≈ equivalent within the margin, ? not resolved, × no verdict.")}}
}

func combinedFigures(r *combine.Result) []doc.Block {
	forests := forestBlocks(combinedForest(r))
	if forests == nil {
		return nil
	}
	text := fmt.Sprintf("The overhead in each run with its %s interval, and below them the mean over occasions.", wording.Share(float64(r.Confidence))) +
		when(r.Margin > 0, " The shaded band is the margin of ±"+wording.Share(float64(r.Margin))+" within which overheads count as equivalent.")
	return append([]doc.Block{doc.Say(text)}, forests...)
}

func combinedForest(r *combine.Result) figure.Forest {
	f := figure.Forest{Baseline: "the baseline of each run", Margin: float64(r.Margin)}
	var arms []string
	for _, c := range r.Comparisons {
		look := figure.Treatment(indexOrAdd(&arms, c.Arm))
		if !c.Metric.Headline || !wording.IsRatio(c.Metric) {
			continue
		}
		g := groupIn(&f, c.Comparison)
		for _, o := range c.Occasions {
			if o.LeftOut != nil {
				continue
			}
			one := c.Comparison
			one.Overhead, one.Arm = o.Overhead, fmt.Sprintf("%s, run %d", c.Arm, o.Run)
			g.Rows = append(g.Rows, forestRow(one, figure.Control, false, ""))
		}
		mean, verdict := c.Comparison, string(c.Verdict)
		mean.Arm += ", mean"
		verdict += when(claimsObservational(mean), " "+observedMark)
		g.Rows = append(g.Rows, forestRow(mean, look, false, verdict))
	}
	return withRows(f)
}
