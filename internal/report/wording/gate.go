package wording

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/gate"
	"tare/internal/text/safetext"
)

var gateReasons = map[gate.Reason]string{
	gate.Within:      "the interval ends within the limit",
	gate.Exceeds:     "shown to be over the limit",
	gate.Straddles:   "the limit lies within the interval",
	gate.NotByHolm:   "over the limit by itself, but not as one of so many cases",
	gate.UnderBias:   "not clear of the limit by more than the control differs from the baseline",
	gate.TooFew:      "too few values for an interval that holds for any noise",
	gate.NoData:      "no values to compare",
	gate.NoControl:   "too few values of the control to compare with",
	gate.NotFinished: "the run is not finished",
	gate.NotRandom:   "the run is observational",
	gate.NoHistory:   "nothing in the history to compare with",
	gate.NoVerdicts:  "the run gives no verdicts",
	gate.NotVarying:  "the metric has the same value in every trial: it measures nothing here",
	gate.OtherWork:   "its files were made with other settings of the workload than the baseline's",
	gate.FailsMore:   "the program fails more often than in the baseline",
	gate.Missing:     "trials failed whose values would decide it",
	gate.Behaves:     "a pass is withheld",
	gate.MeanOver:    "the typical round is within the limit, the mean is not",
}

// GateReason states the reason for the outcome of a budget.
func GateReason(r gate.Reason) string { return gateReasons[r] }

// GateReasons lists the reasons why a gate has no verdicts; empty if it has verdicts.
func GateReasons(r *gate.Result) []string {
	for _, c := range r.Cases {
		if r.Valid && c.Outcome == gate.Invalid {
			return []string{GateReason(c.Reason)}
		}
	}
	if !r.Valid && len(r.Reasons) == 0 {
		return []string{GateReason(gate.NoVerdicts)}
	}
	return Reasons(r.Reasons)
}

// GateLine states in one line the outcome of a gate.
func GateLine(r *gate.Result) string {
	budgets, unresolved := Count(len(r.Cases), "budget", "budgets"), r.Count(gate.Unresolved)
	switch r.Outcome {
	case gate.Pass:
		return "gate passed: " + budgets + " kept"
	case gate.Fail:
		text := fmt.Sprintf("gate failed: %d of %s exceeded", r.Count(gate.Fail), budgets)
		return text + When(unresolved > 0, fmt.Sprintf(", %d not resolved", unresolved))
	case gate.Invalid:
		if r.Valid {
			return "gate invalid: " + GateReasons(r)[0]
		}
		return "gate invalid: the run gives no verdicts"
	}
	return fmt.Sprintf("gate unresolved: %d of %s not resolved", unresolved, budgets)
}

// GateScope states which run was judged, its size, and the baseline or history that it was compared with.
func GateScope(r *gate.Result) string {
	size, against := gateSize(r, r.Rounds), gateBaseline(r)
	switch {
	case r.Occasions > 0:
		size += " together"
	case !r.Paired && r.Rounds > 1:
		size = "up to " + size
	}
	if r.Against != "" {
		against = "the history in " + safetext.Line(r.Against)
	}
	name := cmp.Or(safetext.Line(r.Name), "run")
	if of := Labels(r.Labels); of != "" {
		name += " (" + of + ")"
	}
	text := fmt.Sprintf("%s, %s, compared with %s, %s intervals", name, size, against, Confidence(r.Confidence))
	text += When(!r.Finished, ", not finished")
	normal := 0
	for _, c := range r.Cases {
		if c.Grade == analysis.Normal {
			normal++
		}
	}
	return text + When(normal > 0, fmt.Sprintf("; %d of %s judged as if noise were normal", normal, Count(len(r.Cases), "case", "cases")))
}

// gateSize writes n with the unit that the gate counts, such as "12 rounds". Other units are pairs, values and runs.
func gateSize(r *gate.Result, n int) string {
	one, many, of := gateUnit(r)
	return Count(n, one, many) + of
}

// gateUnit names the values that a gate counts: runs, values of independent samples, pairs of imported trials, or
// rounds. of is a text behind the plural, such as " per arm".
func gateUnit(r *gate.Result) (one, many, of string) {
	switch {
	case r.Occasions > 0:
		return "run", "runs", ""
	case !r.Paired:
		return "value", "values", " per arm"
	case r.Observation != nil:
		return "pair", "pairs", " of trials"
	}
	return "round", "rounds", ""
}

func gateBaseline(r *gate.Result) string { return cmp.Or(safetext.Line(r.Baseline), "the baseline") }

// GateShared lists the explanations that several cases share.
func GateShared(r *gate.Result) []string {
	var list []string
	count := map[string]int{}
	advice := false
	for _, c := range r.Cases {
		switch why := GateWhy(r, c); {
		case c.Reason == gate.NotFinished, c.Reason == gate.NotRandom, c.Reason == gate.NoHistory:
			if count[why]++; count[why] == 1 {
				list = append(list, why)
			}
		case c.History != nil && c.Reason == gate.Straddles:
			advice = true
		}
	}
	list = slices.DeleteFunc(list, func(why string) bool { return count[why] == 1 })
	if advice {
		list = append(list, "where a limit lies within the interval, runs vary too much to decide: more trials in each run or a quieter machine would narrow the interval, more runs hardly")
	}
	return list
}

// GateBrief explains the outcome of a case, unless shared contains the explanation.
func GateBrief(r *gate.Result, c gate.Case, shared []string) string {
	why := GateWhy(r, c)
	if !slices.Contains(shared, why) {
		return why
	}
	return When(c.Reason == gate.NoHistory, "nothing to compare with")
}

func gateMetric(c gate.Case) experiment.Metric {
	m := c.Metric
	m.Scale = c.Limit.Scale
	return m
}

// GateOverhead writes the estimate and the interval of a case.
func GateOverhead(c gate.Case) (point, interval string) {
	if !c.Estimated {
		return Missing, ""
	}
	return OverheadWords(gateMetric(c)).interval(gateMetric(c), c.Overhead, false)
}

// gateAmount writes a number on the scale of a case's limit. It has as many digits as the case's interval.
func gateAmount(c gate.Case, v float64) string {
	return plain.Amount(gateMetric(c), v, c.Overhead)
}

// GateSubject names the metric of a case, and the part of the history that it was compared with.
func GateSubject(c gate.Case) string {
	if c.History == nil {
		return safetext.Line(c.Metric.Name)
	}
	return safetext.Line(c.Metric.Name) + " (" + c.History.Part + ")"
}

// GateWhy explains the outcome of a case. The explanation does not name the arm, the cell and the metric.
func GateWhy(r *gate.Result, c gate.Case) string { return gateWhy(r, c) + ifNormal(c.Grade) }

func gateWhy(r *gate.Result, c gate.Case) string {
	limit := safetext.Line(c.Budget.String())
	switch c.Reason {
	case gate.Within:
		return fmt.Sprintf("%s, within the limit of %s", gateBound(c, "at most", c.Overhead.Hi), limit)
	case gate.Exceeds:
		return fmt.Sprintf("%s, over the limit of %s", gateBound(c, "at least", c.Overhead.Lo), limit)
	case gate.Straddles:
		return fmt.Sprintf("the limit of %s lies within the interval%s", limit, gateNeeded(r, c))
	case gate.NotByHolm:
		return fmt.Sprintf("%s by itself, over the limit of %s, but not as one of %s (p after Holm's correction %s)%s",
			gateBound(c, "at least", c.Overhead.Lo), limit, Count(len(r.Cases), "budget", "budgets"), Probability(c.PAdjusted), gateNeeded(r, c))
	case gate.UnderBias:
		return fmt.Sprintf("not clear of the limit of %s: the control differs from %s by up to %s itself", limit, gateBaseline(r), gateAmount(c, c.Bias))
	case gate.TooFew:
		one, many, of := gateUnit(r)
		if of == "" {
			one, many = "complete "+one, "complete "+many
		}
		text := Count(c.Size, one, many) + of + " " + plural(c.Size, "is", "are") + " too few for an interval that holds for any noise"
		return text + When(c.Needed > 0, "; at least "+Count(c.Needed, "is", "are")+" needed")
	case gate.NotFinished:
		return "the run is not finished; tare resume continues it"
	case gate.NotRandom:
		return "not judged, since the run is observational; --observational judges it all the same"
	case gate.FailsMore:
		point, interval := plain.interval(gateMetric(c), c.Overhead, false)
		return fmt.Sprintf("fails in %s %s of trials, more often than %s (%s); --budget failures=LIMIT bounds the share instead", point, interval, gateBaseline(r), Share(c.Limit.Value))
	case gate.Missing:
		return "trials failed whose values could change the outcome, for the limit of " + limit
	case gate.MeanOver:
		return fmt.Sprintf("the typical round %s, within the limit of %s, but the mean is over it: some trials take far longer", gateBound(c, "at most", c.Overhead.Hi), limit)
	}
	text := GateReason(c.Reason)
	return text + When(c.Gap != nil, ": "+Reason(c.Gap))
}

// gateBound states one end of an overhead's interval: "costs at most 4.2 %". In a gate with a history, the interval is
// that of the growth since earlier runs.
func gateBound(c gate.Case, bound string, v float64) string {
	verb, word := "costs", "worse"
	if v < 0 { // then v is an upper end below 0: the arm gains at least −v
		verb, word, bound = "gains", "better", "at least"
	}
	if h := c.History; h != nil {
		since := cmp.Or(When(h.Part == gate.PartAnchor, "at the beginning"), "since the last change")
		verb = "is " + word + " than " + Count(h.Runs, "run", "runs") + " " + since + " by"
	}
	return verb + " " + bound + " " + gateAmount(c, math.Abs(v))
}

// gateNeeded estimates the number of rounds that would resolve a case.
func gateNeeded(r *gate.Result, c gate.Case) string {
	switch {
	case c.History != nil:
		return ""
	case r.Occasions > 0:
		return "; more runs narrow it"
	case c.Needed > 0:
		return "; about " + gateSize(r, c.Needed) + " would resolve it if the noise is as large as it seems"
	}
	_, many, of := gateUnit(r)
	return "; the estimate is too near to it for any reasonable number of " + many + of + " to resolve it"
}

// GateSentence states the outcome of a case with its names and its explanation. A case of an observational run
// has a label.
func GateSentence(r *gate.Result, c gate.Case) string {
	outcome := string(c.Outcome)
	outcome += When(r.Observation != nil, " (observational)")
	text := fmt.Sprintf("%s: %s on %s in %s: %s", outcome, safetext.Line(c.Arm), GateSubject(c), safetext.Line(c.Cell), GateWhy(r, c))
	if point, interval := GateOverhead(c); interval != "" {
		text += fmt.Sprintf(" (%s %s, %s interval)", point, interval, Confidence(r.Confidence))
	}
	return text + "."
}

// GatePrevious states how a case's value changed since the previous run (▲: worse), and the names of both runs. The
// change is no verdict: two runs do not show how much runs vary.
func GatePrevious(r *gate.Result, c gate.Case) (change, runs string) {
	p := c.Previous
	size := Changed(c.Metric, p.Change)
	change = cmp.Or(When(p.Change > 0, "▲ "+size), When(p.Change < 0, "▼ "+size), "the same")
	was := cmp.Or(Labels(p.Labels), safetext.Line(p.Run))
	is := cmp.Or(Labels(r.Labels), "this run")
	return change, was + " → " + is + "; for information, not judged"
}
