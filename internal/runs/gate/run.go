package gate

import (
	"math"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// Options are the conditions under which a run is judged.
type Options struct {
	// Observational allows a run without rounds in random order. Differences such as the time of day then count as
	// costs of the layers.
	Observational bool
	// Normal allows the t interval to decide cases with very few values. The t interval holds only if noise is normal.
	Normal bool
}

// Run judges a run by its own baseline; its argument run is the analysis of the trials. Without any limit, the error is
// ErrNoBudget. For an impossible limit, it is a *LimitError.
func Run(run *analysis.Run, trials []journal.Trial, limits *Limits, o Options) (*Result, error) {
	r := resultOf(run, trials)
	j := judge{result: r, rules: contrast.RulesOf(run.Plan), run: run, values: analysis.ValuesOf(run.Plan, trials), normal: o.Normal}
	cases, err := limits.cases()
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, ErrNoBudget
	}
	for _, c := range cases {
		if c.ofFailures {
			r.Cases = append(r.Cases, c.ofShare(run.Executed(trials, c.Cell, c.Arm)))
			continue
		}
		j.add(c)
	}
	unbounded := unboundedFailures(r.Cases)
	for _, f := range run.Failures {
		if f.Verdict == analysis.Fails && unbounded[cellArm{f.Cell, f.Arm}] {
			r.Cases = append(r.Cases, failsMore(f.Cell, f.Arm, f.Failed, *f.Reference, f.Method, f.P, f.PAdjusted))
		}
	}
	for i := range r.Cases {
		if c := &r.Cases[i]; c.Reason != FailsMore && run.Interim(c.Cell, c.Arm) {
			c.Reason = NotFinished
		}
	}
	r.settle(trials, o, run)
	for i := range r.Cases {
		r.Cases[i].Needed = needed(&r.Cases[i], r.Level, len(r.Cases), float64(run.Plan.Power))
	}
	return r, nil
}

func resultOf(run *analysis.Run, trials []journal.Trial) *Result {
	r := &Result{
		Schema: Schema, Run: run.Directory, Name: run.Plan.Name, Labels: run.Plan.Labels, Valid: run.Valid, Reasons: run.Reasons, Finished: run.Finished, Observation: run.Observation,
		Confidence: float64(run.Plan.Judged()), Level: (1 - float64(run.Plan.Judged())) / 2,
		Paired: run.Plan.Paired(), Rounds: run.Rounds, Start: run.Start, Baseline: run.Plan.ArmWith(experiment.Baseline),
	}
	if run.Plan.Import == nil {
		for i := range trials {
			r.Seconds += trials[i].Wall.Seconds()
		}
	}
	for _, w := range run.Warnings {
		remark, ok := w.Finding.(analysis.Remark)
		machine := ok && remark.From == analysis.FromMachine
		if w.Cell == "" && w.Metric == "" && w.Arm == "" && !machine {
			r.Warnings = append(r.Warnings, w.Finding)
		}
	}
	return r
}

func (r *Result) settle(trials []journal.Trial, o Options, runs ...*analysis.Run) {
	r.withhold(o)
	decide(r.Cases, r.Level)
	for i := range r.Cases {
		c := &r.Cases[i]
		for _, run := range runs {
			if f := run.Otherwise(c.Cell, c.Arm); f != nil && c.Outcome == Pass {
				c.Outcome, c.Reason, c.Gap = Unresolved, Behaves, *f
			}
		}
	}
	r.share(trials)
	switch {
	case r.Count(Invalid) > 0:
		r.Outcome = Invalid
	case r.Count(Fail) > 0:
		r.Outcome = Fail
	case r.Count(Pass) == len(r.Cases):
		r.Outcome = Pass
	default:
		r.Outcome = Unresolved
	}
}

// withhold finds the strongest reason why the run allows no decision. If there is one, all cases get this reason.
func (r *Result) withhold(o Options) {
	var reason Reason
	switch {
	case !r.Valid:
		reason = NoVerdicts
	case !r.Finished && r.Against != "":
		reason = NotFinished
	case r.Observation != nil && !o.Observational:
		reason = NotRandom
	default:
		return
	}
	for i := range r.Cases {
		r.Cases[i].Reason = reason
	}
}

func (r *Result) share(trials []journal.Trial) {
	if r.Seconds == 0 {
		return
	}
	spent, cases := map[cellArm]time.Duration{}, map[cellArm]int{}
	for i := range trials {
		spent[cellArm{trials[i].Cell, trials[i].Arm}] += trials[i].Wall
	}
	for _, c := range r.Cases {
		cases[cellArm{c.Cell, c.Arm}]++
	}
	for i := range r.Cases {
		of := cellArm{r.Cases[i].Cell, r.Cases[i].Arm}
		r.Cases[i].Seconds = spent[of].Seconds() / float64(cases[of])
	}
}

type cellArm struct{ cell, arm string }

type judge struct {
	result *Result
	rules  contrast.Rules
	run    *analysis.Run
	values *analysis.Values
	normal bool // set if the grade Normal is accepted
}

func (j *judge) add(c Case) {
	const fewestNormal = 3 // fewest values in each arm that can decide a case if noise is assumed to be normal
	d := onScale(j.values.Data(c.Cell, c.Arm, c.Metric), c.Limit.Scale)
	est := j.rules.Estimate(&d)
	c.Size, c.Method, c.P = d.Size(), est.Method, 1
	c.Baseline, c.Treated = contrast.Finite(stats.Median(d.Baseline)), contrast.Finite(stats.Median(d.Treated))
	if est.Main.OK {
		c.Estimated = true
		c.Overhead = analysis.Interval(contrast.Overheads(est.Main.At, d.Metric))
		c.mean = c.Overhead.Point
		if at, ok := j.rules.Mean(&d); ok {
			c.mean = contrast.Overhead(at.Point, d.Metric)
		}
		j.withstand(&c, &d, est)
	}
	few := !est.Main.OK || !contrast.Ranks(est.Method)
	if few && est.Main.OK && j.normal && c.Size >= fewestNormal {
		c.Grade, few = analysis.Normal, false
	}
	var void Reason // set if no number of values could decide the case; it says why
	if own := j.run.Comparison(c.Cell, c.Arm, c.Metric.Name); own != nil {
		switch own.Reason.(type) {
		case analysis.DoesNotVary:
			void = NotVarying
		case analysis.OtherSettings:
			void = OtherWork
		}
	}
	switch {
	case void != "":
		c.Reason = void
	case c.Size == 0:
		c.Reason = NoData
	case few:
		c.Reason = TooFew
	default:
		c.Reason, c.Bias = j.control(&c)
	}
	c.data, c.estimate = d, est
	j.result.Cases = append(j.result.Cases, c)
}

// withstand sets the parts of a case that must hold despite failed trials. It assumes that failed trials are worse, or
// better, than all other trials and the limit.
func (j *judge) withstand(c *Case, d *contrast.Data, est contrast.Estimate) {
	c.seen = j.rules.Exceeds(d, c.Limit.Value)
	c.P, c.stands = c.seen, c.Overhead
	if d.Missing.Count() == 0 {
		return
	}
	rules := j.rules
	if far := math.Abs(contrast.FromOverhead(c.Limit.Value, d.Metric)); !math.IsInf(far, 0) && !math.IsNaN(far) {
		rules.Margin = max(rules.Margin, far)
	}
	main := rules.WithMissing(d, est).Main
	c.stands = analysis.Interval(contrast.Overheads(main.At, d.Metric))
	for _, sign := range []float64{1, -1} {
		full := d.Imputed(sign, rules.Margin)
		c.P = max(c.P, j.rules.Exceeds(&full, c.Limit.Value))
	}
}

// control returns how far the control may lie from the baseline if they differ significantly; otherwise 0. With too few
// values, it returns a reason.
func (j *judge) control(c *Case) (Reason, float64) {
	of := j.run.Comparison(c.Cell, j.run.Plan.ArmWith(experiment.Control), c.Metric.Name)
	if of == nil {
		return "", 0
	}
	d := onScale(j.values.Data(c.Cell, of.Arm, c.Metric), c.Limit.Scale)
	est := j.rules.Estimate(&d)
	if !est.Main.OK || 2*d.Size() < c.Size {
		return NoControl, 0
	}
	if of.PAdjusted > j.rules.Alpha {
		return "", 0
	}
	return "", largest(analysis.Interval(contrast.Overheads(est.Main.At, d.Metric)))
}

func largest(i analysis.Interval) float64 { return math.Max(math.Abs(i.Lo), math.Abs(i.Hi)) }

// onScale converts data to a budget's scale. A budget such as 1 ms limits the difference of two arms' values, even if
// overheads are shares.
func onScale(d contrast.Data, s experiment.Scale) contrast.Data {
	if d.Metric.Scale == s || s != experiment.Difference {
		return d
	}
	d.Metric.Scale = s
	if d.Paired {
		d.PositionEffects = nil // position effects are shares, but the budget is an amount in the metric's unit
		d.Compare()
	}
	return d
}

// A budget of "failures" limits the share of an arm's executions that fail. Without it, an arm must not fail more often
// than the baseline: otherwise a program could pass because it fails fast.

func (c Case) ofShare(n analysis.Frequency) Case {
	c.Size, c.Method = n.Of, "binomial"
	if n.Of == 0 {
		c.P, c.Reason = 1, NoData
		return c
	}
	p := 1.0
	if n.Count > 0 {
		p = stats.BinomialTail(n.Count, n.Of, c.Limit.Value) // if the true share equals the limit: the chance of at least this many failures
	}
	c.settled(n.Share, p)
	return c
}

func failsMore(cell, arm string, failed, baseline analysis.Frequency, method string, p, adjusted float64) Case {
	return Case{Cell: cell, Arm: arm, Metric: experiment.FailuresMetric, Outcome: Fail, Reason: FailsMore,
		Limit:     experiment.Bound{Value: baseline.Share.Point, Scale: experiment.Ratio},
		Estimated: true, Overhead: failed.Share, Method: method, P: p, PAdjusted: adjusted, Size: failed.Of, ofFailures: true}
}

// unboundedFailures reports, for each arm that is judged in a cell, whether no budget limits its failures.
func unboundedFailures(cases []Case) map[cellArm]bool {
	unbounded := map[cellArm]bool{}
	for _, c := range cases {
		before, judged := unbounded[cellArm{c.Cell, c.Arm}]
		unbounded[cellArm{c.Cell, c.Arm}] = (before || !judged) && !c.ofFailures
	}
	return unbounded
}
