package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
)

func (s *sheet) questionText() string {
	if s.alone() {
		return fmt.Sprintf("%s is the only arm: this report shows its levels, and compares nothing. Use tare history or tare compare to compare runs.", s.baseline)
	}
	var arms []string
	for _, a := range s.plan.Arms {
		if a.Role == experiment.Treatment {
			arms = append(arms, plain(a.Name))
		}
	}
	cells := len(s.plan.Cells)
	what := "what " + cmp.Or(when(len(arms) > 0, enumerate(arms, 6, "arms")), "the arms") + " cost" + when(len(arms) == 1, "s")
	return fmt.Sprintf("Asked: %s compared with %s%s.", what, s.baseline,
		when(cells > 0, ", in "+wording.Count(cells, "cell", "cells")))
}

func (s *sheet) progressText() string {
	if s.imported() {
		return s.importedTrials()
	}
	lost, bad, failed := s.run.Trials.Lost, s.spoiltTrials(), s.failedTrials()
	controlled := s.plan.RoundsOf(1, s.run.Rounds)
	text := fmt.Sprintf("%s, each with every arm once in random order%s; %s gave data", wording.Count(s.run.Rounds, "round", "rounds"),
		when(controlled < s.run.Rounds, fmt.Sprintf(", the control in %d of them", controlled)), s.validOf("planned trial", "planned trials"))
	text += when(failed > 0, "; in "+wording.Count(failed, "trial", "trials")+" the program failed")
	if bad > 0 {
		text += "; " + wording.Count(bad, "trial was", "trials were") + " spoilt by the machine's condition or a failed proof" +
			when(lost > 0, ", and "+wording.Count(lost, "planned trial", "planned trials")+" stayed so after all attempts")
	}
	return text + "."
}

// validOf counts the valid trials: "11 of 12 trials".
func (s *sheet) validOf(one, many string) string {
	return number(s.run.Trials.Valid) + " of " + wording.Count(s.run.Trials.Planned, one, many)
}

// noiseFloor sums up the control's overheads on n headline metrics. worst is the largest overhead, reach the interval
// end farthest from zero. off lists metrics whose interval excludes zero.
func (s *sheet) noiseFloor() (n int, worst, reach float64, off []string) {
	for _, c := range s.run.Controls {
		if !c.Metric.Headline || !wording.IsRatio(c.Metric) || !wording.HasNumbers(c) {
			continue
		}
		n++
		worst = max(worst, math.Abs(c.Overhead.Point))
		reach = max(reach, math.Abs(c.Overhead.Lo), math.Abs(c.Overhead.Hi))
		if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
			off = append(off, plain(c.Metric.Name)+" "+wording.In(plain(c.Cell)))
		}
	}
	return n, worst, reach, off
}

func (s *sheet) controlSentence() string {
	n, worst, reach, off := s.noiseFloor()
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("The control, a second copy of %s, is estimated to differ from it by at most %s on %s, and by its intervals by at most %s: this is the noise floor.",
		s.baseline, wording.Share(worst), wording.Count(n, "headline metric", "headline metrics"), wording.Share(reach))
	if len(off) > 0 {
		text += fmt.Sprintf(" Its interval excludes zero on %s: differences of this size arise here without any layer.",
			enumerate(off, 3, "metrics"))
	}
	return text
}

func (s *sheet) answers() []doc.Answer {
	if s.alone() {
		return s.levelAnswers()
	}
	var asked [][]analysis.Comparison // comparisons by arm and metric
	for _, g := range s.groups(true) {
		for _, c := range g.rows {
			same := findOrAdd(&asked, func(list []analysis.Comparison) bool {
				return list[0].Arm == c.Arm && list[0].Metric.Name == c.Metric.Name
			}, nil)
			*same = append(*same, c)
		}
	}
	slices.SortStableFunc(asked, func(a, b []analysis.Comparison) int { return s.armIndex(a[0].Arm) - s.armIndex(b[0].Arm) })
	list := slices.Concat(s.failureAnswers(), s.interactions(), s.breakdownAnswers()) // answers about layers and parts come first
	say := func(v analysis.Verdict, c analysis.Comparison, text, other string) {
		text = join(" ", when(s.claimsObservational(v), "Observational:"), text,
			when(c.Restates != "" && v != analysis.Restated, "This restates "+plain(c.Restates)+"."), other)
		word := verdict(v, s.claimsObservational(v))
		if v == c.Verdict {
			word = gradedVerdict(&c, s.claimsObservational(v))
		}
		list = append(list, doc.Answer{Verdict: word, Text: doc.Words(text)})
	}
	for _, cs := range asked {
		if len(cs) > manyCells && commonVerdict(cs) != analysis.Restated {
			say(commonVerdict(cs), cs[0], s.countedAnswer(cs), "")
			continue
		}
		for _, c := range cs {
			if c.Verdict == analysis.Restated {
				continue // a restated metric has no answer of its own: the other metric's answer mentions it
			}
			say(c.Verdict, c, s.answer(c), sentence(brief(wording.AlternativeText(c.WithInvalid))))
		}
	}
	return list
}

func answerOn(verdict doc.Text, arm string, m experiment.Metric, cell, text string) doc.Answer {
	return doc.Answer{Verdict: verdict, Text: doc.Words(fmt.Sprintf("%s on %s %s: %s.", plain(arm), plain(m.Name), wording.In(plain(cell)), text))}
}

func (s *sheet) interactions() (list []doc.Answer) {
	if s.run.Factorial == nil {
		return nil
	}
	for _, e := range pointers(s.run.Factorial.Effects) {
		if e.Metric.Headline && e.Interaction() && e.Verdict != analysis.Restated {
			list = append(list, answerOn(gradedVerdict(&e.Comparison, false), wording.EffectName(e), e.Metric, e.Cell, brief(wording.EffectVerdict(e))))
		}
	}
	return list
}

func (s *sheet) breakdownAnswers() (list []doc.Answer) {
	for _, b := range pointers(s.run.Breakdowns) {
		if b.Metric.Headline && len(b.Parts) > 0 && b.Parts[0].Verdict != analysis.Restated {
			each := &b.Parts[len(b.Parts)-1]
			list = append(list, answerOn(gradedVerdict(&each.Comparison, false), wording.BreakdownName(b), b.Metric, b.Cell, brief(wording.BreakdownText(b))))
		}
	}
	return list
}

// alone reports whether the run has a single arm, such as an imported benchmark of one platform. Its report compares
// nothing.
func (s *sheet) alone() bool { return len(s.plan.Arms) == 1 }

func (s *sheet) levelAnswers() []doc.Answer {
	var list []doc.Answer
	for _, g := range s.groups(true) {
		if g.series == nil {
			continue
		}
		for _, a := range g.series.Arms {
			text := fmt.Sprintf("%s %s: %s.", plain(g.metric.Name), wording.In(plain(g.cell)), level(a, g.metric))
			list = append(list, doc.Answer{Verdict: doc.Words("level"), Text: doc.Words(text)})
		}
	}
	return list
}

// level writes the median of an arm: "median 1.627 s [1.619, 1.641] over 100 trials".
func level(a analysis.ArmSeries, m experiment.Metric) string {
	v := a.Summary
	if v.N == 0 {
		return "no valid trial"
	}
	return "median " + median(v, m.Unit) + " over " + wording.Count(v.N, "trial", "trials")
}

// median writes a median with its interval, if there is one: "1.627 s [1.619, 1.641]".
func median(v analysis.Summary, unit string) string {
	sc := wording.ScaleOf(unit, v.Median)
	return sc.With(v.Median) + when(v.MedianLo != 0 || v.MedianHi != 0, fmt.Sprintf(" [%s, %s]", sc.Bare(v.MedianLo), sc.Bare(v.MedianHi)))
}

// commonVerdict returns the verdict of all comparisons; "" if their verdicts differ.
func commonVerdict(cs []analysis.Comparison) analysis.Verdict {
	if slices.ContainsFunc(cs, func(c analysis.Comparison) bool { return c.Verdict != cs[0].Verdict }) {
		return ""
	}
	return cs[0].Verdict
}

func (s *sheet) answer(c analysis.Comparison) string {
	arm, where := plain(c.Arm), plain(c.Metric.Name)+" "+wording.In(plain(c.Cell))
	switch c.Verdict {
	case analysis.Costs, analysis.Gains:
		on := "on " + where
		if c.Metric.Objective != "" { // the words for a capacity name the metric already
			on = "in " + plain(c.Cell)
		}
		return fmt.Sprintf("%s %s %s (%s interval; %smedian %s with %s, %s with %s%s).", arm, brief(wording.Effect(&c)), on,
			s.confidence(), when(c.Mean != nil, brief(wording.Mean(&c))+"; "), wording.Value(c.Baseline.Median, c.Metric.Unit), s.baseline,
			wording.Value(c.Treated.Median, plain(c.Metric.Unit)), arm, when(c.Reason != nil, "; "+brief(wording.Why(&c))))
	case analysis.Equivalent:
		overhead := fmt.Sprintf("the overhead, %s, lies within ±%s", wording.Estimate(c), wording.Share(s.margin()))
		if inner := wording.Inner(&c); inner != "" {
			overhead = fmt.Sprintf("the overhead is %s; %s", wording.Estimate(c), inner)
		}
		return fmt.Sprintf("%s and %s are equivalent%s on %s: %s.", arm, s.baseline, when(c.Grade == analysis.Normal, " (if noise is normal)"), where, overhead)
	case analysis.Interim:
		return fmt.Sprintf("What %s costs on %s is interim, %s%s.", arm, where, brief(wording.Reason(c.Reason)),
			when(wording.HasNumbers(c), ": "+wording.Estimate(c)))
	case analysis.NotResolved:
		return fmt.Sprintf("What %s costs on %s is not resolved%s: %s.", arm, where,
			when(wording.HasNumbers(c), " ("+wording.Estimate(c)+")"), brief(wording.Why(&c)))
	}
	return fmt.Sprintf("%s on %s: %s.", arm, where, brief(wording.Verdict(&c)))
}

func (s *sheet) countedAnswer(cs []analysis.Comparison) string {
	var parts []string
	for _, v := range []analysis.Verdict{analysis.Costs, analysis.Gains, analysis.Equivalent, analysis.NotResolved, analysis.Interim, analysis.Restated, analysis.Invalid} {
		of := slices.DeleteFunc(slices.Clone(cs), func(c analysis.Comparison) bool { return c.Verdict != v })
		if len(of) == 0 {
			continue
		}
		bySize := func(a, b analysis.Comparison) int {
			return cmp.Compare(math.Abs(a.Overhead.Point), math.Abs(b.Overhead.Point))
		}
		word := string(v)
		switch v {
		case analysis.Costs, analysis.Gains:
			word += " " + wording.Extent(slices.MinFunc(of, bySize), slices.MaxFunc(of, bySize))
		case analysis.Equivalent:
			word = "equivalent within ±" + wording.Share(s.margin())
		case analysis.Invalid:
			word = "no verdict"
		}
		parts = append(parts, fmt.Sprintf("%s in %d", word, len(of)))
	}
	return fmt.Sprintf("%s on %s, over %d cells: %s.", plain(cs[0].Arm), plain(cs[0].Metric.Name), len(cs), strings.Join(parts, ", "))
}

func (s *sheet) limits() []string {
	var list []string
	var effects []float64
	for _, g := range s.groups(true) {
		for _, c := range g.rows {
			if wording.HasNumbers(c) && c.MDE > 0 && wording.Finite(c.MDE) && wording.IsRatio(c.Metric) {
				effects = append(effects, c.MDE)
			}
		}
	}
	if len(effects) > 0 {
		lo, hi := wording.Share(slices.Min(effects)), wording.Share(slices.Max(effects))
		if lo != hi {
			hi = lo + " to " + hi + ", depending on the metric,"
		}
		list = append(list, fmt.Sprintf("With this noise, so many %[1]s find a true difference of %[3]s with a chance of %[2]s.",
			s.sampled("rounds", "values"), wording.Share(float64(s.plan.Power)), hi))
	}
	if n := len(s.groups(false)); n > 0 {
		list = append(list, fmt.Sprintf("%s exploratory: not corrected for their number, so a difference there is a hint and not a finding.",
			wording.Count(n, "further metric is", "further metrics are")))
	}
	return list
}

func (s *sheet) controlState() string {
	n, few, differs := 0, false, false
	for _, c := range s.run.Controls {
		if c.Metric.Headline && wording.HasNumbers(c) {
			n++
			few = few || c.Rounds < analysis.FewestRounds(&s.plan)
			differs = differs || c.Verdict == analysis.Costs || c.Verdict == analysis.Gains
		}
	}
	switch {
	case n == 0 && s.plan.ArmWith(experiment.Control) == "":
		return "none"
	case n == 0:
		return "no data"
	case differs && !s.run.Valid:
		return "failed"
	case differs:
		return "differs"
	case few:
		return "not shown in so few rounds"
	}
	return "ok"
}

func (s *sheet) controlLine() string {
	state := s.controlState()
	if n, worst, reach, _ := s.noiseFloor(); n > 0 {
		return fmt.Sprintf("control %s: at most %s from %s on %s, by its intervals at most %s", state, wording.Share(worst), s.baseline,
			wording.Count(n, "headline metric", "headline metrics"), wording.Share(reach))
	}
	return "control: " + state
}
