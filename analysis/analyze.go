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
	t := tabulate(plan, trials)
	run, j := judgeRun(t, trials)
	run.Environment = env
	run.Start = began(trials)
	run.Sessions = sessions(trials, run.Start)
	run.Harness = harness(trials)
	run.Proofs = proofs(plan, trials)
	run.Cells = cells(t, run.Start)
	for i := range trials {
		if !trials[i].Valid() {
			run.Invalids = append(run.Invalids, trials[i])
		}
	}
	w := wording{Rules: j.Rules, plan: plan, table: t, unit: unitEffects{}}
	for i, h := range j.treatments {
		w.complete(&run.Comparisons[i], h, run.Valid)
	}
	for i, h := range j.controls {
		w.complete(&run.Controls[i], h, true)
	}
	run.Warnings = warnings(t, run, env)
	return run
}

// Judge gives the verdicts and the numbers that lead to them, and leaves out
// what only explains them: texts, minimum detectable effects, diagnostics,
// warnings and series. It is for simulating the method (bench/method); Analyze
// takes the same way.
func Judge(plan *experiment.Plan, trials []journal.Trial) *Run {
	run, _ := judgeRun(tabulate(plan, trials), trials)
	return run
}

func judgeRun(t *table, trials []journal.Trial) (*Run, *judgement) {
	j := judge(t)
	rounds, _ := totalRounds(t)
	run := &Run{
		Schema: Schema,
		Plan:   t.plan,
		Rounds: len(t.rounds),
		Trials: t.counts(rounds, trials),
		Family: t.plan.HeadlineFamily(),
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
	if lost := float64(trials.Lost) / float64(trials.Planned); lost > float64(*limit) {
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
		Rounds:          len(h.Contrasts),
		Overhead:        Interval(contrast.Overheads(h.shown(h.Main), h.Metric)),
		T:               Interval(contrast.Overheads(h.shown(h.T), h.Metric)),
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

// shown is a view's interval or, where there is none, the median contrast as an
// interval without width.
func (h *hypothesis) shown(v contrast.View) stats.Interval {
	if v.OK || len(h.Contrasts) == 0 {
		return v.At
	}
	m := stats.Quantile(slices.Sorted(slices.Values(h.Contrasts)), 0.5)
	return stats.Interval{Point: m, Lo: m, Hi: m}
}

// complete adds what explains a verdict: the minimum detectable effect, the
// values themselves, the diagnostics, the sentence.
func (w wording) complete(c *Comparison, h *hypothesis, valid bool) {
	c.Baseline = summarize(h.Baseline, w.Confidence)
	c.Treated = summarize(h.Treated, w.Confidence)
	c.Overheads = make([]float64, len(h.Contrasts))
	for i, x := range h.Contrasts {
		c.Overheads[i] = contrast.Overhead(x, h.Metric)
	}
	w.detectable(c, h)
	w.diagnose(c, h)
	c.Text = w.sentence(c, h, valid)
}

// detectable sets the minimum detectable effect and, for what is not resolved,
// the number of rounds that would resolve it. Both are made for the worst case
// of Holm's correction, alpha over the number of hypotheses, and from the
// deviation of the contrasts seen. Where so few rounds can claim nothing there
// is no effect that they could detect, and it stays 0. After a pilot both are
// slightly optimistic, because they leave out Stein's interval.
func (w wording) detectable(c *Comparison, h *hypothesis) {
	n := len(h.Contrasts)
	if !h.Main.OK || n < 2 {
		return
	}
	alpha, power := w.Alpha/float64(h.family), float64(w.plan.Power)
	unit := w.unit.at(unitCase{n, alpha, power, ranks(h.Method)})
	c.MDE = math.Abs(w.overheadOf(h.SD*unit, h.Metric))
	if h.verdict != NotResolved || h.SD == 0 || h.reason == underBias || h.reason == noControl || h.reason == thinControl {
		return // more rounds would change nothing, or what they would is not known
	}
	needed := stats.SignedRankRoundsNeeded(math.Abs(h.Main.At.Point), h.SD, alpha, power, mostRounds)
	if needed > 0 {
		c.Needed = max(needed, n+1)
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
