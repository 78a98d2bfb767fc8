package wording

import (
	"fmt"
	"strconv"
	"strings"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/compare"
	"tare/experiment"
)

// Sentence says all of a comparison where nothing stands beside it, as in CSV and
// JSON: "observational: exploratory: restates rate: costs 7.1 % [6.2, 8.0]".
func Sentence(c *analysis.Comparison) string {
	text := Verdict(c)
	if c.Restates != "" && c.Verdict != analysis.Restated {
		text = "restates " + c.Restates + ": " + text
	}
	if !c.Metric.Headline {
		text = "exploratory: " + text
	}
	if c.Observational {
		text = "observational: " + text
	}
	return text
}

// Told is a comparison for a paragraph: of what kind the claim is before it, what
// it restates behind it.
func Told(c *analysis.Comparison) string {
	var kinds []string
	if Observed(c) {
		kinds = append(kinds, "observational")
	}
	if !c.Metric.Headline {
		kinds = append(kinds, "exploratory")
	}
	text := Verdict(c)
	if kinds != nil {
		text = strings.Join(kinds, ", ") + ": " + text
	}
	if c.Restates != "" && c.Verdict != analysis.Restated {
		text += "; restates " + c.Restates
	}
	return text
}

// Observed says whether a comparison claims what no experiment has shown.
func Observed(c *analysis.Comparison) bool {
	return c.Observational && c.Verdict.Claims()
}

// Verdict says the verdict with its numbers: "costs 7.1 % [6.2, 8.0]".
func Verdict(c *analysis.Comparison) string {
	switch c.Verdict {
	case analysis.Costs, analysis.Gains:
		if c.Control {
			return "differs from the baseline: " + estimated(c)
		}
		return Effect(c) + withstands(c)
	case analysis.Equivalent:
		text := Effect(c)
		if c.Inner != nil {
			text += "; " + innerText(c) + " lies within"
		}
		return fmt.Sprintf("equivalent within ±%s%s (%s)", Size(c.Metric, c.Margin), ifNormal(c.Grade), text)
	case analysis.NotResolved:
		return "not resolved: " + unresolved(c)
	case analysis.Interim:
		return "interim, " + Reason(c.Reason) + whereJudged(c)
	case analysis.Restated:
		return Reason(c.Reason) + whereJudged(c)
	}
	text := "no verdict"
	if c.Reason != nil {
		text += ", " + Reason(c.Reason)
	}
	if !c.PointOnly && c.Rounds > 0 {
		text += ": " + estimated(c)
	}
	return text
}

// Effect writes an overhead by its direction: "costs 7.1 % [6.2, 8.0]", or of two
// overheads "costs 7.1 % [6.2, 8.0] more than in run 1". What would be written as
// zero has none.
func Effect(c *analysis.Comparison) string {
	if c.Versus == nil && c.Metric.Objective != "" {
		return held(c)
	}
	return effect(c, versusText(c.Versus))
}

// effect is the same with what is compared with; "" for the baseline.
func effect(c *analysis.Comparison, versus string) string {
	if Unmeasurable(c) {
		word := "costs"
		if c.Overhead.Point < 0 {
			word = "gains"
		}
		return word + " an amount that is " + unmeasured
	}
	if isZero(c) {
		if versus != "" {
			return "costs the same as " + versus + ": " + strings.TrimPrefix(estimated(c), costing.before)
		}
		return "differs by " + estimated(c)
	}
	if !c.PointOnly && c.Overhead.Lo < 0 && c.Overhead.Hi > 0 {
		if versus == "" {
			return estimated(c)
		}
		return "costs " + strings.TrimPrefix(estimated(c), costing.before) + " than " + versus
	}
	word, more, o := "costs ", " more than ", c.Overhead
	if o.Point < 0 {
		more, o = " less than ", turned(o)
		if versus == "" {
			word = "gains "
		}
	}
	if claims := c.Verdict == analysis.Costs || c.Verdict == analysis.Gains; claims && c.Grade == analysis.Normal {
		word = strings.TrimSpace(word) + ifNormal(c.Grade) + " "
	}
	text := word + Plain.Interval(c.Metric, o)
	if versus != "" {
		text += more + versus
	}
	if factor := Factor(c); factor != "" {
		text += ", " + factor
	}
	return text
}

// held is the effect on a capacity: "holds 11 % [8, 14] less load at p99 ≤ 20 ms".
func held(c *analysis.Comparison) string {
	more, o := " less", c.Overhead
	switch {
	case isZero(c), Unmeasurable(c), o.Lo < 0 && o.Hi > 0:
		return "differs by " + estimated(c) + " in the load held at " + c.Metric.Objective
	case o.Point < 0:
		more, o = " more", turned(o)
	}
	grade := ""
	if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
		grade = ifNormal(c.Grade)
	}
	text := "holds" + grade + " " + Plain.Interval(c.Metric, o) + more + " load at " + c.Metric.Objective
	if factor := Factor(c); factor != "" {
		text += ", " + factor
	}
	return text
}

// whereJudged is the estimate behind a colon, where there is one.
func whereJudged(c *analysis.Comparison) string {
	if !Judged(*c) {
		return ""
	}
	return ": " + estimated(c)
}

// ifNormal says of what grade a claim is, behind its verb.
func ifNormal(g analysis.Grade) string {
	if g != analysis.Normal {
		return ""
	}
	return " (if noise is normal)"
}

// Word is a verdict with its grade: "costs (if noise is normal)".
func Word(c *analysis.Comparison) string { return string(c.Verdict) + ifNormal(c.Grade) }

func isZero(c *analysis.Comparison) bool {
	if manifold(c.Metric, c.Overhead) {
		return false
	}
	_, o := scaled(c.Metric, c.Overhead)
	return o.Point == 0 || vanishes(o.Point, decimalsOf(o))
}

// turned is an interval of gains as one of costs, and the other way round.
func turned(i analysis.Interval) analysis.Interval {
	return analysis.Interval{Point: -i.Point, Lo: -i.Hi, Hi: -i.Lo}
}

// estimated writes an overhead with its direction, without an interval
// where there is none: "0.4 % less [2.2 more, 3.1 less]".
func estimated(c *analysis.Comparison) string {
	if Unmeasurable(c) {
		return unmeasured
	}
	return estimate(wayOf(c).interval(c.Metric, c.Overhead, c.PointOnly))
}

// innerText names the interval that equivalence rests on.
func innerText(c *analysis.Comparison) string {
	inner := c.Inner.Interval
	inner.Point = c.Overhead.Point // beside which it stands
	return "the " + Confidence(c.Inner.Confidence) + " interval " + wayOf(c).Bounds(c.Metric, inner)
}

// Inner says which interval equivalence rests on: "the 90 % interval [0.1 less, 0.2 more]
// lies within ±2 %"; "" where the one shown does so itself.
func Inner(c *analysis.Comparison) string {
	if c.Inner == nil {
		return ""
	}
	return innerText(c) + " lies within ±" + Size(c.Metric, c.Margin)
}

// versusText names what an overhead is compared with: "release-1.1 in run 1".
func versusText(v *analysis.Versus) string {
	switch {
	case v == nil:
		return ""
	case v.Run == 0:
		return v.Arm
	case v.Arm == "":
		return fmt.Sprintf("in run %d", v.Run)
	}
	return fmt.Sprintf("%s in run %d", v.Arm, v.Run)
}

// AlternativeText says what the verdict would be with the trials that had failed
// operations.
func AlternativeText(a *analysis.Alternative) string {
	return fmt.Sprintf("with the %s that had failed operations, %s", Count(a.Trials, "trial", "trials"), Verdict(&a.Comparison))
}

// unresolved says why neither a difference nor equivalence is claimed, with the
// estimate.
func unresolved(c *analysis.Comparison) string {
	why := Why(c)
	switch c.Reason.(type) {
	case analysis.TooFewValues, analysis.NoSpread:
		return why
	case analysis.NoControl, analysis.ThinControl, analysis.WithinBias:
		return estimated(c) + ", but " + why
	case analysis.NotInFamily:
		return estimated(c) + " excludes 0 by itself, but " + why
	case analysis.Ties:
		return estimated(c) + ", " + why
	case analysis.MeanNotShown:
		return estimated(c) + " in the typical round, but " + why
	}
	return estimated(c) + " (" + why + ")"
}

// Why says why a comparison is not resolved, without the estimate, which stands
// beside it.
func Why(c *analysis.Comparison) string {
	if c.Method == contrast.MethodRandomEffects {
		return combinedWhy(c)
	}
	switch r := c.Reason.(type) {
	case analysis.TooFewValues:
		return missing(c, r.Loss)
	case analysis.NoSpread:
		if !c.Paired {
			return "no value of either arm varies, which allows no interval of " + values(c.Baseline.N, c.Treated.N)
		}
		return fmt.Sprintf("all %d pairs have the same %s, which allows no interval under %d pairs", c.Rounds, contrastName(c.Metric.Scale), r.Fewest)
	case analysis.NoControl:
		return "the control has no estimate on this metric to stand against"
	case analysis.ThinControl:
		return fmt.Sprintf("the control has only %d %s on this metric to stand against %d", r.Values, noun(c.Paired), c.Rounds)
	case analysis.NotInFamily:
		return fmt.Sprintf("not as one of %d claims (Holm %s; %s)", r.Family, pValue(c.PAdjusted), unseen(c))
	case analysis.WithinBias:
		return "the control differs by up to " + Size(c.Metric, r.Bias) + " itself"
	case analysis.Ties:
		return pValue(c.PAdjusted) + ": so many values are the same that the interval cannot exclude 0"
	case analysis.FarReaching:
		text := "the tests of equivalence pass, but the interval reaches beyond twice"
		if c.Inner != nil {
			text = innerText(c) + " lies within ±" + Size(c.Metric, c.Margin) + ", but this one reaches beyond twice"
		}
		return fmt.Sprintf("%s that margin: a few %s decide", text, noun(c.Paired))
	case analysis.MeanNotShown:
		if c.Mean == nil {
			return "the mean is not shown to lie within ±" + Share(c.Margin)
		}
		return "the mean is not shown to lie within ±" + Share(c.Margin) + ": " + wayOf(c).Interval(c.Metric, *c.Mean)
	case analysis.MissingTrials:
		return missingTrials(r, noun(c.Paired), c.Verdict.Claims())
	case compare.Occasions:
		if r.Deviation == 0 {
			return "between these two occasions; how much others differ is not known, so there is no verdict"
		}
		return fmt.Sprintf("%d runs of which nothing changed differ by %s, as a standard deviation", r.Runs, Size(c.Metric, r.Deviation))
	case analysis.TooFewToClaim:
		if !c.Paired {
			return fmt.Sprintf("%s are too few to claim anything of %s: at least %d of each arm are needed",
				values(c.Baseline.N, c.Treated.N), Count(r.Family, "comparison", "comparisons"), r.Fewest)
		}
		return fmt.Sprintf("%s too few to claim anything of %s: at least %d are needed", Count(c.Rounds, "round is", "rounds are"), Count(r.Family, "comparison", "comparisons"), r.Fewest)
	}
	return unseen(c)
}

// unseen says what is found with how much chance, and what a verdict would take.
func unseen(c *analysis.Comparison) string {
	if c.MDE <= 0 || !Finite(c.MDE) {
		return "the " + noun(c.Paired) + " do not vary, so that nothing says what could be seen"
	}
	if IsRatio(c.Metric) && c.MDE >= farthest {
		return "the " + noun(c.Paired) + " vary so much that no difference could be seen"
	}
	text := "differences of " + Size(c.Metric, c.MDE) + " are found with " + Share(c.Power) + " chance"
	if c.Needed > 0 && c.NeededRange != nil {
		many := "rounds"
		if !c.Paired {
			many = "values per arm"
		}
		text += fmt.Sprintf("; %s to %s would resolve this, %s with %s chance if the noise is as large as it seems",
			thousands(strconv.Itoa(c.NeededRange[0])), Count(c.NeededRange[1], "", many), thousands(strconv.Itoa(c.Needed)), Share(c.Power))
	}
	return text
}

// missing says why a comparison has fewer than two pairs, or values of an arm.
func missing(c *analysis.Comparison, l *analysis.Loss) string {
	head := "no valid pairs"
	switch {
	case !c.Paired:
		head = "too few valid values, " + values(c.Baseline.N, c.Treated.N)
	case c.Rounds == 1:
		head = "only one valid pair"
	}
	if l == nil {
		return head
	}
	whose := ": "
	if l.Baseline {
		whose = ": of the baseline, "
	}
	lost := fmt.Sprintf("%d of %d trials ", l.Lost, l.Trials)
	switch {
	case l.Metric != "":
		return head + whose + lost + "have no usable value of " + l.Metric
	case len(l.Rules) == 1:
		return head + whose + lost + "broke rule " + l.Rules[0]
	}
	return head + whose + lost + "broke rules " + strings.Join(l.Rules, ", ")
}

// values counts those of two independent samples: "6 values per arm".
func values(baseline, treated int) string {
	if baseline == treated {
		return Count(baseline, "value", "values") + " per arm"
	}
	return fmt.Sprintf("%s of the baseline and %d of the arm", Count(baseline, "value", "values"), treated)
}

func noun(paired bool) string {
	if paired {
		return "pairs"
	}
	return "values"
}

func contrastName(s experiment.Scale) string {
	if s == experiment.Difference {
		return "difference"
	}
	return "ratio"
}

// pValue writes a p with its name: "p = 0.012", "p < 0.001".
func pValue(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'g', 2, 64)
}
