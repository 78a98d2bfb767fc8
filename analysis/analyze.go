package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/machine"
	"tare/stats"
)

// mostRounds is the largest number of rounds that Comparison.Needed gives.
const mostRounds = 10_000

// Analyze turns the trials of a run, in the order of its journal, into verdicts
// with everything that a report shows beside them. It is a pure function: the
// same plan and trials give the same result. A run that is not finished is
// analysed as far as it goes. The environment may be nil.
func Analyze(plan *experiment.Plan, trials []journal.Trial, env *machine.Environment) *Run {
	t := tabulate(plan, trials, validOnly)
	run, j := judgeRun(t, trials)
	run.Environment = env
	run.Start = began(trials)
	if plan.Import == nil {
		run.Sessions = sessions(trials, run.Start)
	}
	run.Harness = harness(trials)
	run.Proofs = proofs(plan, trials)
	run.Cells = cells(t, run.Start)
	run.Scaling = scalings(t)
	if !plan.Paired() {
		diagnoseSeries(run, plan.Seed)
	}
	for i := range trials {
		if !trials[i].Valid() {
			run.Invalids = append(run.Invalids, trials[i])
		}
	}
	w := wording{Rules: j.Rules, plan: plan, table: t, unit: unitEffects{}, observational: run.Observational != "", cells: run.Cells}
	for i, h := range j.treatments {
		w.complete(&run.Comparisons[i], h, run.Valid)
	}
	for i, h := range j.controls {
		w.complete(&run.Controls[i], h, true)
	}
	if run.Valid {
		w.alternatives(run, j, trials)
	}
	run.Warnings = warnings(t, run, env)
	return run
}

// Judge gives the verdicts and the numbers that lead to them, and leaves out
// what only explains them: texts, minimum detectable effects, diagnostics,
// warnings and series. It is for simulating the method (bench/method); Analyze
// takes the same way.
func Judge(plan *experiment.Plan, trials []journal.Trial) *Run {
	run, _ := judgeRun(tabulate(plan, trials, validOnly), trials)
	return run
}

func judgeRun(t *table, trials []journal.Trial) (*Run, *judgement) {
	j := judge(t)
	rounds, _ := totalRounds(t)
	run := &Run{
		Schema:        Schema,
		Plan:          t.plan,
		Rounds:        len(t.rounds),
		Trials:        t.counts(rounds, trials),
		Family:        j.family,
		Observational: observational(t.plan, trials),
	}
	run.Finished = run.Trials.Done >= run.Trials.Planned
	run.Reasons = slices.Concat(j.reasons, invalidity(t.plan, run.Trials))
	run.Valid = len(run.Reasons) == 0
	run.Comparisons = make([]Comparison, 0, len(j.treatments))
	for _, h := range j.treatments {
		c := j.comparison(t.plan, h)
		if !run.Valid {
			c.Verdict = Invalid
		}
		run.Comparisons = append(run.Comparisons, c)
	}
	run.Controls = make([]Comparison, 0, len(j.controls))
	for _, h := range j.controls {
		run.Controls = append(run.Controls, j.comparison(t.plan, h))
	}
	return run, j
}

// invalidity says what, besides the controls, takes the verdicts from a run.
func invalidity(plan *experiment.Plan, trials Counts) (reasons []string) {
	if role(plan, experiment.Baseline) < 0 {
		reasons = append(reasons, "the plan has no baseline")
	}
	limit := plan.Limits.InvalidTrials
	if limit == nil || trials.Planned == 0 {
		return reasons
	}
	lost := float64(trials.Lost) / float64(trials.Planned)
	switch {
	case lost <= float64(*limit):
	case plan.Import != nil:
		reasons = append(reasons, fmt.Sprintf("%d of %d trials (%s) are invalid, over the limit of %s",
			trials.Lost, trials.Planned, percent(lost), percent(float64(*limit))))
	default:
		reasons = append(reasons, fmt.Sprintf("%d of %d planned trials (%s) stayed invalid after all attempts, over the limit of %s",
			trials.Lost, trials.Planned, percent(lost), percent(float64(*limit))))
	}
	return reasons
}

// comparison puts a judged hypothesis into the form of the result.
func (j *judgement) comparison(plan *experiment.Plan, h *hypothesis) Comparison {
	c := Comparison{
		Cell:            plan.Cells[h.cell].ID,
		Arm:             plan.Arms[h.arm].Name,
		Metric:          h.Metric,
		Verdict:         h.verdict,
		Method:          h.Method,
		Paired:          h.Paired,
		Rounds:          h.Size(),
		Restates:        h.restates,
		Overhead:        Interval(contrast.Overheads(h.shown(h.Main), h.Metric)),
		T:               Interval(contrast.Overheads(h.shown(h.T), h.Metric)),
		PointOnly:       !h.Main.OK,
		P:               h.Main.P,
		PAdjusted:       h.adjusted,
		PEquiv:          h.Main.Equiv,
		PEquivAdjusted:  h.equivAdjusted,
		EstimatorsAgree: !h.Main.OK || !h.T.OK || h.verdict == h.byT,
		OrderP:          1,
	}
	if h.control != nil {
		c.Floor = math.Abs(contrast.Overhead(h.control.Main.At.Point, h.Metric))
	}
	return c
}

// shown is a view's interval or, where there is none, the middle of the
// contrasts as an interval without width.
func (h *hypothesis) shown(v contrast.View) stats.Interval {
	if v.OK || h.Size() == 0 {
		return v.At
	}
	m := h.Middle()
	return stats.Interval{Point: m, Lo: m, Hi: m}
}

// complete adds what explains a verdict: the minimum detectable effect, the
// values themselves, the diagnostics, the sentence.
func (w wording) complete(c *Comparison, h *hypothesis, valid bool) {
	c.Baseline, c.Treated = w.summaries(h)
	c.Overheads = make([]float64, len(h.Contrasts))
	for i, x := range h.Contrasts {
		c.Overheads[i] = contrast.Overhead(x, h.Metric)
	}
	w.detectable(c, h)
	w.inner(c, h)
	c.Observational = w.observational
	if h.Paired {
		w.diagnose(c, h)
	} else {
		w.diagnoseSamples(c, h)
	}
	c.Text = w.sentence(c, h, valid)
}

// inner adds the interval that equivalence rests on where the one shown does not
// lie within the margin.
func (w wording) inner(c *Comparison, h *hypothesis) {
	if h.verdict != Equivalent && h.reason != reaching || !beyond(h.Main.At, w.Margin) {
		return
	}
	if at, ok := h.inner(w.Rules); ok && !beyond(at, w.Margin) {
		i := Interval(contrast.Overheads(at, h.Metric))
		c.Inner = &i
	}
}

// summaries describe the values of both arms. Those of independent samples are
// the whole series, which have been described already.
func (w wording) summaries(h *hypothesis) (base, treated Summary) {
	if h.cell < len(w.cells) && !h.Paired {
		for _, m := range w.cells[h.cell].Metrics {
			if m.Metric.Name == h.Metric.Name {
				return m.Arms[h.base].Summary, m.Arms[h.arm].Summary
			}
		}
	}
	return summarize(h.Baseline, w.Confidence), summarize(h.Treated, w.Confidence)
}

// detectable sets the minimum detectable effect and, for what is not resolved,
// the number of rounds, or of values of each arm, that would resolve it. Both are made for the worst case
// of Holm's correction, alpha over the number of hypotheses, and from the
// deviation seen. Where so few values can claim nothing there
// is no effect that they could detect, and it stays 0. After a pilot both are
// slightly optimistic, because they leave out Stein's interval.
func (w wording) detectable(c *Comparison, h *hypothesis) {
	if !h.Main.OK || h.Size() < 2 {
		return
	}
	alpha, power := w.Alpha/float64(h.family), float64(w.plan.Power)
	c.MDE = math.Abs(w.overheadOf(deviation(h)*w.unit.at(unitOf(h, alpha, power)), h.Metric))
	if h.verdict != NotResolved || h.SD == 0 || h.reason == underBias || h.reason == noControl || h.reason == thinControl {
		return // more rounds would change nothing, or what they would is not known
	}
	if n := needed(h, alpha, power); n > 0 {
		c.Needed = max(n, h.Size()+1)
	}
}

// began is the start of the first trial; the zero time without trials.
func began(trials []journal.Trial) time.Time {
	var first time.Time
	for i := range trials {
		if s := trials[i].Start; !s.IsZero() && (first.IsZero() || s.Before(first)) {
			first = s
		}
	}
	return first
}
