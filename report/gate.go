package report

import (
	"fmt"
	"strings"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/experiment"
	"tare/gate"
)

// GateLine says in one line what a gate came to.
func GateLine(r *gate.Result) string {
	n := len(r.Cases)
	unresolved := r.Count(gate.Unresolved)
	switch r.Outcome {
	case gate.Pass:
		return "gate passed: " + count(n, "budget", "budgets") + " kept"
	case gate.Fail:
		text := fmt.Sprintf("gate failed: %d of %s exceeded", r.Count(gate.Fail), count(n, "budget", "budgets"))
		if unresolved > 0 {
			text += fmt.Sprintf(", %d not resolved", unresolved)
		}
		return text
	case gate.Invalid:
		return "gate invalid: the run gives no verdicts"
	}
	return fmt.Sprintf("gate unresolved: %d of %s not resolved", unresolved, count(n, "budget", "budgets"))
}

// gateAbout says what was judged: the run, its size, and what it was held
// against.
func gateAbout(r *gate.Result) string {
	name := plain(r.Name)
	if name == "" {
		name = "run"
	}
	text := fmt.Sprintf("%s, %s, compared with ", name, count(r.Rounds, "round", "rounds"))
	if r.Against != "" {
		text += "the history in " + plain(r.Against)
	} else {
		text += gateBaseline(r)
	}
	text += ", " + share(r.Confidence) + " intervals"
	if !r.Finished {
		text += ", not finished"
	}
	return text
}

func gateBaseline(r *gate.Result) string {
	if b := plain(r.Baseline); b != "" {
		return b
	}
	return "the baseline"
}

// gateObservational is the label of a run that is no experiment, empty for one
// that is.
func gateObservational(r *gate.Result) string {
	if r.Observational == "" {
		return ""
	}
	return "observational: " + brief(r.Observational)
}

// gateMetric is the metric of a case on the scale of its limit.
func gateMetric(c gate.Case) experiment.Metric {
	m := c.Metric
	m.Scale = c.Limit.Scale
	return m
}

// gateOverhead writes the estimate and the interval of a case.
func gateOverhead(c gate.Case) (point, interval string) {
	if !c.Estimated {
		return missing, ""
	}
	shown := analysis.Comparison{Metric: gateMetric(c), Overhead: c.Overhead, Rounds: max(c.Size, 1), Verdict: analysis.Costs}
	return overhead(shown)
}

// gateAmount writes one number of a case on the scale of its limit, with as many
// digits as its interval has.
func gateAmount(c gate.Case, v float64) string {
	point, _ := written(analysis.Comparison{Metric: gateMetric(c), Overhead: c.Overhead, Rounds: 1, Verdict: analysis.Costs},
		analysis.Interval{Point: v, Lo: v - gateHalf(c), Hi: v + gateHalf(c)}, fixed)
	return point
}

func gateHalf(c gate.Case) float64 { return (c.Overhead.Hi - c.Overhead.Lo) / 2 }

// gateWhat names what a case is about besides its cell and arm: the metric, and
// the part of the history.
func gateWhat(c gate.Case) string {
	if c.History == nil {
		return plain(c.Metric.Name)
	}
	return plain(c.Metric.Name) + " (" + plain(c.History.Part) + ")"
}

// gateWhy says in words why a case has its outcome: the verdict without the names.
func gateWhy(r *gate.Result, c gate.Case) string {
	limit := plain(c.Budget.String())
	switch c.Reason {
	case gate.Within:
		if c.Overhead.Hi < 0 && c.History == nil {
			return fmt.Sprintf("gains at least %s, within the limit of %s", gateAmount(c, -c.Overhead.Hi), limit)
		}
		return fmt.Sprintf("%s at most %s, within the limit of %s", gateVerb(c), gateAmount(c, c.Overhead.Hi), limit)
	case gate.Exceeds:
		return fmt.Sprintf("%s at least %s, over the limit of %s", gateVerb(c), gateAmount(c, c.Overhead.Lo), limit)
	case gate.Straddles:
		return fmt.Sprintf("the limit of %s lies within the interval%s", limit, gateNeeded(c))
	case gate.NotByHolm:
		return fmt.Sprintf("%s at least %s by itself, over the limit of %s, but not as one of %s (p after Holm's correction %s)%s", gateVerb(c),
			gateAmount(c, c.Overhead.Lo), limit, count(len(r.Cases), "budget", "budgets"), probability(c.PAdjusted), gateNeeded(c))
	case gate.UnderBias:
		return fmt.Sprintf("not clear of the limit of %s: the control differs from %s by up to %s itself", limit, gateBaseline(r), gateAmount(c, c.Bias))
	case gate.TooFew:
		text := count(c.Size, "complete round is", "complete rounds are")
		if c.Method == contrast.MethodWelch {
			text = count(c.Size, "value is", "values are")
		}
		text += " too few for an interval that holds for any noise"
		if c.Needed > 0 {
			text += "; at least " + count(c.Needed, "is", "are") + " needed"
		}
		return text
	case gate.NotFinished:
		return "the run is not finished; tare resume goes on with it"
	case gate.NotRandom:
		return "not judged, since the run is observational; --observational judges it all the same"
	}
	text := string(c.Reason)
	if d := brief(c.Detail); d != "" {
		text += ": " + d
	}
	return text
}

// gateVerb is what an overhead, or its growth, does.
func gateVerb(c gate.Case) string {
	if c.History == nil {
		return "costs"
	}
	word := "is worse than " + count(c.History.Runs, "run", "runs")
	if c.History.Part == gate.PartAnchor {
		return word + " at the beginning by"
	}
	return word + " since the last change by"
}

// gateNeeded says how many rounds would resolve a case.
func gateNeeded(c gate.Case) string {
	switch {
	case c.History != nil:
		return ""
	case c.Needed > 0 && c.Method == contrast.MethodRankSum:
		return "; about " + count(c.Needed, "value", "values") + " of each arm would resolve it"
	case c.Needed > 0:
		return "; about " + count(c.Needed, "round", "rounds") + " would resolve it"
	}
	return "; the estimate is so near to it that no reasonable number of rounds would resolve it"
}

// gateSentence is a case in a sentence with its names.
func gateSentence(r *gate.Result, c gate.Case) string {
	text := fmt.Sprintf("%s: %s on %s in %s: %s", c.Outcome, plain(c.Arm), gateWhat(c), plain(c.Cell), gateWhy(r, c))
	if point, interval := gateOverhead(c); interval != "" {
		text += fmt.Sprintf(" (%s %s, %s interval)", point, interval, share(r.Confidence))
	}
	text += "."
	if label := gateObservational(r); label != "" {
		text += " " + sentence(label)
	}
	return text
}

// gateMark is an outcome's sign, so that it can be told without colour.
func gateMark(o gate.Outcome, ascii bool) string {
	signs := [2]string{"?", "?"}
	switch o {
	case gate.Pass:
		signs = [2]string{"✓", "+"}
	case gate.Fail:
		signs = [2]string{"✗", "x"}
	case gate.Invalid:
		signs = [2]string{"×", "x"}
	}
	if ascii {
		return signs[1]
	}
	return signs[0]
}

func gateStyle(o gate.Outcome) string {
	switch o {
	case gate.Pass:
		return "1;36"
	case gate.Fail:
		return "1;31"
	case gate.Invalid:
		return "1;35"
	}
	return "33"
}

// gateReasons say why the run gives no verdicts.
func gateReasons(r *gate.Result) []string { return plainAll(r.Reasons) }

// gateWarnings are what a reader must know of the run before trusting its numbers.
func gateWarnings(r *gate.Result) []string {
	var list []string
	for _, w := range r.Warnings {
		if w = brief(w); w != "" && !strings.EqualFold(w, brief(r.Observational)) {
			list = append(list, w)
		}
	}
	return list
}
