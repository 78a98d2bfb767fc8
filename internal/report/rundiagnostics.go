package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
)

func (s *sheet) trialSection() doc.Section {
	open := 0
	var cells []doc.Block
	for _, b := range s.cells {
		cell := doc.Section{Title: plain(b.id)}
		for _, g := range append(b.only(true), b.only(false)...) {
			if g.series == nil {
				continue
			}
			show := g.metric.Headline && open < maxOpen
			if show {
				open++
			}
			note := join(", ", better(g.metric), when(!g.metric.Headline, "exploratory"))
			cell.Blocks = append(cell.Blocks, doc.Section{Title: plain(g.metric.Name), Note: note, Fold: doc.Page,
				Open: show, Blocks: []doc.Block{
					doc.Pair{Left: func() string { return s.boxes(g).Draw() }, Right: func() string { return s.runChart(g).Draw() }}}})
		}
		if cell.Blocks != nil {
			cells = append(cells, cell)
		}
	}
	text := "There is no valid trial."
	if cells != nil {
		text = join(" ", "Left, the values of each arm: the box holds the middle half, the bar in it is the median, dots are trials, whiskers reach to the furthest "+
			"within 1.5 interquartile ranges of the box, circles lie beyond; the dotted line is the baseline's median.",
			when(s.plan.Paired() && !s.alone(), "Boxes do not show which trials are of one round, and arms that differ within every round may overlap here."),
			s.sampled("Right, the same trials over time, each arm around its own median; an arrow points to a trial beyond the lane, crosses are invalid trials, a triangle marks a change of the baseline's level.",
				"Right, the same trials in the order measured, each arm around its own median and with an axis of its own; an arrow points to a trial beyond the lane, a triangle marks a change of the arm's level."),
			when(s.run.Rounds > figure.ManyDots,
				fmt.Sprintf("As each arm has more than %d trials, the dots are an even choice of them, and the lanes show the range and the median of neighbouring trials.", figure.ManyDots)))
	}
	return doc.Section{ID: "trials", Title: "Every trial", ScreenOnly: s.many(), Blocks: append([]doc.Block{doc.Say(text)}, cells...)}
}

func (s *sheet) diagnosticSection() doc.Section {
	text := "Signs of how far the method's assumptions hold in this run." + when(s.run.Family > 0,
		fmt.Sprintf(" %s tested together and corrected by Holm's method.",
			wording.Count(s.run.Family, "comparison of a headline metric is", "comparisons of headline metrics are")))
	table, hints := s.diagnosticTable(), s.warnings(false)
	hints = hints[:min(len(hints), maxWarnings)]
	blocks := append([]doc.Block{doc.Say(text), doc.If(table.Groups != nil, table)}, s.seriesBlocks()...)
	return doc.Section{ID: "diagnostics", Title: "Diagnostics", ScreenOnly: s.many(), Blocks: append(blocks,
		doc.If(len(hints) > 0, doc.Folded("Warnings on exploratory metrics", doc.List{Items: doc.Each(hints)})),
		doc.Folded("What the columns mean", doc.Facts{Look: doc.Terms, List: s.columnTerms()}))}
}

func (s *sheet) diagnosticTable() doc.Table {
	second, paired := "paired t", doc.Forms(0)
	if !s.plan.Paired() {
		second, paired = "Welch's t", doc.NoForm
	}
	t := doc.Table{Dense: true, Columns: []doc.Column{{Title: "metric and arm", Kind: doc.Name},
		{Title: s.sizeHead(), Right: true},
		{Title: "headline estimate", Right: true}, {Title: second, Right: true}, {Title: "p", Right: true}, {Title: "p (Holm)", Right: true},
		{Title: "p (equiv.)", Right: true}, {Title: "MDE", Right: true}, {Title: "needed", Right: true},
		{Title: "lag-1", Right: true, In: paired}, {Title: "order p", Right: true, In: paired}}}
	for _, headline := range []bool{true, false} {
		for _, b := range s.cells {
			g := doc.Group{Title: doc.Words(plain(b.id) + when(!headline, ", exploratory"))}
			for _, of := range b.only(headline) {
				if len(of.lines()) > 0 {
					g.Parts = append(g.Parts, s.diagnosticPart(of))
				}
			}
			if g.Parts != nil {
				t.Groups = append(t.Groups, g)
			}
		}
	}
	return t
}

func (s *sheet) diagnosticPart(g group) doc.Part {
	methods, changes := g.methods(), ""
	if g.series != nil {
		changes = wording.Numbers(g.series.Changes)
	}
	about := when(methods != "", ", by "+methods) + when(changes != "", "; the baseline's level changes at round "+changes)
	part := doc.Part{Title: append(doc.In(doc.Strong, plain(g.metric.Name)), doc.Span{Words: about})}
	for _, c := range g.lines() {
		part.Add(s.diagnosticRow(c))
	}
	return part
}

func (s *sheet) diagnosticRow(c analysis.Comparison) doc.Row {
	control := s.role(c.Arm) == experiment.Control
	cells := []string{plain(c.Arm), valueCount(c), wording.Estimate(c)}
	if !wording.HasNumbers(c) {
		return doc.Row{Muted: control, Cells: doc.Cells(cells...)}
	}
	second := when(!c.PointOnly && c.T.Lo < c.T.Hi, when(!c.EstimatorsAgree, "≠ ")+wording.OverheadWords(c.Metric).Interval(c.Metric, c.T))
	return doc.Row{Muted: control, Cells: doc.Cells(append(cells, second, wording.Probability(c.P),
		when(c.Metric.Headline && !control, wording.Probability(c.PAdjusted)),
		when(wording.IsRatio(c.Metric), wording.Probability(c.PEquivAdjusted)),
		when(c.MDE > 0, wording.Size(c.Metric, c.MDE)), when(c.Needed > 0, number(c.Needed)),
		when(c.Paired, wording.Fixed(c.Lag1, 2)), when(c.Paired, wording.Probability(c.OrderP)))...)}
}

func (g group) methods() string {
	var list []string
	for _, c := range g.lines() {
		if m := plain(c.Method); wording.HasNumbers(c) && m != "" && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return strings.Join(list, " and ")
}

func (s *sheet) seriesBlocks() []doc.Block {
	t := doc.Table{Dense: true, Groups: []doc.Group{{}}, Columns: []doc.Column{{Title: "metric and arm", Kind: doc.Name}, {Title: "values", Right: true},
		{Title: "lag-1", Right: true}, {Title: "drift", Right: true}, {Title: "p (no drift)", Right: true},
		{Title: "level changes at trial", Right: true}, {Title: "p (one mode)", Right: true}}}
	more := false
	for _, g := range s.groups(true) {
		if g.series == nil || !slices.ContainsFunc(g.series.Arms, func(a analysis.ArmSeries) bool { return a.Diagnostics != nil }) {
			continue
		}
		if len(t.Parts()) == maxSeries {
			more = true
			break
		}
		part := doc.Part{Title: append(doc.In(doc.Strong, plain(g.metric.Name)), doc.Span{Words: " " + wording.In(plain(g.cell))})}
		for _, a := range g.series.Arms {
			if d := a.Diagnostics; d != nil {
				part.Add(doc.Row{Cells: doc.Cells(plain(a.Arm), number(len(a.Values)), wording.Fixed(d.Lag1, 2),
					wording.Trend(d.Trend), wording.Probability(d.TrendP), wording.Numbers(d.Changes),
					wording.Probability(d.DipP))})
			}
		}
		t.Groups[0].Parts = append(t.Groups[0].Parts, part)
	}
	return []doc.Block{doc.If(len(t.Parts()) > 0, doc.Section{Title: "Each arm by itself", Blocks: []doc.Block{
		doc.Say("Intervals assume that the values of an arm are independent draws from one distribution. In the order measured, these columns show signs of the contrary."), t,
		doc.If(more, doc.Note(fmt.Sprintf("Only the first %d metrics are shown; tare show -o json has all.", maxSeries)))}})}
}

func (s *sheet) columnTerms() []doc.Fact {
	power := wording.Share(float64(s.plan.Power))
	tests := func(values, each string) []doc.Fact {
		return []doc.Fact{
			{Key: "p", Value: "How often chance alone would show a difference at least as large if there were none."},
			{Key: "p (Holm)", Value: "The same after allowing for the number of arms and headline metrics that were tested together; the verdict uses this one."},
			{Key: "p (equiv.)", Value: "How often chance alone would make the arms look this equal if the true difference were as large as the margin, corrected in the same way."},
			{Key: "MDE", Value: "Minimum detectable effect: the smallest true difference that these " + values + ", with this noise, find with a probability of " + power + "."},
			{Key: "Needed", Value: each + " with which a new run would get any verdict with the same probability, given the results of this run; empty if not applicable."},
		}
	}
	if !s.plan.Paired() {
		return slices.Concat([]doc.Fact{
			{Key: "By rank-sum or Welch", Value: "Where the headline interval comes from: Mann and Whitney's rank-sum interval around the two-sample Hodges–Lehmann estimate, or Welch's t interval where there are too few values for it."},
			{Key: "Values per arm", Value: "Independent values of the baseline and of the arm; one where both have as many."},
			{Key: "Headline estimate and Welch's t", Value: "Two ways to estimate the same overhead from the same values: by ranks, which single odd trials cannot move, and by means of logarithms. A sign ≠ marks where they lead to different verdicts: then a few trials carry the result."},
		}, tests("values", "Values of each arm"), []doc.Fact{
			{Key: "Lag-1", Value: "Correlation of each value with the one before. Near zero the values are independent, as the intervals assume; above it neighbours resemble each other, and the intervals are too narrow."},
			{Key: "Drift", Value: "Change from the first trial to the last, by the median slope between all pairs, and the p of no drift (Mann and Kendall). What drifts while the arms run one after the other is part of their difference."},
			{Key: "Level changes", Value: "Trials at which the values move to another level: the interval is then about a mixture of levels."},
			{Key: "p (one mode)", Value: "Hartigan's dip test: how often values with one mode would look as if they had several."},
		})
	}
	return slices.Concat([]doc.Fact{
		{Key: "By aligned-rank, signed-rank, means, t or Stein", Value: "Where the headline interval comes from: the exact aligned rank test within rounds, against baseline and control together; the exact signed-rank interval where there is no control; the sign-flip test of means for counts; the paired t interval where there are fewer than six rounds; Stein's interval beside it where a pilot set the number of rounds."},
		{Key: "Rounds", Value: "Rounds in which both this arm and the baseline gave a valid value; each is one pair."},
		{Key: "Headline estimate and paired t", Value: "Two ways to estimate the same overhead from the same pairs: by ranks, which single odd rounds cannot move, and by means of logarithms. A sign ≠ marks where they lead to different verdicts: then a few rounds carry the result."},
	}, tests("rounds", "Rounds"), []doc.Fact{
		{Key: "Lag-1", Value: "Correlation of each round's overhead with that of the round before. Near zero the rounds are independent, as the intervals assume; above about 0.3 the intervals are too narrow."},
		{Key: "Order p", Value: "Whether running earlier or later within a round mattered: a small value shows that it did; the random order keeps this effect out of the result."},
		{Key: "Noise floor", Value: "The overhead that the control shows although nothing differs. Overheads near it deserve suspicion whatever their interval."},
		{Key: "Level changes", Value: "Rounds at which the baseline itself moved to another level: something about the machine changed while the run was under way."},
	})
}

func (s *sheet) definitions() []doc.Fact {
	margin, power := wording.Share(s.margin()), wording.Share(float64(s.plan.Power))
	if s.imported() {
		return s.importedDefinitions(margin)
	}
	return []doc.Fact{
		{Key: "Arm", Value: "A named set of security layers around the workload. The first arm is the baseline; the control is a second copy of it."},
		{Key: "Cell", Value: "One workload at one setting of its parameters and of the testbed. Arms are compared within a cell only."},
		{Key: "Trial", Value: "One execution of the workload in one arm. It is the unit of all statistics here, never the single request inside it."},
		{Key: "Round", Value: "One trial of every arm, in random order. Arms are compared round by round, so that slow drift affects all arms alike."},
		{Key: "Set-up", Value: "One time of putting up an arm and its layers. Its chance effects, such as addresses and placement, belong to no layer. All arms are therefore set up anew, and if several rounds share a set-up, their mean counts as one value."},
		{Key: "Overhead", Value: "The cost of an arm relative to the baseline and its control together; a cost of 5 % means 5 % less where higher is better, and 5 % more where lower is better."},
		{Key: "Interval", Value: "The range of true overheads that the rounds are compatible with: over many such runs, " +
			s.confidence() + " of these intervals hold the true value."},
		{Key: "Typical round, mean", Value: "The overhead is that of the typical round (Hodges–Lehmann), which a few very slow trials hardly move. The mean's overhead, beside it, compares averages, which determine capacity and price."},
		{Key: "Costs, gains", Value: "The overhead differs from zero after correction for the number of comparisons."},
		{Key: "If normal", Value: "There are too few values for a claim that holds for any noise. The claim assumes normal noise, which so few values cannot show."},
		{Key: "Fails", Value: "The program failed more often than in the baseline, after correction for the number of comparisons."},
		{Key: "Interim", Value: "Rounds that were planned are missing. The estimate may be looked at; there is no verdict until they are done."},
		{Key: "Equivalent", Value: "The overhead was shown to be smaller than the margin of ±" + margin + " that the experiment declared beforehand, of the typical round and of the mean."},
		{Key: "Not resolved", Value: "Neither a difference nor equivalence was shown. This does not mean that there is no difference. Beside it stands the difference that such a run finds with a probability of " + power + "."},
		{Key: "Invalid", Value: "Too little valid data, or a run whose own checks failed. There is no number."},
		{Key: "Headline, exploratory", Value: "Headline metrics were named as the question before the run and are corrected for their number together. All others are exploratory."},
		{Key: "Invalid trial", Value: "A trial that broke a rule fixed in the experiment. Trials spoilt by a busy machine or a failed proof are repeated; failures of the program are failures of its arm. Rules never look at the value measured."},
	}
}

func (s *sheet) importedDefinitions(margin string) []doc.Fact {
	list := []doc.Fact{
		{Key: "Observational", Value: "The trials did not run side by side in random order, so any other difference between the arms is part of every result. A verdict states that the arms differ, not why."},
		{Key: "Arm", Value: "A set of files that belong together. The first arm is the baseline."},
		{Key: "Cell", Value: "One measured workload, at one setting of its parameters. Arms are compared within a cell only."},
		{Key: "Trial", Value: "The values of one cell in one file, or in one row. It is the unit of all statistics here, never the single request inside it."},
		{Key: "Overhead", Value: "The difference of an arm from the baseline, relative to it; a cost of 5 % means 5 % less where higher is better, and 5 % more where lower is better."},
		{Key: "Interval", Value: "The range of true differences that the " + s.sampled("rounds", "values") +
			" are compatible with, if they are independent of each other: over many such imports, " + s.confidence() +
			" of these intervals hold the true difference between the arms as they were."},
		{Key: "Costs, gains", Value: "The difference is not zero, after correction for the number of comparisons."},
	}
	if s.plan.Paired() {
		list = append(list, doc.Fact{Key: "Round", Value: "Trials of all arms that belong together by " + plain(s.plan.Import.PairBy) + "; arms are compared round by round."})
	}
	if s.plan.Import.Blocks != nil {
		list = append(list, doc.Fact{Key: "Block", Value: "Trials of all arms with a baseline of their own, such as one product, whose repeats share one deployment. The mean over its repeats is one value, and the interval of all blocks rests on these."})
	}
	if s.margin() > 0 {
		list = append(list, doc.Fact{Key: "Equivalent", Value: "The difference was shown to be smaller than the margin of ±" + margin + "."})
	}
	if slices.ContainsFunc(s.run.Cells, func(c analysis.CellSummary) bool { return c.Loop != nil }) {
		list = append(list, doc.Fact{Key: "Closed loop", Value: "A fixed number of workers, each of which sends its next request when its last one is answered. Mean latency × throughput is then that number, and one says the same as the other. While an answer is slow nothing is sent, so that percentiles miss the requests that would have waited."})
	}
	return append(list,
		doc.Fact{Key: "Not resolved", Value: "Neither a difference nor equivalence was shown. This does not mean that there is no difference. Beside it stands the difference that is found with a probability of " + wording.Share(float64(s.plan.Power)) + "."},
		doc.Fact{Key: "Headline, exploratory", Value: "Headline metrics are corrected for their number together. All others are exploratory: hints, not findings."},
		doc.Fact{Key: "Invalid trial", Value: "A trial that broke a rule: a file that cannot be read, or failed operations over the limit. Rules never look at whether a value is high or low."})
}
