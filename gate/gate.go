// Package gate says whether a run keeps its budgets, so that a pipeline can pass
// or fail by it. docs/pipeline.md explains it to users.
//
// A case is one hypothesis: an arm, in a cell, on a metric that has a limit. It
// has one of three outcomes:
//
//   - pass: the upper bound of the headline interval lies within the limit;
//   - fail: the overhead is shown to be more than the limit;
//   - unresolved: neither, and why.
//
// The two errors that a gate can make are bounded by the same level, half of
// what the design's confidence leaves (2.5 % at 95 %), the side of a two-sided
// interval. Passing needs no correction for the number of cases: a gate passes
// only if all of them do, so that letting a bad run through takes an error in
// the case that is bad (an intersection–union test: Berger 1982). Failing takes
// an error in any case, so it is corrected by Holm's method over all of them: a
// gate with twenty budgets does not fail once in two runs by chance.
//
// Nothing is decided of arms that are not finished, since looking again and
// again until the outcome suits would void both levels, nor of a run that gives
// no verdicts: the gate is then invalid. The way through the files: limits.go says which limit holds
// where, run.go judges a run by its own baseline, occasions.go several runs of
// one experiment together, growth.go what became of a run since earlier ones, all
// by the rule that stands here, and rounds.go says how many rounds a decision
// takes.
package gate

import (
	"math"
	"time"

	"tare/analysis"
	"tare/analysis/contrast"
	"tare/experiment"
	"tare/experiment/quantity"
	"tare/history"
	"tare/stats"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.gate/v1"

// Outcome is what a gate, or one case of it, comes to.
type Outcome string

// The outcomes. A gate of which a case is invalid is so as a whole.
const (
	Pass       Outcome = "pass"
	Fail       Outcome = "fail"
	Unresolved Outcome = "unresolved"
	Invalid    Outcome = "invalid" // the run gives no verdicts, is not finished, the metric never varies, or other work was measured
)

// Reason says why a case has its outcome.
type Reason string

// The reasons.
const (
	Within      Reason = "within"       // the interval ends within the limit
	Exceeds     Reason = "exceeds"      // shown to be over the limit
	Straddles   Reason = "straddles"    // the limit lies within the interval
	NotByHolm   Reason = "not-by-holm"  // over the limit by itself, but not as one of so many cases
	UnderBias   Reason = "under-bias"   // not clear of the limit by more than the control differs from the baseline
	TooFew      Reason = "too-few"      // too few values for an interval that holds for any noise
	NoData      Reason = "no-data"      // no values to compare
	NoControl   Reason = "no-control"   // too few values of the control to stand against
	NotFinished Reason = "not-finished" // the run is not finished
	NotRandom   Reason = "not-random"   // the run is observational
	NoHistory   Reason = "no-history"   // nothing in the history to compare with
	FailsMore   Reason = "fails-more"   // the program fails more often than in the baseline
	Missing     Reason = "missing"      // it would be decided, if failed trials had values like the others
	MeanOver    Reason = "mean-over"    // the typical round is within the limit, the mean is not
	Behaves     Reason = "behaves"      // within the limit, but programs do not do there what they do in the baseline
	NoVerdicts  Reason = "no-verdicts"  // the run gives no verdicts
	OtherWork   Reason = "other-work"   // its files were made with other settings of the workload
	NotVarying  Reason = "not-varying"  // the metric has the same value in every trial
)

// Result is what became of all budgets of a run.
type Result struct {
	Schema  string            `json:"schema"`
	Run     string            `json:"run"` // its directory; of several runs, those that count
	Name    string            `json:"name"`
	Labels  experiment.Labels `json:"labels,omitempty"` // what the run was made of
	Outcome Outcome           `json:"outcome"`
	// Valid says whether the run gives verdicts; Reasons say why not.
	Valid   bool              `json:"valid"`
	Reasons []analysis.Reason `json:"-"`
	// Observation says why the outcome is weaker than that of an experiment; it is
	// nil for a run in rounds of random order.
	Observation *analysis.Observation `json:"observation,omitempty"`
	Finished    bool                  `json:"finished"`
	// Against names the history that the run is compared with; empty: its own
	// baseline.
	Against    string  `json:"against,omitempty"`
	Baseline   string  `json:"baseline"`
	Confidence float64 `json:"confidence"` // of the intervals
	Level      float64 `json:"level"`      // of failing by chance, over all cases together
	// Paired says that trials of the same round are compared; else Rounds is the
	// largest number of values that an arm has in a cell.
	Paired bool `json:"paired"`
	Rounds int  `json:"rounds"`
	// Occasions is how many runs are judged together, and then Rounds counts them, too;
	// 0: a single run.
	Occasions int `json:"occasions,omitempty"`
	// Start is that of the first trial, Seconds the time of all trials. That of
	// imported ones, which may have run at the same time, is not known: 0.
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds,omitempty"`
	Cases   []Case    `json:"cases"`
	// Warnings are those of the run that bear on every case. What its machine is like
	// is in the report.
	Warnings []analysis.Finding `json:"-"`
}

// Case is one hypothesis. Overhead, Limit.Value and their like are shares of the
// baseline where the limit is one, and otherwise in the metric's unit; positive
// is a cost.
type Case struct {
	Cell    string            `json:"cell"`
	Arm     string            `json:"arm"`
	Metric  experiment.Metric `json:"metric"`
	Budget  quantity.Limit    `json:"budget"` // as written: "10%"
	Limit   experiment.Bound  `json:"limit"`  // what it means
	Outcome Outcome           `json:"outcome"`
	Reason  Reason            `json:"kind"`
	Gap     analysis.Reason   `json:"-"` // why the history has nothing to compare with, or what programs do otherwise; nil: neither
	// Estimated says that there is an interval; else Overhead is zero.
	Estimated bool              `json:"estimated"`
	Overhead  analysis.Interval `json:"overhead"`
	Method    string            `json:"method,omitempty"` // of the interval, one of the contrast package's
	// Grade is that of the interval; of the second one where the caller accepts it and
	// there are too few values for the first.
	Grade     analysis.Grade `json:"grade,omitempty"`
	P         float64        `json:"p"`              // one-sided, of "the overhead is the limit or less"
	PAdjusted float64        `json:"pAdjusted"`      // after Holm
	Bias      float64        `json:"bias,omitempty"` // what the control differs by, where that is more than chance
	Size      int            `json:"size"`           // pairs, values of the smaller sample, or runs of the history
	Needed    int            `json:"roundsNeeded"`   // rounds, or values of each arm, with which a new run resolves it with the power of the design; 0: not known, or over 10,000
	Baseline  float64        `json:"baselineMedian,omitempty"`
	Treated   float64        `json:"armMedian,omitempty"`
	Seconds   float64        `json:"seconds,omitempty"` // its share of the time of the arm's trials in the cell
	// The part of the history that a case is about; nil without a history.
	History *Stretch `json:"history,omitempty"`
	// Previous is how the run stands to the one before it, beside the case of the recent
	// part. It decides nothing.
	Previous *history.Previous `json:"previous,omitempty"`

	data       contrast.Data // of a run's own baseline
	estimate   contrast.Estimate
	stands     analysis.Interval // Overhead, as far as it stands whatever the values of failed trials
	seen       float64           // P if failed trials did not count
	mean       float64           // overhead of the mean; that of the typical round where there is none
	ofFailures bool              // of how often the program fails
}

// Stretch is the part of a history that a run is compared with.
type Stretch struct {
	Part string `json:"part"` // PartRecent or PartAnchor
	Of   string `json:"of"`   // what grew: "overhead" or "level"
	Runs int    `json:"runs"`
	From string `json:"from"`
	To   string `json:"to"`
}

// The parts of a history.
const (
	PartRecent = "recent" // the runs since the last change
	PartAnchor = "anchor" // the first runs, so that a slow decline shows
)

// Count counts the cases with an outcome.
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

// decide gives every case that is still open its outcome, all as one family.
// A case that already has a reason keeps it, and counts as a member.
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
		case FailsMore: // decided with the run's own family
			c.Outcome = Fail
		default:
			c.Outcome = Unresolved
		}
	}
}

// settled gives a case an estimate that no missing trials put in doubt, and whose mean is
// its point.
func (c *Case) settled(at analysis.Interval, p float64) {
	c.Estimated, c.Overhead, c.P = true, at, p
	c.stands, c.seen, c.mean = at, p, at.Point
}

// decide is the rule. A control that differs from the baseline by more than
// chance, though within the margin, shows that this much arises without any
// layer: an outcome must then be clear of the limit by more than that.
//
// What would be decided only if the trials that failed had values like the others is
// not. And a limit on what a layer costs is not kept where the mean is over it, though
// the typical round is not.
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
