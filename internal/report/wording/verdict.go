package wording

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/runs/compare"
)

// Sentence states a verdict with all its labels, for CSV and JSON: "observational: exploratory: restates rate: costs
// 7.1 % [6.2, 8.0]".
func Sentence(c *analysis.Comparison) string {
	return When(c.Observational, "observational: ") + When(!c.Metric.Headline, "exploratory: ") +
		When(c.Restates != "" && c.Verdict != analysis.Restated, "restates "+c.Restates+": ") + Verdict(c)
}

// Qualified states a verdict for a paragraph: "observational, exploratory: costs 7.1 % [6.2, 8.0]; restates rate". Only
// claims have the label observational.
func Qualified(c *analysis.Comparison) string {
	kinds := Join(", ", When(ObservationalClaim(c), "observational"), When(!c.Metric.Headline, "exploratory"))
	return Join(": ", kinds, Verdict(c)) + When(c.Restates != "" && c.Verdict != analysis.Restated, "; restates "+c.Restates)
}

// ObservationalClaim reports whether a comparison makes a claim although its data come from no experiment.
func ObservationalClaim(c *analysis.Comparison) bool {
	return c.Observational && c.Verdict.Claims()
}

// Verdict states the verdict with its numbers: "costs 7.1 % [6.2, 8.0]".
func Verdict(c *analysis.Comparison) string {
	switch c.Verdict {
	case analysis.Costs, analysis.Gains:
		if c.Control {
			return "differs from the baseline: " + estimated(c)
		}
		return Effect(c) + withstands(c)
	case analysis.Equivalent:
		return fmt.Sprintf("equivalent within ±%s%s (%s)", Size(c.Metric, c.Margin), ifNormal(c.Grade), Join("; ", Effect(c), innerText(c)))
	case analysis.NotResolved:
		return "not resolved: " + unresolved(c)
	case analysis.Interim:
		return "interim, " + Reason(c.Reason) + estimateIfJudged(c)
	case analysis.Restated:
		return Reason(c.Reason) + estimateIfJudged(c)
	}
	text := "no verdict"
	text += When(c.Reason != nil, ", "+Reason(c.Reason))
	return text + When(!c.PointOnly && c.Rounds > 0, ": "+estimated(c))
}

// Effect writes an overhead with its direction: "costs 7.1 % [6.2, 8.0]", for two overheads "… more than in run 1". An
// overhead that rounds to zero has no direction.
func Effect(c *analysis.Comparison) string {
	if c.Versus == nil && c.Metric.Objective != "" {
		return capacityEffect(c)
	}
	return effect(c, versusText(c.Versus))
}

// effect writes an overhead with its direction. The arm is compared with the arm or run that versus names, or with the
// baseline if versus is "".
func effect(c *analysis.Comparison, versus string) string {
	if unmeasurable(c) {
		word := cmp.Or(When(c.Overhead.Point < 0, "gains"), "costs")
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
		more, o = " less than ", negated(o)
		if versus == "" {
			word = "gains "
		}
	}
	if claims := c.Verdict == analysis.Costs || c.Verdict == analysis.Gains; claims && c.Grade == analysis.Normal {
		word = strings.TrimSpace(word) + ifNormal(c.Grade) + " "
	}
	text := word + plain.Interval(c.Metric, o)
	return Join(", ", text+When(versus != "", more+versus), Factor(c))
}

// capacityEffect writes the effect on a capacity: "holds 11 % [8, 14] less load at p99 ≤ 20 ms".
func capacityEffect(c *analysis.Comparison) string {
	more, o := " less", c.Overhead
	switch {
	case isZero(c), unmeasurable(c), o.Lo < 0 && o.Hi > 0:
		return "differs by " + estimated(c) + " in the load held at " + c.Metric.Objective
	case o.Point < 0:
		more, o = " more", negated(o)
	}
	grade := When(c.Verdict == analysis.Costs || c.Verdict == analysis.Gains, ifNormal(c.Grade))
	return Join(", ", "holds"+grade+" "+plain.Interval(c.Metric, o)+more+" load at "+c.Metric.Objective, Factor(c))
}

// estimateIfJudged returns a colon with the estimate; "" if the comparison has no numbers.
func estimateIfJudged(c *analysis.Comparison) string { return When(HasNumbers(*c), ": "+estimated(c)) }

// ifNormal returns the remark on a claim that assumes normal noise.
func ifNormal(g analysis.Grade) string { return When(g == analysis.Normal, " (if noise is normal)") }

func isZero(c *analysis.Comparison) bool {
	if manifold(c.Metric, c.Overhead) {
		return false
	}
	_, o := scaled(c.Metric, c.Overhead)
	return o.Point == 0 || vanishes(o.Point, decimalsOf(o))
}

func negated(i analysis.Interval) analysis.Interval {
	return analysis.Interval{Point: -i.Point, Lo: -i.Hi, Hi: -i.Lo}
}

// estimated writes an overhead with its direction, and its interval if there is one: "0.4 % less [2.2
// more, 3.1 less]".
func estimated(c *analysis.Comparison) string {
	if unmeasurable(c) {
		return unmeasured
	}
	return estimate(wordsOf(c).interval(c.Metric, c.Overhead, c.PointOnly))
}

// innerText writes the narrower interval that proves equivalence: "the 90 % interval [0.1 less, 0.2 more] lies
// within"; "" if there is none.
func innerText(c *analysis.Comparison) string {
	if c.Inner == nil {
		return ""
	}
	inner := c.Inner.Interval
	inner.Point = c.Overhead.Point // the sign of the overhead decides whether a bound reads "more" or "less"
	return "the " + Confidence(c.Inner.Confidence) + " interval " + wordsOf(c).Bounds(c.Metric, inner) + " lies within"
}

// Inner states which narrower interval proves equivalence: "the 90 % interval [0.1 less, 0.2 more] lies within ±2 %";
// "": the interval shown proves it.
func Inner(c *analysis.Comparison) string {
	return When(c.Inner != nil, innerText(c)+" ±"+Size(c.Metric, c.Margin))
}

// versusText names what an arm is compared with, if it is not the baseline: "release-1.1 in run 1".
func versusText(v *analysis.Versus) string {
	if v == nil {
		return ""
	}
	return Join(" ", v.Arm, When(v.Run > 0, fmt.Sprintf("in run %d", v.Run)))
}

// AlternativeText states the verdict that would result if trials with failed operations counted; "" for nil.
func AlternativeText(a *analysis.Alternative) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("with the %s that had failed operations, %s", Count(a.Trials, "trial", "trials"), Verdict(&a.Comparison))
}

// unresolved explains why neither a difference nor equivalence is claimed, with the estimate.
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

// Why explains why a comparison is not resolved. The text does not repeat the comparison's estimate.
func Why(c *analysis.Comparison) string {
	if c.Method == contrast.MethodRandomEffects {
		if text := combinedWhy(c); text != "" {
			return text
		}
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
		return "the control has no estimate on this metric to compare with"
	case analysis.ThinControl:
		return fmt.Sprintf("the control has only %d %s on this metric, the arm has %d", r.Values, noun(c.Paired), c.Rounds)
	case analysis.NotInFamily:
		return fmt.Sprintf("not as one of %d claims (Holm %s; %s)", r.Family, pValue(c.PAdjusted), detectable(c))
	case analysis.WithinBias:
		return "the control differs by up to " + Size(c.Metric, r.Bias) + " itself"
	case analysis.Ties:
		return pValue(c.PAdjusted) + ": so many values are the same that the interval cannot exclude 0"
	case analysis.FarReaching:
		shown := cmp.Or(When(c.Inner != nil, "this one"), "the interval")
		return fmt.Sprintf("%s, but %s reaches beyond twice that margin: a few %s decide",
			cmp.Or(Inner(c), "the tests of equivalence pass"), shown, noun(c.Paired))
	case analysis.MeanNotShown:
		if c.Mean == nil {
			return "the mean is not shown to lie within ±" + Share(c.Margin)
		}
		return "the mean is not shown to lie within ±" + Share(c.Margin) + ": " + wordsOf(c).Interval(c.Metric, *c.Mean)
	case analysis.MissingTrials:
		return missingTrials(r, noun(c.Paired), c.Verdict.Claims())
	case compare.Occasions:
		if r.Deviation == 0 {
			return "between these two occasions; how much others differ is not known, so there is no verdict"
		}
		return fmt.Sprintf("%d runs without any change differ by a standard deviation of %s", r.Runs, Size(c.Metric, r.Deviation))
	case analysis.TooFewToClaim:
		if !c.Paired {
			return fmt.Sprintf("%s are too few to claim anything of %s: at least %d of each arm are needed",
				values(c.Baseline.N, c.Treated.N), Count(r.Family, "comparison", "comparisons"), r.Fewest)
		}
		return fmt.Sprintf("%s too few to claim anything of %s: at least %d are needed", Count(c.Rounds, "round is", "rounds are"), Count(r.Family, "comparison", "comparisons"), r.Fewest)
	}
	return detectable(c)
}

// detectable states how large a difference must be to be found with a stated chance, and how many rounds would give a
// verdict.
func detectable(c *analysis.Comparison) string {
	if c.MDE <= 0 || !Finite(c.MDE) {
		return "the " + noun(c.Paired) + " do not vary, so the smallest difference that could be found is unknown"
	}
	if IsRatio(c.Metric) && c.MDE >= maxRatio {
		return "the " + noun(c.Paired) + " vary so much that no difference could be seen"
	}
	text := "differences of " + Size(c.Metric, c.MDE) + " are found with " + Share(c.Power) + " chance"
	if c.Needed > 0 && c.NeededRange != nil {
		many := cmp.Or(When(!c.Paired, "values per arm"), "rounds")
		text += fmt.Sprintf("; %s to %s would resolve this, %s with %s chance if the noise is as large as it seems",
			thousands(strconv.Itoa(c.NeededRange[0])), Count(c.NeededRange[1], "", many), thousands(strconv.Itoa(c.Needed)), Share(c.Power))
	}
	return text
}

// missing explains why a comparison has fewer than two pairs, or too few values of an arm.
func missing(c *analysis.Comparison, l *analysis.Loss) string {
	head := "no valid pairs"
	switch {
	case !c.Paired:
		head = "too few valid values, " + values(c.Baseline.N, c.Treated.N)
	case c.Rounds == 1:
		head = "only one valid pair"
	}
	return head + lossText(l)
}

// lossText states the main cause of missing values, after a colon; "" for nil.
func lossText(l *analysis.Loss) string {
	if l == nil {
		return ""
	}
	whose := cmp.Or(When(l.Baseline, ": of the baseline, "), ": ")
	lost := fmt.Sprintf("%d of %d trials ", l.Lost, l.Trials)
	if l.Metric != "" {
		return whose + lost + "have no usable value of " + l.Metric
	}
	return whose + lost + "broke " + plural(len(l.Rules), "rule ", "rules ") + strings.Join(l.Rules, ", ")
}

// values counts the values of two independent samples: "6 values per arm".
func values(baseline, treated int) string {
	if baseline == treated {
		return Count(baseline, "value", "values") + " per arm"
	}
	return fmt.Sprintf("%s of the baseline and %d of the arm", Count(baseline, "value", "values"), treated)
}

func noun(paired bool) string { return cmp.Or(When(paired, "pairs"), "values") }

func contrastName(s experiment.Scale) string {
	return cmp.Or(When(s == experiment.Difference, "difference"), "ratio")
}

// pValue writes a p value with its name: "p = 0.012", "p < 0.001".
func pValue(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'g', 2, 64)
}
