package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

var shares = experiment.Metric{Scale: experiment.Ratio, Better: experiment.Lower}

// frequency writes the share of trials in which an event happened, with its interval: "30 % [18, 45]".
func frequency(f analysis.Frequency) string {
	return estimate(FrequencyParts(f))
}

// FrequencyParts returns the share and its interval as two texts.
func FrequencyParts(f analysis.Frequency) (point, interval string) {
	if f.Of == 0 {
		return Missing, ""
	}
	return plain.interval(shares, f.Share, false)
}

// ShareDifference writes the difference of two shares: "30 points more [17, 44]".
func ShareDifference(d analysis.Interval) string {
	d = analysis.Interval{Point: 100 * d.Point, Lo: 100 * d.Lo, Hi: 100 * d.Hi}
	return estimate(more.written(d, decimalsOf(d), false, Scale{Div: 1, Label: "points"}))
}

// Failed states how often the program failed in an arm: "fails in 30 % [18, 45] of trials; baseline 0 %
// [0, 7]; 30 points more [17, 44]".
func Failed(f *analysis.Failures, baseline string) string {
	text := "fails in " + frequency(f.Failed) + " of trials"
	switch f.Verdict {
	case analysis.Gains:
		text = "fails less often, in " + frequency(f.Failed) + " of trials"
	case analysis.Interim, analysis.Invalid:
		text = string(f.Verdict) + ", " + Reason(f.Reason) + ": " + text
	}
	if f.Reference != nil {
		text += "; " + baseline + " " + frequency(*f.Reference) + "; " + ShareDifference(f.Difference)
	}
	text += When(f.Verdict == analysis.NotResolved, " (not shown to differ, Holm "+pValue(f.PAdjusted)+")")
	return When(f.Observational && f.Verdict.Claims(), "observational: ") + text
}

// MeanOverhead writes the overhead of the mean, such as "7.3 % more [6.0, 8.9]". It returns "" if the mean was not
// estimated.
func MeanOverhead(c *analysis.Comparison) string {
	if c.Mean == nil {
		return ""
	}
	if tooWide(c.Metric, *c.Mean) {
		return unmeasured
	}
	return wordsOf(c).Interval(c.Metric, *c.Mean)
}

// Mean writes the overhead of the mean with its name: "mean 7.3 % more [6.0, 8.9]"; "" if the mean was not estimated.
func Mean(c *analysis.Comparison) string {
	return When(c.Mean != nil, "mean "+MeanOverhead(c))
}

// MeanIfDifferent returns the text of Mean if the mean contradicts a claim; otherwise "". The mean is outside the
// typical round's interval, or its own interval is not on the claim's side of zero.
func MeanIfDifferent(c *analysis.Comparison) string {
	if c.Mean == nil || c.Verdict != analysis.Costs && c.Verdict != analysis.Gains {
		return ""
	}
	if m := c.Mean; m.Lo > 0 == (c.Overhead.Point > 0) && m.Hi > 0 == (c.Overhead.Point > 0) && c.Overhead.Lo <= m.Point && m.Point <= c.Overhead.Hi {
		return ""
	}
	return Mean(c)
}

// missingTrials states how many trials are missing because they failed, and their effect: "…; the verdict stands with
// these counted as no difference".
func missingTrials(r analysis.MissingTrials, noun string, claimed bool) string {
	text, they := fmt.Sprintf("%d of %d %s are missing, since their trials failed; ", r.Missing, r.Of, noun), "these"
	if r.Missing == 1 {
		text, they = fmt.Sprintf("1 of %d %s is missing, since its trial failed; ", r.Of, noun), "this one"
	}
	verb := map[analysis.Verdict]string{analysis.Costs: "cost", analysis.Gains: "gain"}[r.Without]
	side := cmp.Or(When(r.Without == analysis.Gains, "arm"), "baseline")
	switch {
	case !claimed:
		return text + "if " + they + " did not count, it would " + cmp.Or(verb, "be "+string(r.Without))
	case r.Worst == 0:
		return text + "the verdict stands with " + they + " counted as no difference"
	case r.Worst == r.Missing:
		return text + "the verdict stands with " + they + " counted as the worst of the " + side
	}
	return text + fmt.Sprintf("the verdict stands with %d of these counted as the worst of the %s, and the others counted as no difference", r.Worst, side)
}

// withstands explains why a claim holds although trials are missing; "" if no trials are missing.
func withstands(c *analysis.Comparison) string {
	if _, ok := c.Reason.(analysis.MissingTrials); !ok {
		return ""
	}
	return " (" + Why(c) + ")"
}

// amounts maps the marks of a changed amount of output to the words for them, such as "far less".
var amounts = map[string]string{analysis.FarLess: "far less", analysis.FarMore: "far more", analysis.OtherLines: "another number of lines"}

// behaviourText states in a clause how a program's behaviour in an arm differs from its behaviour in the baseline.
func behaviourText(f analysis.OtherBehaviour) string {
	return fmt.Sprintf("the program does not do the same as in the baseline: %s in %d of %s (baseline and control: %d of %d)",
		markText(f), f.Count, Count(f.Of, "trial", "trials"), f.Reference, f.Among)
}

// markText names the behaviour that was seen, such as an exit status or a line on stderr.
func markText(f analysis.OtherBehaviour) string {
	what := safetext.Head(f.Mark, maxQuoted)
	switch f.Aspect {
	case experiment.Stderr:
		what = `"` + what + `" on stderr`
	case experiment.Exit:
		what = "exit status " + what
	case experiment.Output, experiment.Answers:
		if strings.HasPrefix(what, "sha256:") {
			what = "other bytes"
		}
		what = cmp.Or(amounts[what], what) + map[experiment.Aspect]string{experiment.Output: " on stdout", experiment.Answers: " in answers"}[f.Aspect]
	}
	return what + When(f.More > 0, fmt.Sprintf(" (and %d more of the kind)", f.More))
}

// behaviourFinding returns the text of behaviourText, followed by what it means for the verdicts.
func behaviourFinding(f analysis.OtherBehaviour) string {
	text := behaviourText(f)
	text += When(f.Raw != "", ", see "+safetext.Line(f.Raw))
	meant := fmt.Sprintf("allow: %s in the arm declares it as intended", f.Aspect)
	switch {
	case f.Withholds:
		return text + "; a program that does not do its work is fast, so gains and equivalence are withheld; " + meant
	case f.OtherProgram:
		return text + "; the arm runs another program, so its verdicts stand; " + meant
	}
	return text + "; so few trials may differ by chance, so the verdicts stand; " + meant
}

// bound states that trials used up a resource that the metrics do not measure, such as the wire. It adds what the
// results can show nevertheless.
func bound(f analysis.Bound) string {
	r, says := f.Resource, "the results show what that allows, not what the "+f.Tests+" could do"
	if f.Tests == experiment.TestsNetwork && r.Name == testbed.ResourceWire {
		says = "it limits the bandwidth, and further costs of a layer show in CPU time alone"
	}
	text := "bound by " + ResourceName(r.Name)
	if r.Name == testbed.ResourceWire {
		text += fmt.Sprintf(" (%s, %s used)", Value(r.Of, "bit/s"), Share(r.Used))
	} else if r.Of > 0 {
		text += fmt.Sprintf(" (%s of %s)", Share(r.Used), Number(r.Of, 6))
	}
	text += When(f.Arms != nil, " in "+strings.Join(f.Arms, ", "))
	if share := float64(r.Dropped) / float64(r.Packets); share >= minLoss {
		text += ", " + Share(share) + " of its packets dropped"
	}
	if share := float64(r.Retransmitted) / float64(r.Segments); share >= minLoss {
		text += ", " + Share(share) + " of TCP segments sent again"
	}
	text += When(r.Timeouts > 0, ", "+Count(int(r.Timeouts), "TCP timeout", "TCP timeouts"))
	return text + ": " + says
}

// ResourceName names a resource that programs share.
func ResourceName(name string) string {
	switch name {
	case testbed.ResourceMachine:
		return "the machine's processors, which all programs share"
	case testbed.ResourceClient, testbed.ResourceServer:
		return "the processors of the " + name + "'s machine"
	}
	return "the " + name
}
