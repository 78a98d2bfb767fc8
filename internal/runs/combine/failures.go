package combine

import (
	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/compare"
	"tare/internal/stats"
)

// Failures is the frequency of program failures in a treatment, over all combined runs.
type Failures struct {
	Cell   string             `json:"cell"`
	Arm    string             `json:"arm"`
	Failed analysis.Frequency `json:"failed"`
	// Baseline is the frequency of failures in the baseline. The intervals treat all executions as
	// independent, even executions on the same occasion.
	Baseline analysis.Frequency `json:"baseline"`
	// Shown lists the numbers of the runs that show more failures of the arm than of the baseline. Tests are corrected
	// for the number of runs (Bonferroni).
	Shown []int `json:"shown,omitempty"`
	// PAdjusted is the smallest p-value of any run, for the hypothesis of equally frequent failures. It is corrected by
	// Holm's method within the run, then for the number of runs.
	PAdjusted float64 `json:"pAdjusted"`
}

// ProgramFails is the finding that an arm fails more often than the baseline in some run.
type ProgramFails struct{ Failures }

// Kind returns the name of this kind of finding.
func (ProgramFails) Kind() string { return "program-fails" }

// FailuresOf returns the failures of an arm in a cell; nil if neither the arm nor the baseline failed.
func (r *Result) FailuresOf(cell, arm string) *Failures {
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Cell == cell && f.Arm == arm {
			return f
		}
	}
	return nil
}

// Executed returns how often the program of an arm was executed, and how often it failed, in the combined runs.
func (r *Result) Executed(cell, arm string) (n analysis.Frequency) {
	for _, one := range r.Used {
		own := one.Run.Executed(one.Trials, cell, arm)
		n.Count, n.Of = n.Count+own.Count, n.Of+own.Of
	}
	if at, err := stats.ClopperPearson(n.Count, n.Of, float64(r.Confidence)); err == nil {
		n.Share = analysis.Interval(at)
	}
	return n
}

func (r *Result) countFailures(in []compare.Input) {
	base := r.Plan.ArmWith(experiment.Baseline)
	for _, cell := range r.Plan.Cells {
		baseline := r.Executed(cell.ID, base)
		for _, arm := range r.Plan.Arms {
			f := Failures{Cell: cell.ID, Arm: arm.Name, Failed: r.Executed(cell.ID, arm.Name), Baseline: baseline}
			if arm.Role != experiment.Treatment || f.Failed.Count == 0 && f.Baseline.Count == 0 {
				continue
			}
			f.Shown, f.PAdjusted = r.shown(in, cell.ID, arm.Name)
			r.Failures = append(r.Failures, f)
			if len(f.Shown) > 0 {
				r.Warnings = append(r.Warnings, ProgramFails{f})
			}
		}
	}
}

// shown returns the runs that show that an arm fails more often than the baseline, and the smallest p-value of all
// runs, corrected for their number.
func (r *Result) shown(in []compare.Input, cell, arm string) (runs []int, least float64) {
	least = 1
	for i := range in {
		f := in[i].Run.FailuresOf(cell, arm)
		if f == nil || r.Runs[i].LeftOut != nil {
			continue
		}
		p := min(1, f.PAdjusted*float64(len(r.Used)))
		least = min(least, p)
		if f.Verdict == analysis.Fails && p <= 1-float64(in[i].Run.Plan.Judged()) {
			runs = append(runs, i+1)
		}
	}
	return runs, least
}

// withholdByFailures withholds a verdict that failed trials could change: their cost has no limit. A gain or cost stays
// if each run with failures shows it.
func (r *Result) withholdByFailures(in []compare.Input, c *Comparison) {
	f := r.FailuresOf(c.Cell, c.Arm)
	if f == nil || !c.Verdict.Claims() {
		return
	}
	worst, against := f.Failed, c.Arm
	if c.Verdict == analysis.Costs {
		worst, against = f.Baseline, r.Plan.ArmWith(experiment.Baseline)
	}
	missing := analysis.MissingTrials{Missing: f.Failed.Count + f.Baseline.Count, Of: f.Failed.Of + f.Baseline.Of, Without: c.Verdict}
	if c.Verdict != analysis.Equivalent {
		missing.Worst = worst.Count
	}
	c.Reason = missing
	for i := range in {
		failed := in[i].Run.FailuresOf(c.Cell, against)
		own := in[i].Run.Comparison(c.Cell, c.Arm, c.Metric.Name)
		if c.Verdict == analysis.Equivalent || r.Runs[i].LeftOut == nil && failed != nil && failed.Failed.Count > 0 && (own == nil || own.Verdict != c.Verdict) {
			c.Verdict = analysis.NotResolved
			return
		}
	}
}
