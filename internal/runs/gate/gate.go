// Package gate decides whether a run keeps its budgets, so that a pipeline can pass or fail.
// docs/pipeline.md explains it to users.
//
// A case is one hypothesis: an arm, in a cell, on a metric that has a limit. It has one of three
// outcomes:
//
//   - pass: the upper bound of the headline interval lies within the limit;
//   - fail: the overhead is shown to exceed the limit;
//   - unresolved: neither, with a reason.
//
// Both possible errors of a gate are bounded by the same level, half of one minus the design's
// confidence (2.5 % at 95 %), the side of a two-sided interval. Passing needs no correction for the
// number of cases: a gate passes only if all of them do, so a bad run passes only by an error in
// the bad case (an intersection–union test: Berger 1982). Failing takes an error in any case, so it
// is corrected by Holm's method over all cases: a gate with twenty budgets does not fail every
// second run by chance.
//
// An unfinished arm has no outcome, since looking again until the outcome suits would void both
// levels. A run without verdicts has none either: the gate is then invalid.
//
// limits.go finds the limit of each case, run.go judges a run by its own baseline, occasions.go
// several runs of one experiment together, and growth.go the growth of a run since earlier ones.
// All use the rule in this file. rounds.go computes how many rounds a decision takes.
package gate

import (
	"math"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/runs/history"
	"tare/internal/stats"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.gate/v1"

// Outcome is the result of a gate, or of one of its cases.
type Outcome string

// The outcomes. One invalid case makes the whole gate invalid.
const (
	Pass       Outcome = "pass"
	Fail       Outcome = "fail"
	Unresolved Outcome = "unresolved"
	Invalid    Outcome = "invalid" // the run gives no verdicts, is not finished, the metric never varies, or other work was measured
)

// Reason is the reason for a case's outcome.
type Reason string

// The reasons.
const (
	Within      Reason = "within"       // the interval ends within the limit
	Exceeds     Reason = "exceeds"      // the overhead is shown to exceed the limit
	Straddles   Reason = "straddles"    // the limit lies within the interval
	NotByHolm   Reason = "not-by-holm"  // over the limit by itself, but not after the correction for the number of cases
	UnderBias   Reason = "under-bias"   // over or under the limit, but by no more than the control differs from the baseline
	TooFew      Reason = "too-few"      // too few values for an interval that holds for noise of any shape
	NoData      Reason = "no-data"      // no values to compare
	NoControl   Reason = "no-control"   // too few values of the control to compare with
	NotFinished Reason = "not-finished" // the run is not finished
	NotRandom   Reason = "not-random"   // the run is observational
	NoHistory   Reason = "no-history"   // no run of the history to compare with
	FailsMore   Reason = "fails-more"   // the program fails more often than in the baseline
	Missing     Reason = "missing"      // decided only if failed trials had values like the others
	MeanOver    Reason = "mean-over"    // the typical round is within the limit, but the mean is not
	Behaves     Reason = "behaves"      // within the limit, but programs behave otherwise than in the baseline
	NoVerdicts  Reason = "no-verdicts"  // the run gives no verdicts
	OtherWork   Reason = "other-work"   // the files were made with other settings of the workload than the baseline's
	NotVarying  Reason = "not-varying"  // the metric has the same value in every trial
)

// Result is the outcome of all budgets of a run.
type Result struct {
	Schema  string            `json:"schema"`
	Run     string            `json:"run"` // directory of the run, or of the runs that count
	Name    string            `json:"name"`
	Labels  experiment.Labels `json:"labels,omitempty"` // describe the version under test
	Outcome Outcome           `json:"outcome"`
	// Valid is set if the run gives verdicts. Otherwise Reasons lists why not.
	Valid   bool              `json:"valid"`
	Reasons []analysis.Reason `json:"-"`
	// Observation is the reason why the outcome is weaker than that of an experiment; nil for a run
	// in rounds of random order.
	Observation *analysis.Observation `json:"observation,omitempty"`
	Finished    bool                  `json:"finished"`
	// Against names the history that the run is compared with; empty: the run is compared with its
	// own baseline.
	Against    string  `json:"against,omitempty"`
	Baseline   string  `json:"baseline"`
	Confidence float64 `json:"confidence"` // confidence of the intervals
	Level      float64 `json:"level"`      // chance of failing by mistake, over all cases together
	// Paired is set if trials of the same round are compared. Otherwise Rounds is the largest
	// number of values of an arm in a cell.
	Paired bool `json:"paired"`
	Rounds int  `json:"rounds"`
	// Occasions is the number of runs that are judged together, and then Rounds is that number,
	// too;
	Occasions int `json:"occasions,omitempty"`
	// Start is the start of the first trial, and Seconds the time of all trials. Seconds is 0 for
	// imported trials, which may have run at the same time.
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds,omitempty"`
	Cases   []Case    `json:"cases"`
	// Warnings are the run's warnings that affect every case. Those about its machine are only in
	// the report.
	Warnings []analysis.Finding `json:"-"`
}

// Case is one hypothesis. Overhead, Limit.Value and similar fields are shares of the baseline if
// the limit is one, and otherwise in the metric's unit; positive is a cost.
type Case struct {
	Cell    string            `json:"cell"`
	Arm     string            `json:"arm"`
	Metric  experiment.Metric `json:"metric"`
	Budget  quantity.Limit    `json:"budget"` // limit in the form of the file: "10%"
	Limit   experiment.Bound  `json:"limit"`  // limit as a number
	Outcome Outcome           `json:"outcome"`
	Reason  Reason            `json:"kind"`
	Gap     analysis.Reason   `json:"-"` // reason why the history has nothing to compare with, or finding on other behaviour; nil: neither
	// Estimated is set if there is an interval; otherwise Overhead is zero.
	Estimated bool              `json:"estimated"`
	Overhead  analysis.Interval `json:"overhead"`
	Method    string            `json:"method,omitempty"` // method of the interval, one of package contrast's
	// Grade is the grade of the interval: Normal if the caller accepts that grade and there are too
	// few values for Measured.
	Grade     analysis.Grade `json:"grade,omitempty"`
	P         float64        `json:"p"`              // one-sided p of "the overhead is the limit or less"
	PAdjusted float64        `json:"pAdjusted"`      // P after Holm's correction
	Bias      float64        `json:"bias,omitempty"` // difference of the control from the baseline, if it exceeds chance
	Size      int            `json:"size"`           // pairs, values of the smaller sample, or runs of the history
	Needed    int            `json:"roundsNeeded"`   // rounds, or values of each arm, with which a new run resolves the case at the power of the design; 0: unknown, or over 10,000
	Baseline  float64        `json:"baselineMedian,omitempty"`
	Treated   float64        `json:"armMedian,omitempty"`
	Seconds   float64        `json:"seconds,omitempty"` // the case's share of the time of the arm's trials in the cell
	// History is the part of the history that the case is about; nil without a history.
	History *Stretch `json:"history,omitempty"`
	// Previous compares the run with the one before it, beside the case of the recent part. It does
	// not affect the outcome.
	Previous *history.Previous `json:"previous,omitempty"`

	data       contrast.Data // values of the arm and its own run's baseline
	estimate   contrast.Estimate
	stands     analysis.Interval // Overhead's interval, widened for any values of failed trials
	seen       float64           // P without regard to failed trials
	mean       float64           // overhead of the mean, or of the typical round if there is no mean
	ofFailures bool              // the case is about the frequency of failures
}

// Stretch is the part of a history that a run is compared with.
type Stretch struct {
	Part string `json:"part"` // PartRecent or PartAnchor
	Of   string `json:"of"`   // quantity that grew: "overhead" or "level"
	Runs int    `json:"runs"`
	From string `json:"from"`
	To   string `json:"to"`
}

// The parts of a history.
const (
	PartRecent = "recent" // the runs since the last change
	PartAnchor = "anchor" // the first runs, which reveal a slow decline
)

// Count returns the number of cases with an outcome.
func (r *Result) Count(o Outcome) int {
	n := 0
	for i := range r.Cases {
		if r.Cases[i].Outcome == o {
			n++
		}
	}
	return n
}

func (r *Result) conclude() {
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

// decide gives every open case its outcome, all as one family. A case that already has a reason
// keeps its outcome, and counts as a member.
func decide(cases []Case, level float64) {
	var family []int
	var p []float64
	for i := range cases {
		if cases[i].Reason != FailsMore {
			family, p = append(family, i), append(p, cases[i].P)
		}
	}
	adjusted := stats.Holm(p)
	for k, i := range family {
		cases[i].PAdjusted = adjusted[k]
	}
	for i := range cases {
		c := &cases[i]
		switch c.Reason {
		case "":
			c.Outcome, c.Reason = c.decide(level)
		case NoVerdicts, NotFinished, NotVarying, OtherWork:
			c.Outcome = Invalid
		case FailsMore: // decided in the run's own family
			c.Outcome = Fail
		default:
			c.Outcome = Unresolved
		}
	}
}

// settled gives a case an estimate that does not depend on failed trials, and whose mean is its
// point.
func (c *Case) settled(at analysis.Interval, p float64) {
	c.Estimated, c.Overhead, c.P = true, at, p
	c.stands, c.seen, c.mean = at, p, at.Point
}

// decide applies the rule to one case. If the control differs from the baseline by more than
// chance, though within the margin, that much arises without any layer: an outcome must then be
// clear of the limit by more than that.
//
// A case is not decided if its outcome depends on the values of failed trials. Nor does it pass if
// the typical round is within the limit and the mean is over it.
func (c *Case) decide(level float64) (Outcome, Reason) {
	outcome, reason := c.decideBy(c.stands, c.P, level)
	if seen, _ := c.decideBy(c.Overhead, c.seen, level); outcome == Unresolved && seen != Unresolved {
		reason = Missing
	}
	if outcome != Unresolved && !math.IsInf(c.stands.Hi, 1) {
		c.Overhead = c.stands
	}
	return outcome, reason
}

func (c *Case) decideBy(at analysis.Interval, p, level float64) (Outcome, Reason) {
	lo, hi, limit := at.Lo, at.Hi, c.Limit.Value
	over := lo > limit && p <= level
	switch {
	case hi+c.Bias <= limit && c.mean > limit:
		return Unresolved, MeanOver
	case hi+c.Bias <= limit:
		return Pass, Within
	case hi <= limit, over && lo-c.Bias <= limit:
		return Unresolved, UnderBias
	case over && c.PAdjusted <= level:
		return Fail, Exceeds
	case over:
		return Unresolved, NotByHolm
	}
	return Unresolved, Straddles
}

// a single run.
