package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/wording"
)

// manyCells is how many cells with the same metric are told one by one; more
// are counted by verdict.
const manyCells = 3

// asked says what the run compares.
func (s *sheet) asked() string {
	if s.alone() {
		return fmt.Sprintf("%s is the only arm: its levels stand here, and nothing is compared with it. tare history and tare compare set runs beside each other.", s.baseline)
	}
	arms := s.treatments()
	what := "what the arms cost"
	if len(arms) > 0 {
		what = "what " + enumerate(arms, 6, "arms") + " cost"
		if len(arms) == 1 {
			what += "s"
		}
	}
	text := fmt.Sprintf("Asked: %s compared with %s", what, s.baseline)
	if n := len(s.plan.Cells); n > 0 {
		text += ", in " + wording.Count(n, "cell", "cells")
	}
	return text + "."
}

// done says how much of the plan was carried out.
func (s *sheet) done() string {
	t := s.run.Trials
	if s.imported() {
		return s.importedTrials()
	}
	text := fmt.Sprintf("%s, each with every arm once in random order; %s of %s gave data",
		wording.Count(s.run.Rounds, "round", "rounds"), wording.Number(float64(t.Valid), 9), wording.Count(t.Planned, "planned trial", "planned trials"))
	if bad := len(s.run.Invalids); bad > 0 {
		text += "; " + wording.Count(bad, "trial was", "trials were") + " invalid by the experiment's rules"
		if t.Lost > 0 {
			text += fmt.Sprintf(", and %s stayed so after all attempts", wording.Count(t.Lost, "planned trial", "planned trials"))
		}
	}
	text += "."
	if !s.run.Finished {
		text += " The run is not finished: resume it to add the missing trials."
	}
	return text
}

// floor is the noise floor: over how many headline metrics the control was
// compared, how far it was from the baseline at most, how far its intervals
// reach, and where they exclude zero.
func (s *sheet) floor() (n int, worst, reach float64, off []string) {
	for _, c := range s.run.Controls {
		if !c.Metric.Headline || !wording.IsRatio(c.Metric) || !wording.Judged(c) {
			continue
		}
		n++
		worst = max(worst, abs(c.Overhead.Point))
		reach = max(reach, abs(c.Overhead.Lo), abs(c.Overhead.Hi))
		if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
			off = append(off, plain(c.Metric.Name)+" in "+plain(c.Cell))
		}
	}
	return n, worst, reach, off
}

// controlSentence says how far the control is from the baseline.
func (s *sheet) controlSentence() string {
	n, worst, reach, off := s.floor()
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

// answer is one result in words. The verdict is empty where several cells with
// different verdicts are told together.
type answer struct {
	Verdict analysis.Verdict
	Text    string
}

// answers are the results of the headline metrics, by arm and metric.
func (s *sheet) answers() []answer {
	if s.alone() {
		return s.levelAnswers()
	}
	type key struct{ arm, metric string }
	var order []key
	byKey := map[key][]analysis.Comparison{}
	for _, g := range s.groups(true) {
		for _, c := range g.rows {
			k := key{c.Arm, c.Metric.Name}
			if byKey[k] == nil {
				order = append(order, k)
			}
			byKey[k] = append(byKey[k], c)
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return s.place(a.arm) - s.place(b.arm) })
	var list []answer
	for _, k := range order {
		cs := byKey[k]
		if len(cs) > manyCells {
			list = append(list, answer{common(cs), s.observedLabel(common(cs)) + s.countedAnswer(cs) + s.restated(cs[0])})
			continue
		}
		for _, c := range cs {
			text := s.observedLabel(c.Verdict) + s.answer(c) + s.restated(c)
			if c.WithInvalid != nil {
				text += " " + sentence(brief(wording.AlternativeText(c.WithInvalid)))
			}
			list = append(list, answer{c.Verdict, text})
		}
	}
	return list
}

// levelAnswers are the answers of a run without a second arm.
func (s *sheet) levelAnswers() []answer {
	var list []answer
	for _, g := range s.groups(true) {
		if g.series == nil {
			continue
		}
		for _, a := range g.series.Arms {
			list = append(list, answer{Text: fmt.Sprintf("%s in %s: %s.", plain(g.metric.Name), plain(g.cell), level(a, g.metric))})
		}
	}
	return list
}

// common is the verdict that all share, if there is one.
func common(cs []analysis.Comparison) analysis.Verdict {
	for _, c := range cs {
		if c.Verdict != cs[0].Verdict {
			return ""
		}
	}
	return cs[0].Verdict
}

// answer is one comparison in a sentence.
func (s *sheet) answer(c analysis.Comparison) string {
	arm, where := plain(c.Arm), plain(c.Metric.Name)+" in "+plain(c.Cell)
	confidence := wording.Share(float64(s.plan.Confidence))
	switch c.Verdict {
	case analysis.Costs, analysis.Gains:
		return fmt.Sprintf("%s %s on %s (%s interval; median %s with %s, %s with %s).", arm, brief(wording.Effect(&c)), where,
			confidence, wording.Value(c.Baseline.Median, c.Metric.Unit), s.baseline, wording.Value(c.Treated.Median, plain(c.Metric.Unit)), arm)
	case analysis.Equivalent:
		if inner := wording.Inner(&c); inner != "" {
			return fmt.Sprintf("%s and %s are equivalent on %s: the overhead is %s; %s.", arm, s.baseline, where, wording.Estimate(c), inner)
		}
		return fmt.Sprintf("%s and %s are equivalent on %s: the overhead, %s, lies within ±%s.",
			arm, s.baseline, where, wording.Estimate(c), wording.Share(s.margin()))
	case analysis.NotResolved:
		if !wording.Judged(c) {
			return fmt.Sprintf("What %s costs on %s is not resolved: %s.", arm, where, brief(wording.Why(&c)))
		}
		return fmt.Sprintf("What %s costs on %s is not resolved (%s): %s.", arm, where, wording.Estimate(c), brief(wording.Why(&c)))
	}
	return fmt.Sprintf("%s on %s: %s.", arm, where, brief(wording.Verdict(&c)))
}

// countedAnswer tells the cells of one arm and metric by verdict.
func (s *sheet) countedAnswer(cs []analysis.Comparison) string {
	var parts []string
	for _, v := range []analysis.Verdict{analysis.Costs, analysis.Gains, analysis.Equivalent, analysis.NotResolved, analysis.Invalid} {
		n, lo, hi := 0, analysis.Comparison{}, analysis.Comparison{}
		for _, c := range cs {
			if c.Verdict != v {
				continue
			}
			n++
			if n == 1 || abs(c.Overhead.Point) < abs(lo.Overhead.Point) {
				lo = c
			}
			if n == 1 || abs(c.Overhead.Point) > abs(hi.Overhead.Point) {
				hi = c
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", s.countedVerdict(v, lo, hi), n))
		}
	}
	return fmt.Sprintf("%s on %s, over %d cells: %s.", plain(cs[0].Arm), plain(cs[0].Metric.Name), len(cs), strings.Join(parts, ", "))
}

// countedVerdict words a verdict that holds in several cells, the smallest and
// largest effect being lo and hi.
func (s *sheet) countedVerdict(v analysis.Verdict, lo, hi analysis.Comparison) string {
	extent := wording.Extent(lo, hi)
	switch v {
	case analysis.Costs, analysis.Gains:
		return string(v) + " " + extent
	case analysis.Equivalent:
		return "equivalent within ±" + wording.Share(s.margin())
	case analysis.Invalid:
		return "no verdict"
	}
	return string(v)
}

// limits says what size of difference the run could have seen, and what is not
// a finding.
func (s *sheet) limits() []string {
	var list []string
	lo, hi, n := 0.0, 0.0, 0
	for _, g := range s.groups(true) {
		for _, c := range g.rows {
			if !wording.Judged(c) || c.MDE <= 0 || !wording.Finite(c.MDE) || !wording.IsRatio(c.Metric) {
				continue
			}
			if n == 0 || c.MDE < lo {
				lo = c.MDE
			}
			hi, n = max(hi, c.MDE), n+1
		}
	}
	if n > 0 {
		extent := wording.Share(hi)
		if wording.Share(lo) != wording.Share(hi) {
			extent = "between " + wording.Share(lo) + " and " + wording.Share(hi) + ", depending on the metric"
		}
		list = append(list, fmt.Sprintf("What could not be seen: the smallest true difference that these %s find with a probability of %s is %s.",
			s.rounds(), wording.Share(float64(s.plan.Power)), extent))
	}
	if n := len(s.groups(false)); n > 0 {
		list = append(list, fmt.Sprintf("%s exploratory: not corrected for their number, so a difference there is a hint and not a finding.",
			wording.Count(n, "further metric is", "further metrics are")))
	}
	return list
}

// controlState is the state of the control in a word or two.
func (s *sheet) controlState() string {
	n, state := 0, "ok"
	fewest := analysis.FewestRounds(&s.plan)
	for _, c := range s.run.Controls {
		if c.Metric.Headline && wording.Judged(c) {
			n++
			if c.Rounds < fewest && state == "ok" {
				state = "not shown in so few rounds"
			}
			if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
				state = "differs"
			}
		}
	}
	switch {
	case n == 0 && !slices.ContainsFunc(s.plan.Arms, func(a experiment.PlannedArm) bool { return a.Role == experiment.Control }):
		return "none"
	case n == 0:
		return "no data"
	case state == "differs" && !s.run.Valid:
		return "failed"
	}
	return state
}

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}

// controlLine is the state of the control in one line.
func (s *sheet) controlLine() string {
	state := s.controlState()
	if n, worst, reach, _ := s.floor(); n > 0 {
		return fmt.Sprintf("control %s: at most %s from %s on %s, by its intervals at most %s", state, wording.Share(worst), s.baseline,
			wording.Count(n, "headline metric", "headline metrics"), wording.Share(reach))
	}
	return "control: " + state
}
