// Package analysis turns the trials of a run into verdicts: it applies the
// method of docs/method.md with the estimators of package stats.
//
// The unit is the trial, and where Tare ran them the pair: one valid trial of an arm and one of the baseline in the
// same round of the same cell, as the logarithm of their ratio. Whatever slows
// the machine down for a while slows both down and cancels; the random order
// within the round makes the sign of what is left a fair coin, which is all that
// the signed-rank interval assumes. That is why the figures of bench/method hold
// for noise of any kind. Imported trials are mostly no pairs but independent
// samples; observe.go and diagnostics.go say what may then be doubted.
//
// The way through the files: table.go puts trials where they stand in the plan;
// values.go gathers what a comparison rests on; package contrast estimates it;
// judge.go decides, the controls first and then the
// treatments as one family; reason.go holds why something is not resolved, and
// finding.go what a reader must know besides: typed values with their figures, of
// which package wording makes sentences. rounds.go answers how many rounds are needed. describe.go and warn.go add
// what a reader needs to trust or doubt a number. fits.go collects complete rounds and estimates from what is fitted
// to each: lines through the levels of a factor (sweeps.go, scaling.go), powers of several factors together
// (powerlaw.go), the parts of what a layer costs (breakdown.go), and the effects of a factorial design (factorial.go).
// analyze.go ties it together.
//
// Nothing here reads a clock or a file, or depends on the order of a map: the
// same run gives the same analysis. Numbers that reach a Run are finite.
package analysis

import (
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/journal"
	"tare/machine"
)

// Schema names the format of an analysis written as JSON.
const Schema = "tare.analysis/v1"

// Verdict is what the data say of one arm on one metric.
type Verdict string

// The verdicts.
const (
	Costs      Verdict = "costs"
	Gains      Verdict = "gains"
	Equivalent Verdict = "equivalent"
	// Fails: the program fails more often than in the baseline.
	Fails       Verdict = "fails"
	NotResolved Verdict = "not resolved"
	Invalid     Verdict = "invalid"
	// Interim: rounds are missing that were planned; there are estimates, and no verdict yet.
	Interim Verdict = "interim"
	// Restated: another metric says the same, and has the verdict.
	Restated Verdict = "restated"
)

// Claims says whether a verdict claims anything.
func (v Verdict) Claims() bool {
	switch v {
	case NotResolved, Invalid, Interim, Restated:
		return false
	}
	return true
}

// Grade says what a claim rests on.
type Grade string

// The grades.
const (
	// Measured: on tests that hold for noise of any shape.
	Measured Grade = ""
	// Normal: on tests that hold if noise is normal, which so few values cannot show.
	Normal Grade = "normal"
)

// Run is an analysed run.
type Run struct {
	Schema      string               `json:"schema"`
	Directory   string               `json:"directory"`
	Plan        *experiment.Plan     `json:"plan"`
	Environment *machine.Environment `json:"environment,omitempty"`
	// Verdicts says whether the run gives verdicts; Reasons say why not.
	Valid   bool     `json:"valid"`
	Reasons []Reason `json:"-"`
	// Observation says why what is concluded is weaker than an experiment: arms ran
	// one after the other, for instance. It is nil for a run that Tare carried out in
	// rounds of random order.
	Observation *Observation `json:"observation,omitempty"`
	// Finished is false for a run that can be resumed.
	Finished bool `json:"finished"`
	// Ending says how much of what was planned is missing, and why; nil: nothing is.
	Ending *Ending `json:"ending,omitempty"`
	// Start is when the first trial started; all Seconds count from it.
	Start    time.Time `json:"start"`
	Sessions []Session `json:"sessions,omitempty"` // more than one: the run was resumed
	Rounds   int       `json:"rounds"`             // rounds with any trial
	SetUps   SetUps    `json:"setUps,omitzero"`    // zero: the trials do not tell
	Trials   Counts    `json:"trials"`
	Family   int       `json:"family"` // hypotheses under Holm's correction
	// Failures are those of the program, by cell and arm, in the cells that have any.
	Failures    []Failures      `json:"failures,omitempty"`
	Comparisons []Comparison    `json:"comparisons"`
	Controls    []Comparison    `json:"controls"` // the A/A arm, in the same form
	Warnings    []Warning       `json:"warnings,omitempty"`
	Behaviours  []Warning       `json:"-"` // of arms in which programs do other things than in the baseline: among Warnings
	Cells       []CellSummary   `json:"cells"`
	Scaling     []Scaling       `json:"scaling,omitempty"`    // how metrics grow with factors whose levels are numbers
	PowerLaws   []PowerLaw      `json:"powerLaws,omitempty"`  // how metrics depend on all factors together, where the workload expects a law
	Breakdowns  []Breakdown     `json:"breakdowns,omitempty"` // what the costs of layers are made of that have a factor which counts something
	Factorial   *Factorial      `json:"factorial,omitempty"`  // what the layers of a factorial design do alone and together
	Invalids    []journal.Trial `json:"invalids,omitempty"`   // invalid trials, each with its rule
	Proofs      []ProofSummary  `json:"proofs,omitempty"`
	Harness     Harness         `json:"harness"`
}

// Comparison is that of an arm, perhaps the control, on a metric in a cell; nil if
// there is none.
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

// Session is a stretch of a run without interruption.
type Session struct {
	Number int     `json:"number"` // from 1
	From   float64 `json:"from"`   // start of its first trial, seconds since the run's start
	To     float64 `json:"to"`     // end of its last trial, same
}

// Counts counts trials.
type Counts struct {
	Planned int            `json:"planned"`
	Done    int            `json:"done"`
	Valid   int            `json:"valid"`
	Failed  int            `json:"failed"`           // planned trials without a value since the program failed in them
	Lost    int            `json:"lost"`             // planned trials lost to the machine's condition or a failed proof, after all attempts
	ByRule  map[string]int `json:"byRule,omitempty"` // invalid trials by rule
}

// Interval is an estimate with its confidence interval. For a Ratio metric the
// values are overheads as shares of the baseline (0.05: costs 5 %), for a
// Difference metric overheads in the metric's unit. Positive is always a cost.
type Interval struct {
	Point float64 `json:"point"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// Comparison is one arm against the baseline on one metric in one cell.
type Comparison struct {
	Cell    string            `json:"cell"`
	Arm     string            `json:"arm"`
	Metric  experiment.Metric `json:"metric"`
	Verdict Verdict           `json:"verdict"`
	Grade   Grade             `json:"grade,omitempty"` // of the claim, if there is one
	// Reason says why it is not resolved, or gets no verdict; nil where there is one, but for
	// MissingTrials, which a claim withstands.
	Reason  Reason `json:"-"`
	Control bool   `json:"control,omitempty"` // the arm is the control, a second copy of the baseline
	// Margin is the one of equivalence, as a share, or in the unit of a Difference metric, which has none (0) unless the plan says so.
	Margin float64 `json:"margin"`
	Method string  `json:"method"` // of the headline interval, one of the Method constants
	Paired bool    `json:"paired"` // trials of the same round were compared; else two independent samples
	Rounds int     `json:"rounds"` // complete pairs; for independent samples, values of the smaller one
	// Pooled counts the pairs whose reference is the mean of baseline and control; 0: the
	// baseline alone is.
	Pooled int `json:"pooled,omitempty"`
	// SetUps is there where several rounds share a set-up, and their mean is the unit.
	SetUps *BetweenSetUps `json:"setUps,omitempty"`
	// Blocks are what the blocks of an import say each by itself; nil: there are none.
	Blocks []BlockOverhead `json:"blocks,omitempty"`
	// Overhead is the headline interval and T the paired t interval beside it (after
	// a pilot, Stein's). Where the values allow no interval, both bounds are the point.
	Overhead  Interval `json:"overhead"`
	T         Interval `json:"t"`
	PointOnly bool     `json:"pointOnly,omitempty"` // Overhead is a point without an interval: the values allow none
	// Mean is the overhead of the arithmetic mean, on the scale of Overhead, which is
	// about the typical round; nil where the values allow none.
	Mean *Interval `json:"mean,omitempty"`
	// Stalls are trials far slower than their arm's others; nil where there is none.
	Stalls *Stalls `json:"stalls,omitempty"`
	// Inner is the interval that a claim of equivalence rests on, of less confidence
	// than Overhead (90 % beside 95 %). It is there only where Overhead reaches
	// beyond the margin although Inner does not.
	Inner     *Inner  `json:"equivalenceInterval,omitempty"`
	P         float64 `json:"p"`            // two-sided, of no difference
	PAdjusted float64 `json:"pAdjusted"`    // after Holm
	PEquiv    float64 `json:"pEquivalence"` // two one-sided tests at the margin; 1 without one
	// PEquivAdjusted is PEquiv after Holm, in a family of its own.
	PEquivAdjusted float64 `json:"pEquivalenceAdjusted"`
	// EstimatorsAgree says that the t interval alone would give the same verdict.
	EstimatorsAgree bool `json:"estimatorsAgree"`
	// MDE is the minimum detectable effect at the design's power, on the scale of
	// Overhead, for the alpha that Holm leaves in the worst case; 0 if there is
	// none because so few rounds can claim nothing.
	MDE float64 `json:"mde"`
	// Power is the chance with which an effect of MDE is found, and with which a run of
	// Needed rounds gives a verdict; 0 where there is no MDE.
	Power       float64   `json:"power"`
	Needed      int       `json:"roundsNeeded"`                // rounds with which a new run gets a verdict of any kind, given what was observed; 0: not applicable or over 10,000
	NeededRange *[2]int   `json:"roundsNeededRange,omitempty"` // where that lies, as far as so few rounds know the noise: the bounds of its variance at 95 %
	Floor       float64   `json:"floor"`                       // noise floor: the control's |point|, same scale
	Baseline    Summary   `json:"baseline"`                    // of the pairs used, in the metric's unit
	Treated     Summary   `json:"treated"`
	Lag1        float64   `json:"lag1"`      // autocorrelation of the pairs' log ratios, or of the means over set-ups that these share; 0 for independent samples
	OrderP      float64   `json:"orderP"`    // order effect: does running earlier or later in the block matter; 1 if untestable
	Overheads   []float64 `json:"overheads"` // one per pair, in round order, same scale as Overhead; empty for independent samples
	// WithInvalid is what the verdict would be with the trials that broke the rule
	// on errors; it is there only where that changes the verdict.
	WithInvalid *Alternative `json:"withInvalid,omitempty"`
	// Observational says that what is claimed here is of no experiment.
	Observational bool `json:"observational,omitempty"`
	// Restates names the metric that a closed loop makes this one say once more.
	Restates string `json:"restates,omitempty"`
	// Versus is the other one of two overheads; nil where values are compared.
	Versus   *Versus   `json:"versus,omitempty"`
	Warnings []Finding `json:"-"`
}

// Inner is an interval of less confidence than the one shown.
type Inner struct {
	Interval
	Confidence float64 `json:"confidence"` // of the interval
}

// Versus is what an overhead is compared with, where two overheads are.
type Versus struct {
	Arm string `json:"arm,omitempty"` // ""; the same arm
	Run int    `json:"run,omitempty"` // its number; 0: the same run
}

// Alternative is a comparison as it would be on other trials.
type Alternative struct {
	Comparison
	Trials int `json:"trials"` // invalid trials that it takes in, of both arms
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
	// MedianLo and MedianHi bound the median by order statistics at the
	// design's confidence; NaN-free: both are 0 when n is too small.
	MedianLo float64 `json:"medianLo"`
	MedianHi float64 `json:"medianHi"`
}

// CellSummary holds one cell's series for charts.
type CellSummary struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	Levels  []factor.Level `json:"levels,omitempty"`
	Testbed any            `json:"testbed"`
	Metrics []MetricSeries `json:"metrics"`
	Loop    *LoopSummary   `json:"loop,omitempty"` // nil: nothing tells of a closed loop
	// Parts is what programs and layers used, where layers have processes of their own.
	Parts []PartSummary `json:"parts,omitempty"`
	// Resources are what programs share, by arm, and how much of it was used.
	Resources []ResourceSummary `json:"resources,omitempty"`
}

// LoopSummary says that a cell's load is a closed loop, so that its mean latency
// restates its throughput.
type LoopSummary struct {
	experiment.Loop
	// Least, Median and Most are mean latency × throughput over all valid trials.
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	Most   float64 `json:"most"`
	Trials int     `json:"trials"`       // that give them
	Known  bool    `json:"workersKnown"` // the format tells the number of workers, and the products are near it
}

// MetricSeries holds every valid trial of one metric in one cell.
type MetricSeries struct {
	Metric experiment.Metric `json:"metric"`
	Arms   []ArmSeries       `json:"arms"` // in the plan's order
	// Changes are the rounds at which the baseline's level changes (first round
	// of the new level), by changepoint detection; a warning sign.
	Changes []int `json:"changes,omitempty"`

	factor  float64 // by which a stalled trial is worse than its arm's median
	stalled []int   // stalled trials by arm; nil: not counted yet
}

// ArmSeries holds the values of one arm in the order they were measured.
type ArmSeries struct {
	Arm     string    `json:"arm"`
	Rounds  []int     `json:"rounds"`
	Seconds []float64 `json:"seconds"` // since the start of the run; empty where imported files do not tell it
	Values  []float64 `json:"values"`
	Summary Summary   `json:"summary"`
	// The diagnostics of independent samples, in the order measured; nil where
	// trials are paired, which needs none of it.
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`
}

// Diagnostics say what of a series does not look like independent values from
// one distribution.
type Diagnostics struct {
	Lag1    float64 `json:"lag1"`              // autocorrelation at lag one
	TrendP  float64 `json:"trendP"`            // of no trend over the series; 1 if untestable
	Trend   float64 `json:"trend"`             // change from first to last by the line fitted, as a share of the median
	Changes []int   `json:"changes,omitempty"` // places in the series, from 1, of the first values of a new level
	DipP    float64 `json:"dipP"`              // of one mode (Hartigan's dip test); 1 if untestable
}

// ProofSummary counts one check of one layer over the trials of one arm.
type ProofSummary struct {
	Arm      string `json:"arm"`
	Layer    string `json:"layer"`
	Name     string `json:"name"`
	Expected string `json:"expected"`
	Example  string `json:"example"`          // what was observed, in the first trial
	Caveat   string `json:"caveat,omitempty"` // what a reader must know of the layer as it was found
	Once     bool   `json:"once"`
	Passed   int    `json:"passed"`
	Failed   int    `json:"failed"`
}

// Harness is what Tare itself cost the run.
type Harness struct {
	WallShare float64 `json:"wallShare"` // of the run's wall clock, outside trials
	CPUShare  float64 `json:"cpuShare"`  // of one core, during trials
}
