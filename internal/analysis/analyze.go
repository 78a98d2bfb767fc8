package analysis

import (
	"math"
	"slices"
	"time"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/stats"
)

// mostRounds is the largest number of rounds that Comparison.Needed holds.
const mostRounds = 10_000

// Analyze turns a run's trials, in the order of the journal, into verdicts, findings and numbers for a report. The run
// may be unfinished, and the environment may be nil.
func Analyze(plan *experiment.Plan, trials []journal.Trial, env *machine.Environment) *Run {
	all := trials
	trials = countedTrials(plan, trials)
	t := tabulate(plan, trials, validOnly)
	run, j := judgeRun(t, trials)
	run.Environment = env
	run.Start = Began(trials)
	if plan.Import == nil {
		run.Sessions = sessions(trials, run.Start)
	}
	run.Harness = harness(trials)
	run.Proofs, run.Quotas = proofs(plan, trials), quotas(trials)
	run.Cells = cells(t, run.Start)
	run.Scaling = scalings(t)
	run.PowerLaws = powerLaws(t)
	if !plan.Paired() {
		diagnoseSeries(run, plan.Seed)
	}
	for i := range all {
		if !all[i].Valid() {
			run.Invalids = append(run.Invalids, all[i])
		}
	}
	x := explainer{Rules: j.Rules, plan: plan, table: t, cells: run.Cells}
	x.explain(run.Comparisons, j.treatments)
	x.explain(run.Controls, j.controls)
	x.stalls(run)
	if run.Valid {
		x.alternatives(run, j, trials)
	}
	run.Factorial = x.factorial(run, j)
	t.withhold(run)
	run.Breakdowns = x.breakdowns(run, j)
	run.Published = x.published(run)
	run.Warnings = warnings(t, run, env)
	return run
}

// Judge returns the verdicts of Analyze without explanations: no detectable effects, means, diagnostics, warnings or
// series. Simulations of the method (hack/bench/method) use Judge.
func Judge(plan *experiment.Plan, trials []journal.Trial) *Run {
	run, _ := judgeRun(tabulate(plan, trials, validOnly), trials)
	return run
}

// JudgeTails judges a run as Judge does. It also adds the overheads of arithmetic means, and the findings on stalled
// trials.
func JudgeTails(plan *experiment.Plan, trials []journal.Trial) *Run {
	t := tabulate(plan, trials, validOnly)
	run, j := judgeRun(t, trials)
	run.Start = Began(trials)
	run.Cells = cells(t, run.Start)
	x := explainer{Rules: j.Rules, plan: plan, table: t, cells: run.Cells}
	for i, h := range j.treatments {
		run.Comparisons[i].Mean = x.mean(h)
	}
	x.stalls(run)
	return run
}

func judgeRun(t *table, trials []journal.Trial) (*Run, *judgement) {
	j := judge(t, trials)
	rounds, _ := totalRounds(t)
	run := &Run{
		Schema:      Schema,
		Plan:        t.plan,
		Rounds:      len(t.rounds),
		SetUps:      t.setUps,
		Trials:      t.counts(rounds, trials),
		Family:      j.family,
		Observation: observation(t.plan, trials),
		Behaviours:  t.behaviours(),
	}
	run.Finished = run.Trials.Done >= run.Trials.Planned
	run.Reasons = slices.Concat(j.reasons, invalidity(t.plan, run.Trials))
	run.Valid = len(run.Reasons) == 0
	run.Comparisons, run.Controls = j.results(t.plan)
	for _, f := range j.failureTests {
		run.Failures = append(run.Failures, f.Failures)
	}
	t.withhold(run)
	return run, j
}

// withhold replaces all verdicts of an invalid run by Invalid. On unfinished arms, it replaces verdicts by Interim: a
// user who saw the verdicts could stop as soon as a result pleases.
func (t *table) withhold(run *Run) {
	unfinished := map[[2]string]Reason{}
	if run.Valid {
		unfinished = t.unfinished()
	}
	for i := range run.Comparisons {
		c := &run.Comparisons[i]
		if !run.Valid {
			c.Withhold(InvalidRuns{})
		} else if why := unfinished[[2]string{c.Cell, c.Arm}]; why != nil {
			c.Suspend(why)
		}
		run.WithholdGains(c, c.Arm)
	}
	for i := range run.Failures {
		f := &run.Failures[i]
		switch why := unfinished[[2]string{f.Cell, f.Arm}]; {
		case f.Verdict == "":
		case !run.Valid:
			f.Verdict, f.Reason = Invalid, InvalidRuns{}
		case why != nil:
			f.Verdict, f.Reason = Interim, why
		}
	}
}

// Interim reports whether an arm has not done all of its planned rounds.
func (r *Run) Interim(cell, arm string) bool {
	for i := range r.Comparisons { // by index: a Comparison is large, and a gate calls Interim for each of its cases
		if c := &r.Comparisons[i]; c.Cell == cell && c.Arm == arm && c.Verdict == Interim {
			return true
		}
	}
	return false
}

// unfinished returns, by cell and arm name, why an arm is unfinished: the arm, its baseline or its control lacks
// planned rounds.
func (t *table) unfinished() map[[2]string]Reason {
	if t.plan.Import != nil {
		return nil
	}
	rounds, _ := totalRounds(t)
	pilot := t.plan.Precision > 0 && (t.final < t.plan.Rounds || !t.complete(t.plan.Rounds))
	list := map[[2]string]Reason{}
	for c, cell := range t.plan.Cells {
		done := make([]int, len(t.plan.Arms))
		least := rounds // number of rounds that baseline and control have both done: the most of any comparison
		for a, arm := range t.plan.Arms {
			for i := range t.slots[c][a] {
				if round := t.at[c][i]; !t.plan.TakesPart(a, round) || t.settled(&t.slots[c][a][i], round) {
					done[a]++
				}
			}
			if arm.Role != experiment.Treatment {
				least = min(least, done[a])
			}
		}
		for a, arm := range t.plan.Arms {
			if n := min(least, done[a]); n < rounds || pilot {
				list[[2]string{cell.ID, arm.Name}] = RoundsMissing{Rounds: n, Of: rounds}
			}
		}
	}
	return list
}

func (j *judgement) results(plan *experiment.Plan) (treatments, controls []Comparison) {
	treatments, controls = make([]Comparison, len(j.treatments)), make([]Comparison, len(j.controls))
	for i, h := range j.treatments {
		treatments[i] = h.comparison(plan)
	}
	for i, h := range j.controls {
		controls[i] = h.comparison(plan)
		controls[i].Control, controls[i].Versus = true, nil
	}
	return treatments, controls
}

// invalidity returns the reasons why a run gives no verdicts, except one: it does not check whether the control failed.
func invalidity(plan *experiment.Plan, trials Counts) (reasons []Reason) {
	if role(plan, experiment.Baseline) < 0 {
		reasons = append(reasons, NoBaseline{})
	}
	limit := plan.Limits.InvalidTrials
	if limit != nil && trials.Planned > 0 && float64(trials.Lost)/float64(trials.Planned) > float64(*limit) {
		reasons = append(reasons, InvalidTrials{Lost: trials.Lost, Planned: trials.Planned, Limit: float64(*limit), Imported: plan.Import != nil})
	}
	return reasons
}

func (h *hypothesis) comparison(plan *experiment.Plan) Comparison {
	e := h.Estimate
	if h.verdict == Costs || h.verdict == Gains {
		e = h.robust // h.robust allows for the values that failed trials would have had
	}
	c := Comparison{
		Cell:            h.Cell,
		Arm:             h.Arm,
		Metric:          h.Metric,
		Verdict:         h.verdict,
		Reason:          h.reason,
		Method:          h.Method,
		Paired:          h.Paired,
		Rounds:          h.pairs(),
		Pooled:          h.Controlled(),
		SetUps:          spreadBetween(&h.Data, float64(plan.Confidence)),
		Restates:        h.Restates,
		Versus:          h.Versus,
		Margin:          contrast.RulesOf(plan).MarginShown(&h.Data),
		Overhead:        Interval(contrast.Overheads(h.shown(e.Main), h.Metric)),
		T:               Interval(contrast.Overheads(h.shown(e.T), h.Metric)),
		PointOnly:       !h.Main.OK,
		P:               e.Main.P,
		PAdjusted:       h.adjusted,
		PEquiv:          e.Main.Equiv,
		PEquivAdjusted:  h.equivAdjusted,
		EstimatorsAgree: !h.Main.OK || !h.T.OK || h.agree,
		OrderP:          1,
		Grade:           h.grade,
	}
	if h.grade == Normal { // a claim of grade normal rests on the t interval
		c.Overhead, c.PointOnly, c.Method, c.P, c.PEquiv = c.T, false, h.tMethod(), e.T.P, e.T.Equiv
	}
	if h.control != nil {
		c.Floor = math.Abs(contrast.Overhead(h.control.Main.At.Point, h.Metric))
	}
	return c
}

// pairs returns the number of complete pairs or, for independent samples, of values in the smaller sample.
func (h *hypothesis) pairs() int {
	if h.Paired {
		return len(h.Contrasts)
	}
	return h.Size()
}

func (h *hypothesis) tMethod() string {
	switch {
	case !contrast.Ranks(h.Method):
		return h.Method
	case !h.Paired:
		return contrast.MethodWelch
	case h.Method == contrast.MethodBoth:
		return contrast.MethodStein
	}
	return contrast.MethodT
}

// shown returns the interval to show for an estimator. Without a result, both bounds equal the point: the centre of the
// contrasts.
func (h *hypothesis) shown(v contrast.View) stats.Interval {
	if v.OK || h.Size() == 0 {
		return v.At
	}
	m := h.Middle()
	return stats.Interval{Point: m, Lo: m, Hi: m}
}

// Withhold gives a comparison the verdict Invalid, with the reason why its own verdict does not hold.
func (c *Comparison) Withhold(why Reason) { c.Verdict, c.Grade, c.Reason = Invalid, Measured, why }

// Suspend withdraws the verdict of a comparison: the verdict becomes Interim, with the given reason.
func (c *Comparison) Suspend(why Reason) {
	c.Verdict, c.Grade, c.Reason, c.WithInvalid = Interim, Measured, why, nil
}

// Began returns the start of the first trial; the zero time if no trial has a start.
func Began(trials []journal.Trial) (first time.Time) {
	for i := range trials {
		if s := trials[i].Start; !s.IsZero() && (first.IsZero() || s.Before(first)) {
			first = s
		}
	}
	return first
}
