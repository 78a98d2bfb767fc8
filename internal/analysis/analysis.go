// Package analysis turns the trials of a run into verdicts, by the method of docs/method.md and the estimators of
// package stats.
//
// In a run of Tare, the unit of analysis is the pair: a valid trial of an arm and one of the baseline, in one round of
// a cell. A pair's value is ln(arm/baseline), so a slow phase of the machine cancels. Arms run in random order, so
// noise makes this value positive or negative with equal chance. The signed-rank interval assumes only this symmetry.
// In most imports, trials are independent samples, and the unit of analysis is the trial. The files observe.go and
// diagnostics.go report the doubts that such samples leave.
//
// The files in the order of an analysis: table.go sorts trials into the plan. values.go gathers the values of each
// comparison, and package contrast estimates overheads from them. judge.go makes the comparisons, and decide.go their
// verdicts. reason.go says why a comparison is not resolved, and finding.go what a reader should know; package wording
// turns both into sentences. rounds.go computes how many rounds a verdict needs. describe.go and warn.go help to trust
// or doubt a number. fits.go fits rounds: lines through the levels of a factor (sweeps.go, scaling.go), power laws
// (powerlaw.go), the parts of a layer's cost (breakdown.go), and the effects of a factorial design (factorial.go).
// analyze.go calls all of them.
//
// The same run always gives the same analysis: nothing here reads a clock or a file, or depends on the order of a map.
// All numbers in a Run are finite.
package analysis

import (
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// Schema names the format of an analysis written as JSON.
const Schema = "tare.analysis/v1"

// Verdict is the conclusion from the data about one arm on one metric.
type Verdict string

// The verdicts.
const (
	Costs      Verdict = "costs"
	Gains      Verdict = "gains"
	Equivalent Verdict = "equivalent"
	// Fails: the program fails more often in the arm than in the baseline.
	Fails       Verdict = "fails"
	NotResolved Verdict = "not resolved"
	Invalid     Verdict = "invalid"
	// Interim: some planned rounds are not done yet. There are estimates, but no verdict yet.
	Interim Verdict = "interim"
	// Restated: another metric has the verdict, since both metrics carry the same information. In a closed loop, mean
	// latency restates throughput.
	Restated Verdict = "restated"
)

// Claims reports whether a verdict claims a cost, a gain, equivalence or failures.
func (v Verdict) Claims() bool {
	switch v {
	case NotResolved, Invalid, Interim, Restated:
		return false
	}
	return true
}

// Grade is the assumption that a claim rests on.
type Grade string

// The grades.
const (
	// Measured: the claim rests on tests that hold for noise of any shape.
	Measured Grade = ""
	// Normal: the claim rests on tests that assume noise with a normal distribution. There are too few values to check
	// this assumption.
	Normal Grade = "normal"
)

// Run is the analysis of a run.
type Run struct {
	Schema      string               `json:"schema"`
	Directory   string               `json:"directory"`
	Plan        *experiment.Plan     `json:"plan"`
	Environment *machine.Environment `json:"environment,omitempty"`
	// Valid is set if the run gives verdicts. If Valid is false, Reasons says why the run gives none.
	Valid   bool     `json:"valid"`
	Reasons []Reason `json:"-"`
	// Observation lists the weaknesses of data that come from no experiment, such as arms that ran one after the other;
	// nil for runs that Tare carried out.
	Observation *Observation `json:"observation,omitempty"`
	// Finished is false for a run that can be resumed.
	Finished bool `json:"finished"`
	// Ending describes which planned rounds are missing, and why; nil: no planned round is missing.
	Ending *Ending `json:"ending,omitempty"`
	// Start is the start of the first trial. All fields named Seconds count from Start.
	Start    time.Time `json:"start"`
	Sessions []Session `json:"sessions,omitempty"` // sessions in order; more than one if the run was resumed
	Rounds   int       `json:"rounds"`             // rounds that have any trial
	SetUps   SetUps    `json:"setUps,omitzero"`    // number of set-ups; zero: the trials do not record their set-ups
	Trials   Counts    `json:"trials"`
	Family   int       `json:"family"` // number of hypotheses whose p-values Holm's correction adjusts together
	// Failures are the failures of the program by cell and arm. Cells without a failure are left out.
	Failures    []Failures      `json:"failures,omitempty"`
	Comparisons []Comparison    `json:"comparisons"`
	Controls    []Comparison    `json:"controls"` // comparisons of the control with the baseline
	Warnings    []Warning       `json:"warnings,omitempty"`
	Behaviours  []Warning       `json:"-"` // the warnings, also in Warnings, about programs that behave otherwise than in the baseline
	Cells       []CellSummary   `json:"cells"`
	Scaling     []Scaling       `json:"scaling,omitempty"`    // how metrics grow with factors whose levels are numbers
	PowerLaws   []PowerLaw      `json:"powerLaws,omitempty"`  // how metrics depend on all factors together, for workloads that expect a power law
	Breakdowns  []Breakdown     `json:"breakdowns,omitempty"` // the parts of a layer's cost, for layers with a factor that counts something, such as filter rules
	Factorial   *Factorial      `json:"factorial,omitempty"`  // effects of the layers of a factorial design, alone and together
	Invalids    []journal.Trial `json:"invalids,omitempty"`   // invalid trials, each with the rule it broke
	Quotas      []QuotaSummary  `json:"quotas,omitempty"`     // limits that observed components of a cluster reached
	Proofs      []ProofSummary  `json:"proofs,omitempty"`
	Harness     Harness         `json:"harness"`
	// Published holds the published numbers that the experiment file lists, each beside this run's number.
	Published []PublishedSource `json:"published,omitempty"`
}

// Comparison returns the comparison of an arm, which may be the control, on a metric in a cell; nil if there is none.
func (r *Run) Comparison(cell, arm, metric string) *Comparison {
	for _, list := range [][]Comparison{r.Comparisons, r.Controls} {
		for i := range list {
			if c := &list[i]; c.Cell == cell && c.Arm == arm && c.Metric.Name == metric {
				return c
			}
		}
	}
	return nil
}

// Session is the part of a run that one process of Tare carried out.
type Session struct {
	Number int     `json:"number"` // number of the session, from 1
	From   float64 `json:"from"`   // start of the session's first trial, in seconds since the run's start
	To     float64 `json:"to"`     // end of the session's last trial, in seconds since the run's start
}

// Counts holds numbers of trials.
type Counts struct {
	Planned int            `json:"planned"`
	Done    int            `json:"done"`
	Valid   int            `json:"valid"`
	Failed  int            `json:"failed"`           // planned trials with no value, because their program failed
	Lost    int            `json:"lost"`             // planned trials without a value: the machine's condition or a failed proof spoilt them
	ByRule  map[string]int `json:"byRule,omitempty"` // number of invalid trials by the rule they broke
}

// Interval is an overhead with its confidence interval; positive is a cost. For a Ratio metric, it is a share of the
// baseline (0.05: costs 5 %). For a Difference metric, it has the metric's unit.
type Interval struct {
	Point float64 `json:"point"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// Comparison compares one arm with the baseline on one metric in one cell.
type Comparison struct {
	Cell    string            `json:"cell"`
	Arm     string            `json:"arm"`
	Metric  experiment.Metric `json:"metric"`
	Verdict Verdict           `json:"verdict"`
	Grade   Grade             `json:"grade,omitempty"` // grade of the claim, if there is one
	// Reason says why the comparison is not resolved or has no verdict. It is nil for a claim, with one exception:
	// MissingTrials, if the claim holds in spite of missing trials.
	Reason  Reason `json:"-"`
	Control bool   `json:"control,omitempty"` // the arm is the control, a second copy of the baseline
	// Margin is the overhead below which arms count as equivalent, as a share of the baseline. For a Difference metric,
	// it has the metric's unit, and is 0 (no margin) by default.
	Margin float64 `json:"margin"`
	Method string  `json:"method"` // method of the headline interval, one of the Method constants
	Paired bool    `json:"paired"` // trials of the same round were compared; otherwise the arms are two independent samples
	Rounds int     `json:"rounds"` // number of complete pairs; without pairs, number of values in the smaller sample
	// Pooled counts the pairs whose round also has the control. In these pairs, the arm is compared with the mean of
	// baseline and control.
	Pooled int `json:"pooled,omitempty"`
	// SetUps describes the spread between set-ups, if several rounds share one. The unit of analysis is then the mean
	// over a set-up's rounds.
	SetUps *BetweenSetUps `json:"setUps,omitempty"`
	// Blocks holds one overhead for each block of an import (a deployment with a baseline of its own); nil: no
	// blocks.
	Blocks []BlockOverhead `json:"blocks,omitempty"`
	// Overhead is the headline interval. T is a check of it: a t interval, or Stein's interval after a pilot. If the
	// values allow no interval, both bounds equal the point.
	Overhead  Interval `json:"overhead"`
	T         Interval `json:"t"`
	PointOnly bool     `json:"pointOnly,omitempty"` // Overhead has no interval: both its bounds equal its point
	// Mean is the overhead of the arithmetic mean; Overhead describes the typical round. Nil: the values allow no
	// estimate of the mean.
	Mean *Interval `json:"mean,omitempty"`
	// Stalls counts the trials that are far slower than the other trials of their arm; nil: no trial stalled.
	Stalls *Stalls `json:"stalls,omitempty"`
	// Inner is the interval behind a claim of equivalence, of lower confidence (90 %, not 95 %). Nil unless Inner lies
	// within the margin and Overhead reaches beyond it.
	Inner     *Inner  `json:"equivalenceInterval,omitempty"`
	P         float64 `json:"p"`            // two-sided p-value of "no difference"
	PAdjusted float64 `json:"pAdjusted"`    // P after Holm's correction
	PEquiv    float64 `json:"pEquivalence"` // p-value of two one-sided tests at the margin; 1 without a margin
	// PEquivAdjusted is PEquiv after Holm's correction. Tests of equivalence are corrected separately from other tests.
	PEquivAdjusted float64 `json:"pEquivalenceAdjusted"`
	// EstimatorsAgree is set if the t interval alone gives the same verdict as the comparison.
	EstimatorsAgree bool `json:"estimatorsAgree"`
	// MDE is the minimum detectable effect, on the scale of Overhead, at the smallest level that Holm's correction can
	// leave; 0: too few rounds for any claim.
	MDE float64 `json:"mde"`
	// Power is the probability that a run finds an effect of size MDE, or that Needed rounds give a verdict; 0 if MDE
	// is 0.
	Power       float64   `json:"power"`
	Needed      int       `json:"roundsNeeded"`                // number of rounds that a new run needs for a verdict; 0: not applicable, or over 10,000
	NeededRange *[2]int   `json:"roundsNeededRange,omitempty"` // range of Needed at 95 % confidence, as the noise's variance is only estimated
	Floor       float64   `json:"floor"`                       // noise floor: the size of the control's estimate, on the scale of Overhead
	Baseline    Summary   `json:"baseline"`                    // summary of the baseline's values in the compared pairs, in the metric's unit
	Treated     Summary   `json:"treated"`
	Lag1        float64   `json:"lag1"`      // autocorrelation (lag one) of the contrasts by pair or shared set-up; 0: no pairs, or too few
	OrderP      float64   `json:"orderP"`    // p-value of "the trials' position in the round has no effect"; 1 if untestable
	Overheads   []float64 `json:"overheads"` // one overhead per pair, in round order, on the scale of Overhead; empty for independent samples
	// WithInvalid is the verdict if trials that broke the rule on errors counted like valid trials; nil if the verdict
	// would then be the same.
	WithInvalid *Alternative `json:"withInvalid,omitempty"`
	// Observational is set if the data come from no experiment, such as imported files.
	Observational bool `json:"observational,omitempty"`
	// Restates names the metric that carries the same information as this one in a closed loop, such as throughput for
	// mean latency; "": no such metric.
	Restates string `json:"restates,omitempty"`
	// Versus describes the second overhead if two overheads are compared; nil: two values are compared.
	Versus   *Versus   `json:"versus,omitempty"`
	Warnings []Finding `json:"-"`
}

// Inner is an interval with a lower confidence than the interval that output shows.
type Inner struct {
	Interval
	Confidence float64 `json:"confidence"` // confidence of the interval
}

// Versus names the second of two overheads that are compared with each other.
type Versus struct {
	Arm string `json:"arm,omitempty"` // arm of the second overhead; "": the arm of the first overhead
	Run int    `json:"run,omitempty"` // number of the second overhead's run; 0: the same run as that of the first overhead
}

// Alternative is the verdict that a comparison has if invalid trials are included.
type Alternative struct {
	Comparison
	Trials int `json:"trials"` // number of invalid trials included, from both arms
}

// Summary describes values of one arm in the metric's unit.
type Summary struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	// MedianLo and MedianHi are the bounds of the median's confidence interval, by order statistics. They are 0 if
	// there are too few values.
	MedianLo float64 `json:"medianLo"`
	MedianHi float64 `json:"medianHi"`
}

// CellSummary holds the series of one cell for charts.
type CellSummary struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	Levels  []factor.Level `json:"levels,omitempty"`
	Testbed any            `json:"testbed"`
	Metrics []MetricSeries `json:"metrics"`
	Loop    *LoopSummary   `json:"loop,omitempty"` // evidence of a closed loop; nil: none
	// Parts are the CPU time and memory of programs and layers, if layers have processes of their own.
	Parts []PartSummary `json:"parts,omitempty"`
	// Resources holds the use of resources that programs share, such as a link, by arm.
	Resources []ResourceSummary `json:"resources,omitempty"`
}

// LoopSummary is the evidence that a cell's load is a closed loop. In a closed loop, mean latency carries the same
// information as throughput.
type LoopSummary struct {
	experiment.Loop
	// Least, Median and Most describe one product over all valid trials: the mean latency of a trial, multiplied by the
	// trial's throughput.
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	Most   float64 `json:"most"`
	Trials int     `json:"trials"`       // number of trials that have a value of both latency and throughput
	Known  bool    `json:"workersKnown"` // the tool reports the number of workers, and the median product agrees with it
}

// MetricSeries holds the values of all valid trials on one metric in one cell.
type MetricSeries struct {
	Metric experiment.Metric `json:"metric"`
	Arms   []ArmSeries       `json:"arms"` // arms in the plan's order
	// Changes lists the changepoints: rounds at which the baseline's values become persistently higher or lower. Such
	// changes make the results doubtful.
	Changes []int `json:"changes,omitempty"`

	factor  float64 // a trial is stalled if its value is worse than the arm's median by more than this factor
	stalled []int   // number of stalled trials of each arm; nil: not counted yet
}

// ArmSeries holds the values of one arm in the order they were measured.
type ArmSeries struct {
	Arm     string    `json:"arm"`
	Rounds  []int     `json:"rounds"`
	Seconds []float64 `json:"seconds"` // seconds since the start of the run; empty if imported files have no times
	Values  []float64 `json:"values"`
	Summary Summary   `json:"summary"`
	// Diagnostics holds tests of whether the values, in the order of measurement, are independent. Nil: trials are
	// paired, so a drift cancels.
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`
}

// Diagnostics are tests of the values of a series: whether they are independent, and whether they have the same
// distribution.
type Diagnostics struct {
	Lag1    float64 `json:"lag1"`              // autocorrelation at lag one
	TrendP  float64 `json:"trendP"`            // p-value of "no trend over the series"; 1 if untestable
	Trend   float64 `json:"trend"`             // rise of the fitted line from the first to the last value, as a share of the median
	Changes []int   `json:"changes,omitempty"` // numbers of the values, from 1, that begin a persistent rise or fall
	DipP    float64 `json:"dipP"`              // p-value of "the values have a single peak" (Hartigan's dip test); 1 if untestable
}

// ProofSummary summarises one check of one layer in one arm: how often it held over the arm's trials, and how often
// not.
type ProofSummary struct {
	Arm      string `json:"arm"`
	Layer    string `json:"layer"`
	Name     string `json:"name"`
	Expected string `json:"expected"`
	Example  string `json:"example"`          // the observation of the check in the arm's first trial
	Caveat   string `json:"caveat,omitempty"` // weakness of the layer on this machine that a reader must know
	Once     bool   `json:"once"`
	Passed   int    `json:"passed"`
	Failed   int    `json:"failed"`
}

// Harness is the cost of Tare itself in the run.
type Harness struct {
	WallShare float64 `json:"wallShare"` // share of the run's wall clock outside trials
	CPUShare  float64 `json:"cpuShare"`  // share of one core's time that Tare itself used during trials
}
