package analysis

import (
	"slices"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// Finding is something that a reader should know before trusting a number. Package wording turns its kind and numbers
// into a sentence.
type Finding interface {
	Kind() string
}

// Warning is a finding together with the cell, arm and metric that it is about.
type Warning struct {
	Cell   string `json:"cell,omitempty"`
	Metric string `json:"metric,omitempty"`
	Arm    string `json:"arm,omitempty"`
	// Exploratory is set if the warning matters only to readers of exploratory metrics.
	Exploratory bool    `json:"exploratory,omitempty"`
	Finding     Finding `json:"-"` // the finding; JSON has its kind, its numbers and a sentence
}

// Findings on one comparison.
type (
	// Autocorrelation: neighbouring rounds resemble each other, or alternate.
	Autocorrelation struct {
		Lag1 float64 `json:"lag1"`
	}
	// OrderEffect: the arm's values depend on whether it runs before or after the baseline.
	OrderEffect struct {
		P float64 `json:"p"`
	}
	// PositionEffectsRemoved: values depended on a trial's position in its round. Tare has removed this effect.
	PositionEffectsRemoved struct {
		PositionEffects
	}
	// Disagreement says that the second estimator, such as the paired t, would give another verdict than the one shown.
	Disagreement struct {
		Estimator string  `json:"estimator"` // "paired t", "Welch's t" or "Stein's t"
		Verdict   Verdict `json:"verdict"`
	}
	// NormalPairs: there are too few pairs for the exact interval, and the t interval assumes normal noise.
	NormalPairs struct {
		Pairs  int `json:"pairs"`
		Fewest int `json:"fewest"`
	}
	// NormalSamples: there are too few values for the rank-sum interval, and the t interval assumes normal noise.
	NormalSamples struct {
		Baseline int `json:"baseline"` // number of the baseline's values
		Treated  int `json:"treated"`
	}
	// Imprecise: the interval is wider than the precision that the experiment file asks for.
	Imprecise struct {
		Asked   float64 `json:"asked"`   // requested half-width, as a share
		Reached float64 `json:"reached"` // half-width of the interval, as a share
	}
	// NoVariation: all pairs, or all values, are equal.
	NoVariation struct {
		Paired bool             `json:"paired"`
		Scale  experiment.Scale `json:"scale"`
	}
	// MeanDiffers: the typical round shows a cost and the mean shows a gain, or the reverse.
	MeanDiffers struct {
		Metric experiment.Metric `json:"metric"`
		Mean   Interval          `json:"mean"`
	}
	// Stalling: the arms differ in their share of stalled trials, which are far slower than the other trials.
	Stalling struct {
		Stalls
	}
	// UnequalSpread says that the values of one arm spread much wider than those of the other arm.
	UnequalSpread struct {
		Wider experiment.Role `json:"wider"` // arm with the wider spread: baseline or treatment
		Ratio float64         `json:"ratio"`
	}
)

// Findings on a run.
type (
	// Unfinished: planned trials are missing.
	Unfinished struct {
		Done    int `json:"done"`
		Planned int `json:"planned"`
	}
	// Extended: after the run was finished and analysed, more rounds were added.
	Extended struct {
		Looks      []int   `json:"looks"`      // numbers of rounds after which the run was analysed
		Rounds     int     `json:"rounds"`     // total number of planned rounds
		Confidence float64 `json:"confidence"` // confidence of verdicts and intervals, corrected for the looks
	}
	// WeakClaim: a claim may be luck. Most runs like this one would miss an effect of the size that the claim's p-value
	// suggests.
	WeakClaim struct {
		Power  float64 `json:"power"`  // chance that a run like this one claims the effect
		Factor float64 `json:"factor"` // average ratio of the claimed effect to the true effect
	}
	// StrayTrials: some trials belong to no cell or arm of the plan.
	StrayTrials struct {
		Trials int `json:"trials"`
	}
	// ReplacedTrials: some rounds have several trials of one arm. The last of these trials counts.
	ReplacedTrials struct {
		Trials int `json:"trials"`
	}
	// Uncontrolled: the run has no control.
	Uncontrolled struct{}
	// FewRounds: the run has too few rounds for any claim.
	FewRounds struct {
		Rounds int `json:"rounds"`
		Family int `json:"family"` // number of headline comparisons
		Fewest int `json:"fewest"`
	}
	// FewValues: the arms are independent samples, which have too few values for any claim.
	FewValues struct {
		Most   int `json:"most"` // largest number of values in an arm
		Family int `json:"family"`
		Fewest int `json:"fewest"`
	}
	// CappedPrecision: the requested precision needs more rounds than the plan allows.
	CappedPrecision struct {
		Precision float64 `json:"precision"`
		Rounds    int     `json:"rounds"`
	}
	// OneSetUp: arms were set up only once per session, so the result may not hold for other set-ups.
	OneSetUp struct {
		SetUps int    `json:"setUps"`          // number of set-ups: one per session
		Block  string `json:"block,omitempty"` // name of an import's only block
	}
	// UnlimitedLink: the link has no rate limit.
	UnlimitedLink struct{}
	// ControlDiffers: the control differs from the baseline by more than chance.
	ControlDiffers struct {
		Metric    experiment.Metric `json:"metric"`
		Overhead  Interval          `json:"overhead"`
		PointOnly bool              `json:"pointOnly,omitempty"`
	}
	// Interrupted: some rounds hold trials of different sessions.
	Interrupted struct {
		Rounds []int `json:"rounds"`
	}
	// UnusableValues: some valid trials have no usable value of the metric.
	UnusableValues struct {
		Unusable int `json:"unusable"`
		Valid    int `json:"valid"`
	}
	// OverCap: values exceed the limit of the hardware. With Burst ≥ Value, the hardware reaches them for a while.
	OverCap struct {
		Unit  string  `json:"unit"`
		Cap   float64 `json:"cap"`
		Burst float64 `json:"burst,omitempty"`
		Value float64 `json:"value"` // median of the values
	}
	// StartUp: the start of a wrapper takes more than a tenth of the time that a metric measures.
	StartUp struct {
		Program string  `json:"program"` // name of the wrapper
		Start   float64 `json:"start"`   // by how many seconds the wrapper lengthens a program's start
		Run     float64 `json:"run"`     // seconds of the arm's median execution, without the start
		Most    bool    `json:"most"`    // the start explains more than half of the overhead
	}
	// Unexercised: a difference is claimed, but the layer had hardly anything to do in the trials.
	Unexercised struct {
		Layer string `json:"layer"` // kind of the layer
	}
	// LevelChanges: during the run, the baseline's values become persistently higher or lower than before.
	LevelChanges struct {
		Rounds []int `json:"rounds"` // first round after each change
	}
	// OddSeries: the values do not look independent, or do not look like values of one distribution.
	OddSeries struct {
		Oddity Oddity           `json:"oddity"`
		Places []OddSeriesPlace `json:"places"`
	}
	// Omission: a closed loop sends no further request while a response is slow. The missing requests distort
	// percentiles and maxima of latency.
	Omission struct {
		Metrics []string `json:"metrics"`
	}
	// Switching: the run turned layers on and off between trials, and some trials ran right after that.
	Switching struct {
		Arms []SwitchedArm `json:"arms"`
	}
	// Sliced says that trials were cut into slices. Within a round, the arms alternated between slices.
	Sliced struct {
		Slices int `json:"slices"`
	}
	// InTurn says that every trial set its arm up, while no other arm was up.
	InTurn struct{}
	// Busy: before the first trial, the machine was too busy for Tare's limits on its load, so the run went on without
	// these limits.
	Busy struct {
		By string `json:"by"`
	}
	// Bound: programs used up a resource that they share, although the workload measures another resource.
	Bound struct {
		Resource testbed.Resource `json:"resource"`
		Tests    string           `json:"tests"`          // the resource that the workload measures (experiment.Declaration.Tests)
		Arms     []string         `json:"arms,omitempty"` // arms in which the resource was used up; nil: all arms
	}
	// StandIn: a component of the cluster reports that it replaces a real component by a substitute.
	StandIn struct {
		Component string `json:"component"`
		Says      string `json:"says"`
	}
	// Remark is a message from a layer or a workload about its implementation, from the machine, or from a session about
	// its start.
	// It is passed on unchanged.
	Remark struct {
		From string `json:"from"` // FromLayer, FromWorkload, FromMachine or FromSession
		Text string `json:"text"`
		// Session is the number of the session that the remark is about; 0: the remark is about no particular session.
		Session int `json:"session,omitempty"`
	}
)

// Sources of remarks.
const (
	FromLayer    = "layer"
	FromWorkload = "workload"
	FromMachine  = "machine"
	FromSession  = "session"
)

// OddSeriesPlace names the metric and cell of a series that looks odd, with its diagnostics.
type OddSeriesPlace struct {
	Metric      string      `json:"metric"`
	Cell        string      `json:"cell"`
	Diagnostics Diagnostics `json:"diagnostics"`
}

// SwitchedArm counts the valid trials of an arm, and the valid trials that ran right after a layer was switched on or
// off.
type SwitchedArm struct {
	Arm   string `json:"arm"`
	After int    `json:"after"`
	Valid int    `json:"valid"` // number of the arm's valid trials
}

// Kind returns the name of the kind, as JSON has it.
func (Autocorrelation) Kind() string        { return "autocorrelation" }
func (OrderEffect) Kind() string            { return "order-effect" }
func (PositionEffectsRemoved) Kind() string { return "places-removed" }
func (Disagreement) Kind() string           { return "disagreement" }
func (NormalPairs) Kind() string            { return "normal-pairs" }
func (NormalSamples) Kind() string          { return "normal-samples" }
func (Imprecise) Kind() string              { return "imprecise" }
func (NoVariation) Kind() string            { return "no-variation" }
func (UnequalSpread) Kind() string          { return "unequal-spread" }
func (MeanDiffers) Kind() string            { return "mean-differs" }
func (Stalling) Kind() string               { return "stalling" }
func (Unfinished) Kind() string             { return "unfinished" }
func (Extended) Kind() string               { return "extended" }
func (WeakClaim) Kind() string              { return "weak-claim" }
func (StrayTrials) Kind() string            { return "stray-trials" }
func (ReplacedTrials) Kind() string         { return "replaced-trials" }
func (Uncontrolled) Kind() string           { return "uncontrolled" }
func (FewRounds) Kind() string              { return "few-rounds" }
func (FewValues) Kind() string              { return "few-values" }
func (CappedPrecision) Kind() string        { return "capped-precision" }
func (OneSetUp) Kind() string               { return "one-set-up" }
func (UnlimitedLink) Kind() string          { return "unlimited-link" }
func (ControlDiffers) Kind() string         { return "control-differs" }
func (Interrupted) Kind() string            { return "interrupted" }
func (UnusableValues) Kind() string         { return "unusable-values" }
func (OverCap) Kind() string                { return "over-cap" }
func (Unexercised) Kind() string            { return "unexercised" }
func (StartUp) Kind() string                { return "start-up" }
func (LevelChanges) Kind() string           { return "level-changes" }
func (OddSeries) Kind() string              { return "odd-series" }
func (Omission) Kind() string               { return "omission" }
func (Switching) Kind() string              { return "switching" }
func (Sliced) Kind() string                 { return "sliced" }
func (InTurn) Kind() string                 { return "in-turn" }
func (Busy) Kind() string                   { return "busy" }
func (Bound) Kind() string                  { return "bound" }
func (StandIn) Kind() string                { return "stand-in" }
func (Remark) Kind() string                 { return "remark" }

// severity lists the kinds of findings, the gravest first. After a finding of the first group, a number does not
// measure what it seems to measure.
var severity = []string{
	// The resource limits the number, and not the layer: the resource was used up.
	Bound{}.Kind(),
	// The program may not have done its work in this arm.
	OtherBehaviour{}.Kind(),
	// After these findings, the difference may have another cause than the layer.
	StandIn{}.Kind(), Unexercised{}.Kind(), StartUp{}.Kind(), OverCap{}.Kind(), UnlimitedLink{}.Kind(), ControlDiffers{}.Kind(), Uncontrolled{}.Kind(), OneSetUp{}.Kind(),
	// The verdict may be wrong.
	Busy{}.Kind(), Unfinished{}.Kind(), MeanDiffers{}.Kind(), Stalling{}.Kind(), MoreRepeats{}.Kind(), Disagreement{}.Kind(), FewRounds{}.Kind(), FewValues{}.Kind(),
	Extended{}.Kind(), Omission{}.Kind(), OddSeries{}.Kind(), UnequalSpread{}.Kind(), Interrupted{}.Kind(), LevelChanges{}.Kind(),
	// Findings because of which an overhead's size or interval may be wrong.
	WeakClaim{}.Kind(), NormalPairs{}.Kind(), NormalSamples{}.Kind(), Autocorrelation{}.Kind(), OrderEffect{}.Kind(),
	UnusableValues{}.Kind(), Switching{}.Kind(), Sliced{}.Kind(), InTurn{}.Kind(), Remark{}.Kind(),
}

// Severity returns the rank of a finding in the order of importance to a reader, from 0.
func Severity(f Finding) int {
	if i := slices.Index(severity, f.Kind()); i >= 0 {
		return i
	}
	return len(severity)
}
