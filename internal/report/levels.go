package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
)

const scalingNote = "A line is fitted through the levels in each round; the slope is the cost of one more, the base the value at level 0. " +
	"Slopes are in the metric's own unit, whichever direction is better. Their intervals are not corrected for their number: hints, not findings."

// unslopedNote explains why a metric has no slopes.
const unslopedNote = "A headline metric whose values fit no line has no slopes, only a table of levels."

func (s *sheet) scalingBlocks(all bool) []doc.Block {
	if len(s.run.Scaling)+len(s.run.PowerLaws) == 0 {
		return nil
	}
	levels := "Each level shows the median of an arm's trials" +
		when(!s.alone(), ", and the overhead relative to "+s.baseline+" with its "+s.confidence()+" interval, as in the results") + "."
	section := doc.Section{ID: "scaling", Title: "How it grows", Blocks: append(s.powerLawBlocks(), doc.SayIf(len(s.run.Scaling) > 0, levels),
		doc.SayIf(slices.ContainsFunc(s.run.Scaling, func(sc analysis.Scaling) bool { return sloped(&sc) }), scalingNote),
		doc.SayIf(slices.ContainsFunc(s.run.Scaling, func(sc analysis.Scaling) bool { return len(sc.Arms) > 0 && !sloped(&sc) }), unslopedNote),
		doc.If(len(s.run.Scaling) > 0, doc.On(doc.Page, doc.Say(s.figureKey()))))}
	in, open := formsIf(len(s.run.PowerLaws) > 0), 0
	headline, other := partition(pointers(s.run.Scaling), func(sc *analysis.Scaling) bool { return sc.Metric.Headline })
	for _, sc := range append(headline, other...) {
		show := chosen(sc.Metric)
		section.Blocks = append(section.Blocks, doc.On(formsIf(show || all), doc.Section{Note: s.where(sc), Flush: true, Fold: doc.Page,
			Title: plain(sc.Metric.Name) + " by " + plain(sc.Factor), Open: show && open < maxOpen, Blocks: []doc.Block{
				drawn(s.lineChart(sc)), doc.If(sc.Metric.Headline, s.levelTable(sc)), doc.If(sloped(sc), s.slopeTable(sc))}}))
		if in |= formsIf(show || all); show {
			open++
		}
	}
	return []doc.Block{doc.On(in, section)}
}

func (s *sheet) figureKey() string {
	straight := slices.ContainsFunc(s.run.Scaling, func(sc analysis.Scaling) bool { return len(sc.Arms) > 0 && !sc.Metric.Headline })
	return join(" ", "Dots are trials, marks the medians at each level, bands the "+s.confidence()+
		" intervals of the medians where there are enough trials; × is a level without a valid value of an arm.",
		when(straight, "Where a straight line is drawn, it is the one fitted, marks are means and the band is the line's interval."),
		when(!s.alone(), "Below are the overheads with their intervals; a hollow mark claims nothing."+
			when(s.margin() > 0, " The shaded band is the margin of ±"+wording.Share(s.margin())+".")))
}

// sloped reports whether the report shows slopes over the levels of a factor. A headline metric has no slopes if its
// values follow a line in no arm.
func sloped(sc *analysis.Scaling) bool {
	return len(sc.Arms) > 0 && !(sc.Metric.Headline && !slices.ContainsFunc(sc.Arms, func(a analysis.ScalingArm) bool { return !a.Fit.Poor }))
}

func (s *sheet) slopeTable(sc *analysis.Scaling) doc.Table {
	var rows []doc.Row
	base, based := doc.NoForm, doc.NoForm
	if slices.ContainsFunc(sc.Arms, func(a analysis.ScalingArm) bool { return a.Base != nil }) {
		base, based = formsIf(true), formsIf(false)
	}
	for _, a := range sc.Arms {
		rows = append(rows, doc.Row{Muted: s.role(a.Arm) == experiment.Control, Cells: doc.Cells(append([]string{plain(a.Arm)},
			plainAll([]string{wording.SlopeAlone(sc, &a), wording.LineDifference(sc, a.Difference), wording.Base(sc, &a),
				wording.LineDifference(sc, a.BaseDifference), wording.Fit(sc, a.Fit)})...)...)})
	}
	return doc.Simple([]doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "slope, per " + plain(wording.Per(sc)), NoBreak: true},
		{Title: "more than " + s.baseline, NoBreak: true}, {Title: "base, with none", NoBreak: true, In: base}, {Title: "base above " + s.baseline, NoBreak: true, In: based}, {Title: "fit", Kind: doc.Prose}}, rows)
}

// chosen reports whether the report always shows a metric's line: a headline metric, CPU cores of idle instances, or
// cores and memory of an observed component, such as istiod.
func chosen(m experiment.Metric) bool {
	return m.Headline || m.Scale == experiment.Difference && (m.Unit == "cores" || strings.HasPrefix(m.Name, "memory of "))
}

func (s *sheet) where(sc *analysis.Scaling) string {
	text := join(", ", plain(sc.Workload), labels.Levels(s.kind(sc.Workload), sc.Held, ", "))
	if n := len(sc.X); n > 0 {
		text += fmt.Sprintf("; %s from %s to %s", wording.Count(n, "level", "levels"), brief(wording.Level(sc.X[0], "")), brief(wording.Level(sc.X[n-1], sc.Unit)))
	}
	return text + when(len(sc.LeftOut) > 0, "; without "+brief(strings.Join(sc.LeftOut, ", ")))
}

func (s *sheet) levelTable(sc *analysis.Scaling) doc.Table {
	control, arms := partition(s.plan.Arms, func(a experiment.PlannedArm) bool { return a.Role == experiment.Control })
	arms = append(arms, control...)
	level := plain(sc.Factor) + when(sc.Unit != "", " ("+plain(sc.Unit)+")")
	head := []doc.Column{{Title: level, Right: true}}
	for _, a := range arms {
		control := a.Role == experiment.Control
		head = append(head, doc.Column{Title: plain(a.Name) + when(control, " (noise floor)"), NoBreak: true, In: formsIf(!control)})
	}
	var rows []doc.Row
	for k, x := range sc.X {
		row := doc.Row{Cells: doc.Cells(wording.Number(x, 6))}
		for _, a := range arms {
			row.Cells = append(row.Cells, s.levelCell(sc, sc.Cells[k], a))
		}
		rows = append(rows, row)
	}
	return doc.Simple(head, rows)
}

func (s *sheet) levelCell(sc *analysis.Scaling, cell string, arm experiment.PlannedArm) doc.Cell {
	of, c := s.measured(cell, sc.Metric.Name, arm.Name)
	if of == nil || of.Summary.N == 0 {
		return doc.C("no valid value")
	}
	value := wording.Value(of.Summary.Median, sc.Metric.Unit)
	switch {
	case c == nil:
		return doc.C(value)
	case arm.Role == experiment.Control:
		return doc.Of(doc.Words(value), doc.Words(wording.Estimate(*c)))
	}
	word := append(doc.Words(value+"  "), gradedVerdict(c, s.claimsObservational(c.Verdict) || claimsObservational(*c))...)
	return doc.Of(word, doc.Words(wording.Estimate(*c)))
}

// lineChart returns a plot of a metric against a factor. Exploratory metrics have a fitted line. A headline metric
// shows its estimates, which answer the question about it.
func (s *sheet) lineChart(sc *analysis.Scaling) figure.Lines {
	l := figure.Lines{Metric: sc.Metric.Name, Unit: sc.Metric.Unit, Factor: sc.Factor, FactorUnit: sc.Unit, X: sc.X,
		Baseline: s.baseline, Margin: s.marginFor(sc.Metric), Ratio: wording.IsRatio(sc.Metric)}
	for _, a := range s.plan.Arms {
		line := figure.Line{Arm: a.Name, Look: s.look(a.Name)}
		fitted := slices.IndexFunc(sc.Arms, func(f analysis.ScalingArm) bool { return f.Arm == a.Name })
		straight := fitted >= 0 && !sc.Metric.Headline
		if straight {
			line.Fitted, line.Point = sc.Arms[fitted].Line, sc.Arms[fitted].PointOnly
		}
		there := false
		for k, cell := range sc.Cells {
			of, c := s.measured(cell, sc.Metric.Name, a.Name)
			var values []float64
			var estimate figure.Estimate
			if of != nil {
				values = slices.DeleteFunc(slices.Clone(of.Values), func(v float64) bool { return !wording.Finite(v) })
				b := of.Summary
				estimate = figure.Estimate{Known: b.N > 0 && wording.Finite(b.Median),
					At:    analysis.Interval{Point: b.Median, Lo: b.MedianLo, Hi: b.MedianHi},
					Point: b.MedianLo == 0 && b.MedianHi == 0 || b.MedianLo > b.Median || b.MedianHi < b.Median}
			}
			if straight && k < len(sc.Arms[fitted].Means) { // beside a fitted line, the marker is the mean over the rounds that were fitted
				estimate.At.Point = sc.Arms[fitted].Means[k]
			}
			there = there || estimate.Known
			line.Values, line.Estimates = append(line.Values, values), append(line.Estimates, estimate)
			line.Overheads = append(line.Overheads, overheadEstimate(c))
		}
		if there {
			l.Arms = append(l.Arms, line)
		}
	}
	return l
}

func overheadEstimate(c *analysis.Comparison) figure.Estimate {
	if c == nil || !wording.HasNumbers(*c) {
		return figure.Estimate{}
	}
	return figure.Estimate{Known: true, At: c.Overhead, Point: c.PointOnly, Open: c.Control || !c.Verdict.Claims()}
}

// measured returns two results for an arm in a cell: the arm's trials, and its comparison with the baseline. A result
// is nil if the run lacks it.
func (s *sheet) measured(cell, metric, arm string) (of *analysis.ArmSeries, c *analysis.Comparison) {
	g := s.seriesGroup(cell, metric)
	if g == nil {
		return nil, nil
	}
	if i := slices.IndexFunc(g.series.Arms, func(a analysis.ArmSeries) bool { return a.Arm == arm }); i >= 0 {
		of = &g.series.Arms[i]
	}
	return of, g.of(arm)
}

const powerLawNote = "The exponents of all factors are fitted together, to all cells, separately in each round: 1 is proportional, −1 inversely proportional. " +
	"The first number is the law's value where all factors are 1. Their intervals are not corrected for their number: hints, not findings."

func (s *sheet) lawAnswers() (list []doc.Answer) {
	for _, l := range s.run.PowerLaws {
		for _, a := range l.Arms {
			if s.role(a.Arm) != experiment.Control {
				list = append(list, doc.Answer{Verdict: doc.Words("law"), Text: doc.Words(plain(wording.LawAnswer(&l, &a)) + ".")})
			}
		}
	}
	return list
}

func (s *sheet) powerLawBlocks() []doc.Block {
	var blocks []doc.Block
	for i, l := range pointers(s.run.PowerLaws) {
		where := join(", ", plain(l.Workload), labels.Levels(s.kind(l.Workload), l.Held, ", "))
		blocks = append(blocks, doc.Section{Title: plain(wording.ExpectedLaw(l)), Note: where + "; " + wording.Count(len(l.Cells), "cell", "cells"), Flush: true,
			Blocks: []doc.Block{doc.SayIf(i == 0, powerLawNote), s.powerLawTable(l)}})
	}
	return blocks
}

func (s *sheet) powerLawTable(l *analysis.PowerLaw) doc.Table {
	columns := []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "where all are 1", NoBreak: true}}
	for _, f := range l.Factors {
		columns = append(columns, doc.Column{Title: "exponent of " + plain(f.Factor), NoBreak: true})
	}
	columns = append(columns, doc.Column{Title: "fit", Kind: doc.Prose})
	var rows []doc.Row
	for _, a := range l.Arms {
		cells := []doc.Cell{doc.C(plain(a.Arm)), doc.C(brief(wording.ValueAtOne(l, &a)))}
		for j := range l.Factors {
			if j < len(a.Exponents) {
				cells = append(cells, doc.C(brief(wording.Exponent(&l.Factors[j], &a.Exponents[j]))))
			}
		}
		rows = append(rows, doc.Row{Muted: s.role(a.Arm) == experiment.Control, Cells: append(cells, doc.C(brief(wording.Misfit(&a.Misfit))))})
	}
	return doc.Simple(columns, rows)
}
