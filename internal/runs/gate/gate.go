// Package gate decides whether a run keeps its budgets, so that a pipeline can pass or fail.
//
// A case is one hypothesis: an arm, in a cell, on a metric that has a limit. It has one of three outcomes:
//
//   - pass: the upper bound of the headline interval lies within the limit;
//   - fail: the overhead is shown to exceed the limit;
//   - unresolved: neither, with a reason.
//
// A gate can pass a bad run, or fail a good run. Each of these errors has a chance of at most half of one minus the
// design's confidence: 2.5 % at a confidence of 95 %. Passing needs no correction. A gate passes only if all cases
// pass, so a bad run passes only by an error in the bad case (an intersection–union test: Berger 1982). An error in any
// single case would fail a good run, so failing is corrected by Holm's method over all cases.
//
// An unfinished arm has no outcome: users who repeat the gate until it passes would pass more bad runs. A run without
// verdicts makes the gate invalid.
//
// limits.go finds the limit of each case. run.go judges a run by its own baseline. growth.go judges the growth since
// earlier runs, and several runs together. gate.go decides the cases for both files.
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
	Invalid    Outcome = "invalid" // the reason is no-verdicts, not-finished, not-varying or other-work
)

// Reason is the reason for a case's outcome.
type Reason string

const (
	Within      Reason = "within"       // the interval ends within the limit
	Exceeds     Reason = "exceeds"      // the overhead is shown to exceed the limit
	Straddles   Reason = "straddles"    // the limit lies within the interval
	NotByHolm   Reason = "not-by-holm"  // the overhead is shown to exceed the limit, but not after the correction for the number of cases
	UnderBias   Reason = "under-bias"   // the control is farther from the baseline than the overhead is from the limit
	TooFew      Reason = "too-few"      // the values are too few for an interval that holds for noise of any shape
	NoData      Reason = "no-data"      // the arm or the baseline has no values
	NoControl   Reason = "no-control"   // the control has too few values to compare with
	NotFinished Reason = "not-finished" // the run is not finished
	NotRandom   Reason = "not-random"   // the run is observational
	NoHistory   Reason = "no-history"   // the new run cannot be compared with the history, for example since that has too few runs
	FailsMore   Reason = "fails-more"   // the program fails more often than the baseline's program
	Missing     Reason = "missing"      // the outcome depends on the values that the failed trials would have had
	MeanOver    Reason = "mean-over"    // the overhead of the typical round is within the limit, but the mean overhead is not
	Behaves     Reason = "behaves"      // the overhead is within the limit, but programs behave differently than in the baseline
	NoVerdicts  Reason = "no-verdicts"  // the run gives no verdicts
	OtherWork   Reason = "other-work"   // the arm's files were made with other settings of the workload than the baseline's files
	NotVarying  Reason = "not-varying"  // the metric has the same value in every trial
)

// Result is the outcome of all budgets of a run.
type Result struct {
	Schema  string            `json:"schema"`
	Run     string            `json:"run"` // the directories of the judged runs
	Name    string            `json:"name"`
	Labels  experiment.Labels `json:"labels,omitempty"` // labels of the version under test
	Outcome Outcome           `json:"outcome"`
	// Valid is set if the run gives verdicts. Otherwise, Reasons lists why the run gives none.
	Valid   bool              `json:"valid"`
	Reasons []analysis.Reason `json:"-"`
	// Observation is the reason why the run is no experiment in rounds of random order, which makes the outcome
	// weaker; nil for an experiment.
	Observation *analysis.Observation `json:"observation,omitempty"`
	Finished    bool                  `json:"finished"`
	// Against names the history that the run is compared with; empty: the run is compared with its own baseline.
	Against    string  `json:"against,omitempty"`
	Baseline   string  `json:"baseline"`
	Confidence float64 `json:"confidence"` // the confidence of the intervals
	Level      float64 `json:"level"`      // the largest chance that any case fails by mistake
	// Paired is set if trials of the same round are compared. If it is not set, the field Rounds is the largest number
	// of values that an arm has in a cell.
	Paired bool `json:"paired"`
	Rounds int  `json:"rounds"`
	// Occasions is the number of runs that are judged together; 0 for a single run. If several runs are judged, Rounds
	// equals Occasions.
	Occasions int `json:"occasions,omitempty"`
	// Start is when the first trial starts. Seconds is the sum of the trials' durations; 0 for imported trials, which
	// may have overlapped.
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds,omitempty"`
	Cases   []Case    `json:"cases"`
	// Warnings are the run's warnings that affect every case, without the warnings about the machine.
	Warnings []analysis.Finding `json:"-"`
}

// Case is one hypothesis. Overheads, differences and limits are shares of the baseline or amounts in the metric's unit,
// as the limit is. A positive overhead is a cost.
type Case struct {
	Cell    string            `json:"cell"`
	Arm     string            `json:"arm"`
	Metric  experiment.Metric `json:"metric"`
	Budget  quantity.Limit    `json:"budget"` // limit as the experiment file writes it: "10%"
	Limit   experiment.Bound  `json:"limit"`  // the limit as a number
	Outcome Outcome           `json:"outcome"`
	Reason  Reason            `json:"kind"`
	Gap     analysis.Reason   `json:"-"` // details of the reasons NoHistory and Behaves; nil if Reason is another one
	// Estimated is set if the case has an interval; otherwise Overhead is zero.
	Estimated bool              `json:"estimated"`
	Overhead  analysis.Interval `json:"overhead"`
	Method    string            `json:"method,omitempty"` // the method of the interval, in the words of package contrast
	// Grade is the grade of the interval. It is Normal if there are too few values for Measured and the caller
	// accepts Normal.
	Grade     analysis.Grade `json:"grade,omitempty"`
	P         float64        `json:"p"`              // one-sided p-value of "the overhead is the limit or less"
	PAdjusted float64        `json:"pAdjusted"`      // P, corrected by Holm's method
	Bias      float64        `json:"bias,omitempty"` // the control's difference from the baseline; 0: it may be chance
	Size      int            `json:"size"`           // the number of pairs, of values in the smaller sample, or of runs in the history
	Needed    int            `json:"roundsNeeded"`   // the rounds (or values in each arm) that resolve the case in a new run; 0: unknown, or over 10,000
	Baseline  float64        `json:"baselineMedian,omitempty"`
	Treated   float64        `json:"armMedian,omitempty"`
	// Seconds is the duration of the arm's trials in the cell, divided by the number of cases about this arm and cell.
	Seconds float64 `json:"seconds,omitempty"`
	// History is the part of the history that the case is about; nil without a history.
	History *Stretch `json:"history,omitempty"`
	// Previous compares the run with the run before it. It is nil, except in cases of the recent part (History.Part =
	// PartRecent). It does not affect the outcome.
	Previous *history.Previous `json:"previous,omitempty"`

	data       contrast.Data // the values of the arm and of its own run's baseline
	estimate   contrast.Estimate
	stands     analysis.Interval // interval of Overhead over all values that the failed trials could have had
	seen       float64           // p-value from the values that exist, as if no trial had failed
	mean       float64           // overhead of the mean; without a mean, overhead of the typical round
	ofFailures bool              // set if the case is about the frequency of failures
}

// Stretch is the part of a history that a run is compared with.
type Stretch struct {
	Part string `json:"part"` // PartRecent or PartAnchor
	Of   string `json:"of"`   // the quantity that may have grown: "overhead" or "level"
	Runs int    `json:"runs"`
	From string `json:"from"`
	To   string `json:"to"`
}

// The parts of a history.
const (
	PartRecent = "recent" // the runs since the last change
	PartAnchor = "anchor" // the first runs of the history; a comparison with them reveals a slow decline
)

// Count returns the number of cases with the given outcome.
func (r *Result) Count(o Outcome) int {
	n := 0
	for i := range r.Cases {
		if r.Cases[i].Outcome == o {
			n++
		}
	}
	return n
}

// decide gives every case its outcome; a case that has a reason keeps it. Holm's correction leaves out cases with
// FailsMore, decided before.
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
		case FailsMore: // the run's analysis has shown already that the program fails more often
			c.Outcome = Fail
		default:
			c.Outcome = Unresolved
		}
	}
}

// settled gives a case an estimate that no failed trial could change. The point of this estimate also serves as the
// mean.
func (c *Case) settled(at analysis.Interval, p float64) {
	c.Estimated, c.Overhead, c.P = true, at, p
	c.stands, c.seen, c.mean = at, p, at.Point
}

// decide returns the outcome of a case and its reason. A case must hold despite failed trials, and by more than the
// control differs from the baseline.
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

// Fewest returns the number of cases that a plan's budgets make, and the fewest rounds in which a case can pass or
// fail. Failing is corrected for the number of cases.
func Fewest(plan *experiment.Plan) (cases, pass, fail int) {
	all, err := LimitsOf(plan).cases()
	if err != nil || len(all) == 0 { // no report here: impossible budgets are reported when the experiment file is read
		return 0, 0, 0
	}
	both := contrast.Rules{Alpha: 1 - float64(plan.Judged())}
	controlled := plan.Import == nil && plan.ArmWith(experiment.Control) != ""
	return len(all), both.Fewest(plan.Paired(), controlled, 1), both.Fewest(plan.Paired(), controlled, len(all))
}

// needed returns about how many rounds resolve a case with the probability power. The overhead counts as uncertain, or
// thousands would be needed near the limit.
func needed(c *Case, level float64, cases int, power float64) int {
	const mostRounds = 10_000 // upper bound of Case.Needed: a larger number of rounds is not reported
	d := &c.data
	fewest := func(cases int) int {
		return contrast.Rules{Alpha: 2 * level}.Fewest(d.Paired, d.Controlled() > 0, cases)
	}
	switch c.Reason {
	case Straddles, NotByHolm:
	case TooFew:
		return fewest(1)
	default:
		return 0
	}
	at, limit := c.estimate.Main.At, contrast.FromOverhead(c.Limit.Value, d.Metric)
	over := contrast.Cost(at.Point-limit, d.Metric)
	if math.IsInf(over, 0) || math.IsNaN(over) {
		return 0
	}
	least := max(fewest(1), d.Size()+1)
	if over > 0 {
		least = max(least, fewest(cases))
	}
	each := d.RoundsEach()
	if at.Lo == at.Hi {
		return least * each
	}
	b := stats.BeliefOf(at, 1-2*level, d.Freedom())
	b.At = over
	side := stats.Side{Below: level, Above: level / float64(cases), Assurance: power, Limit: mostRounds / each}
	var n int
	switch {
	case !d.Paired:
		n = side.Values(d.Size(), b)
	case d.MostlyControlled():
		n = side.Rounds(d.Size(), b)
	default:
		n = side.Pairs(d.Size(), b)
	}
	if n == 0 {
		return 0
	}
	return max(n, least) * each
}
