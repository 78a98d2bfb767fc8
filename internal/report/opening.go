package report

import (
	"cmp"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
)

// opening returns the first blocks of a run: the answer in sentences, values and overheads, and on a page also the
// severest warnings and the run's facts.
func (s *sheet) opening() []doc.Block {
	observed := s.observationalNotice()
	reasons := plainAll(wording.Reasons(s.run.Reasons))
	if len(reasons) == 0 {
		reasons = []string{"No reason was recorded."}
	}
	list := append(s.shortAnswers(), s.lawAnswers()...)
	ending, bounds := plain(wording.Ending(s.run)), s.boundWarnings()
	blocks := []doc.Block{
		doc.If(bounds != nil, doc.Alert{Title: "These results are limited by a resource that they do not measure", Items: doc.Each(bounds)}),
		doc.SayIf(ending != "", upperFirst(ending)+"."),
		doc.If(!s.run.Valid, doc.Alert{Title: "INVALID: this run gives no verdicts", Style: doc.Invalid, Items: doc.Each(reasons)}),
		doc.If(list != nil, doc.Section{Blocks: []doc.Block{doc.Answers{List: list}}}),
		doc.SayIf(list == nil, "There is no headline metric with a result."), doc.If(observed != "", doc.Alert{Title: observed})}
	if s.many() {
		blocks = append(blocks, s.rankBlocks()...)
	} else if !s.alone() {
		blocks = append(blocks, s.valueBlocks()...)
		blocks = append(blocks, doc.On(doc.Page, s.overheadBlocks()...))
	}
	return append(blocks, doc.On(doc.Markdown|doc.Page, s.warningBlocks(false)...),
		doc.On(doc.Page, doc.Facts{Look: doc.Glance, List: s.facts()}))
}

// shortAnswers state the answer in a sentence for each arm. A run with many arms has a sentence for each
// metric instead.
func (s *sheet) shortAnswers() (list []doc.Answer) {
	say := func(v analysis.Verdict, text string) {
		list = append(list, doc.Answer{Verdict: verdict(v, s.claimsObservational(v)),
			Text: doc.Words(join(" ", when(s.claimsObservational(v), "Observational:"), brief(text)+"."))})
	}
	switch {
	case s.alone():
		return s.levelAnswers()
	case s.many():
		for _, o := range analysis.Overviews(s.run) {
			v := analysis.NotResolved
			if o.Furthest != nil {
				v = o.Furthest.Verdict
			} else if o.Open == 0 {
				v = analysis.Equivalent
			}
			say(v, wording.Overview(&o))
		}
	default:
		for _, a := range analysis.ArmSummaries(s.run) {
			say(a.Verdict, wording.Answer(&a, s.baseline))
		}
	}
	return list
}

func (s *sheet) valueBlocks() []doc.Block {
	var first, rest []figure.BarGroup
	var lines []string
	bars := 0
	for _, g := range s.groups(true) {
		of := s.bars(g)
		if of.Bars == nil {
			continue
		}
		if bars += len(of.Bars); len(first) >= 2 && bars > maxBars {
			rest = append(rest, of)
		} else {
			first = append(first, of)
		}
		lines = append(lines, join(", ", plain(g.metric.Name)+" "+wording.In(plain(g.cell)), better(g.metric)))
		lines = append(lines, lists.Map(barLines(of, 74), func(l string) string { return "  " + l })...)
	}
	if first == nil {
		return nil
	}
	about := "Bars are medians of an arm's trials, from zero; the line is the " + s.confidence() + " interval of the median, or from the smallest to the largest of very few trials."
	return []doc.Block{doc.On(doc.Markdown, doc.Code{Text: strings.Join(lines, "\n")}),
		doc.On(doc.Page, doc.Section{Title: "Values", Blocks: []doc.Block{drawn(figure.Bars{Groups: first}),
			doc.If(rest != nil, doc.Folded("Values of "+wording.Count(len(rest), "more metric", "more metrics"), drawn(figure.Bars{Groups: rest}))), doc.Note(about)}})}
}

// bars returns one bar of a chart for the baseline and one for each treatment of a group. An arm without values has no
// bar.
func (s *sheet) bars(g group) figure.BarGroup {
	of := figure.BarGroup{Metric: plain(g.metric.Name), Cell: plain(g.cell), Note: better(g.metric)}
	if g.series == nil {
		return of
	}
	for _, a := range g.series.Arms {
		if s.role(a.Arm) == experiment.Control || a.Summary.N == 0 || !wording.Finite(a.Summary.Median) {
			continue
		}
		text, lo, hi := medianOrRange(a.Summary, g.metric.Unit)
		of.Bars = append(of.Bars, figure.Bar{Arm: plain(a.Arm), Look: s.look(a.Arm), Value: plain(text),
			At: analysis.Interval{Point: a.Summary.Median, Lo: lo, Hi: hi}, Published: s.marks(g, a.Arm, true)})
	}
	return of
}

// medianOrRange writes a median with its interval, "1.627 s [1.619, 1.641]", or for too few values their range, "1.627
// s (1.601 to 1.660)". lo and hi are the ends.
func medianOrRange(v analysis.Summary, unit string) (text string, lo, hi float64) {
	switch {
	case v.MedianLo != 0 || v.MedianHi != 0:
		return median(v, unit), v.MedianLo, v.MedianHi
	case v.N > 1:
		sc := wording.ScaleOf(unit, v.Median)
		return sc.With(v.Median) + " (" + sc.Bare(v.Min) + " to " + sc.Bare(v.Max) + ")", v.Min, v.Max
	}
	return median(v, unit), v.Median, v.Median
}

// warningBlocks show the most severe warnings, and the number of the other warnings.
func (s *sheet) warningBlocks(all bool) []doc.Block {
	list := s.warnings(true)
	if all {
		list = append(list, s.warnings(false)...)
	}
	if list == nil {
		return nil
	}
	first, rest := list, []string(nil)
	if len(list) > firstWarnings && !all {
		first, rest = list[:firstWarnings], list[firstWarnings:]
	}
	more := wording.Count(len(rest), "warning", "warnings") + " of less weight"
	return []doc.Block{doc.Alert{Title: beforeTrusting, Items: doc.Each(first)}, doc.If(rest != nil,
		doc.On(doc.Terminal, doc.Say("  "+more+" (--all shows them)")),
		doc.On(doc.Markdown, doc.Section{Title: upperFirst(more), Fold: doc.Markdown, Blocks: []doc.Block{doc.List{Items: doc.Each(rest)}}}),
		doc.On(doc.Page, doc.Paragraph{Text: doc.Text{{Words: more, Link: "#warnings"}}}))}
}

func (s *sheet) boundWarnings() (list []string) {
	for _, w := range s.run.Warnings {
		if _, ok := w.Finding.(analysis.Bound); ok {
			list = append(list, plain(w.Cell)+": "+brief(wording.Finding(w.Finding)))
		}
	}
	if more := len(list) - firstWarnings; more > 1 {
		list = append(list[:firstWarnings], wording.Count(more, "more cell", "more cells")+", which tare show -o json lists")
	}
	return list
}

func (s *sheet) restOfWarnings() doc.Block {
	list := s.warnings(true)
	if len(list) <= firstWarnings {
		return doc.If(false)
	}
	list = list[firstWarnings:]
	if extra := len(list) - maxWarnings; extra > 0 {
		list = append(list[:maxWarnings:maxWarnings], wording.Count(extra, "warning", "warnings")+" more; tare show --all lists all.")
	}
	return doc.Section{ID: "warnings", Title: "Warnings of less weight", Short: "Warnings", Blocks: []doc.Block{doc.List{Items: doc.Each(list)}}}
}

// scopedText is a text with the arms, metrics or cells that it applies to.
type scopedText struct {
	text     string
	scopes   []string
	severity int
}

// bySeverity returns the texts with their scopes, the most severe first.
func bySeverity(list []scopedText) []string {
	slices.SortStableFunc(list, func(a, b scopedText) int { return cmp.Compare(a.severity, b.severity) })
	return lists.Map(list, func(w scopedText) string {
		return join(": ", firstFew(nonEmpty(w.scopes...), maxScopes, "; ", " and "), w.text)
	})
}
