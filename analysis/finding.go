package analysis

import (
	"tare/experiment"
	"tare/testbed"
)

// Finding is something that a reader must know before trusting a number: a kind with its figures. Package wording makes
// a sentence of it.
type Finding interface {
	Kind() string
}

// Warning is a finding with what it is about.
type Warning struct {
	Cell   string `json:"cell,omitempty"`
	Metric string `json:"metric,omitempty"`
	Arm    string `json:"arm,omitempty"`
	// Exploratory marks what only matters to who looks at exploratory metrics.
	Exploratory bool    `json:"exploratory,omitempty"`
	Finding     Finding `json:"-"` // what it says; JSON has its kind, its figures and a sentence
}

// Findings on one comparison.
type (
	// Autocorrelation: neighbouring rounds resemble each other, or alternate.
	Autocorrelation struct {
		Lag1 float64 `json:"lag1"`
	}
	// OrderEffect: it matters whether the arm runs before or after the baseline.
	OrderEffect struct {
		P float64 `json:"p"`
	}
	// PlacesRemoved: trials depend on their place in the round, and that was taken away.
	PlacesRemoved struct {
		OrderEffects
	}
	// Disagreement: by the second estimator alone the verdict would be another.
	Disagreement struct {
		Estimator string  `json:"estimator"` // "paired t", "Welch's t" or "Stein's t"
		Verdict   Verdict `json:"verdict"`
	}
	// NormalPairs: there are too few pairs for the exact interval, and the t interval assumes normal noise.
	NormalPairs struct {
		Pairs  int `json:"pairs"`
		Fewest int `json:"fewest"`
	}
	// NormalSamples: the same of two independent samples.
	NormalSamples struct {
		Baseline int `json:"baseline"` // values
		Treated  int `json:"treated"`
	}
	// Imprecise: the precision asked for is not reached.
	Imprecise struct {
		Asked   float64 `json:"asked"`   // half-width, as a share
		Reached float64 `json:"reached"` // the same of the interval
	}
	// NoVariation: all pairs, or all values, are the same.
	NoVariation struct {
		Paired bool             `json:"paired"`
		Scale  experiment.Scale `json:"scale"`
	}
	// MeanDiffers: the typical round costs, and the mean gains, or the other way round.
	MeanDiffers struct {
		Metric experiment.Metric `json:"metric"`
		Mean   Interval          `json:"mean"`
	}
	// Stalling: the share of stalled trials is not the same in both arms.
	Stalling struct {
		Stalls
	}
	// UnequalSpread: the values of one arm spread much wider than those of the other.
	UnequalSpread struct {
		Wider experiment.Role `json:"wider"` // baseline or treatment
		Ratio float64         `json:"ratio"`
	}
)

// Findings on a run.
type (
	// Unfinished: trials are missing that were planned.
	Unfinished struct {
		Done    int `json:"done"`
		Planned int `json:"planned"`
	}
	// Extended: the finished run was looked at and then got more rounds.
	Extended struct {
		Looks      []int   `json:"looks"`      // rounds that it had at each look
		Rounds     int     `json:"rounds"`     // that it is to have in all
		Confidence float64 `json:"confidence"` // of verdicts and intervals, for that reason
	}
	// WeakClaim: a claim that most runs like this one would miss, were the effect such as
	// to be expected of one that was claimed.
	WeakClaim struct {
		Power  float64 `json:"power"`  // chance that a run like this claims that effect
		Factor float64 `json:"factor"` // by which claims of it are too large on average
	}
	// StrayTrials: trials are of no cell or arm of the plan.
	StrayTrials struct {
		Trials int `json:"trials"`
	}
	// ReplacedTrials: a later trial of the same arm and round counts.
	ReplacedTrials struct {
		Trials int `json:"trials"`
	}
	// Uncontrolled: there is no control arm.
	Uncontrolled struct{}
	// FewRounds: no claim is possible with so few rounds.
	FewRounds struct {
		Rounds int `json:"rounds"`
		Family int `json:"family"` // headline comparisons
		Fewest int `json:"fewest"`
	}
	// FewValues: the same of independent samples.
	FewValues struct {
		Most   int `json:"most"` // values of an arm, at most
		Family int `json:"family"`
		Fewest int `json:"fewest"`
	}
	// CappedPrecision: the precision asked for takes more rounds than are allowed.
	CappedPrecision struct {
		Precision float64 `json:"precision"`
		Rounds    int     `json:"rounds"`
	}
	// OneSetUp: arms stayed as they were set up, so that the result is of that set-up.
	OneSetUp struct {
		SetUps int    `json:"setUps"`          // one in each session
		Block  string `json:"block,omitempty"` // name of the only block of an import
	}
	// UnlimitedLink: the link has no rate limit.
	UnlimitedLink struct{}
	// ControlDiffers: the control differs from the baseline by more than chance.
	ControlDiffers struct {
		Metric    experiment.Metric `json:"metric"`
		Overhead  Interval          `json:"overhead"`
		PointOnly bool              `json:"pointOnly,omitempty"`
	}
	// Interrupted: rounds hold trials of different sessions.
	Interrupted struct {
		Rounds []int `json:"rounds"`
	}
	// UnusableValues: valid trials have no usable value.
	UnusableValues struct {
		Unusable int `json:"unusable"`
		Valid    int `json:"valid"`
	}
	// OverCap: values are above what the hardware can give.
	OverCap struct {
		Unit  string  `json:"unit"`
		Cap   float64 `json:"cap"`
		Value float64 `json:"value"` // median
	}
	// StartUp: the start of the program in front is more than a tenth of the time that is measured.
	StartUp struct {
		Program string  `json:"program"` // what stands in front
		Start   float64 `json:"start"`   // s, longer than without it
		Run     float64 `json:"run"`     // s, of the arm's median run: the rest
		Most    bool    `json:"most"`    // it is more than half of the difference from the baseline
	}
	// Unexercised: a difference is claimed, and no trial there did what the layer does something about.
	Unexercised struct {
		Layer string `json:"layer"` // kind
	}
	// LevelChanges: the baseline's level changes on the way.
	LevelChanges struct {
		Rounds []int `json:"rounds"` // first ones of new levels
	}
	// OddSeries: values do not look independent and of one distribution.
	OddSeries struct {
		Oddity Oddity  `json:"oddity"`
		Places []Place `json:"places"`
	}
	// Omission: while an answer is slow, a closed loop asks nothing.
	Omission struct {
		Metrics []string `json:"metrics"`
	}
	// Switching: a layer is turned on and off for all arms, and trials follow that.
	Switching struct {
		Arms []SwitchedArm `json:"arms"`
	}
	// Sliced: trials were cut into slices, between which the arms alternated.
	Sliced struct {
		Slices int `json:"slices"`
	}
	// Busy: the machine was too busy before the first trial for limits of Tare's own, which were lifted.
	Busy struct {
		By string `json:"by"`
	}
	// Bound: something that the programs share was used up, and it is not what the workload measures.
	Bound struct {
		Resource testbed.Resource `json:"resource"`
		Tests    string           `json:"tests"`          // what it measures (experiment.Declaration.Tests)
		Arms     []string         `json:"arms,omitempty"` // in which; nil: in all
	}
	// StandIn: a component of the cluster says that a part of it is not the real thing.
	StandIn struct {
		Component string `json:"component"`
		Says      string `json:"says"`
	}
	// Remark is what something else has to say: a layer of how it was found, the machine of itself, a session of its
	// start. It is handed on as it was written.
	Remark struct {
		From string `json:"from"` // FromLayer, FromMachine or FromSession
		Text string `json:"text"`
		// Session is the session that it is about; 0: of no single one.
		Session int `json:"session,omitempty"`
	}
)

// Where remarks come from.
const (
	FromLayer   = "layer"
	FromMachine = "machine"
	FromSession = "session"
)

// Place is where a series is odd, and by what.
type Place struct {
	Metric      string      `json:"metric"`
	Cell        string      `json:"cell"`
	Diagnostics Diagnostics `json:"diagnostics"`
}

// SwitchedArm counts the trials of an arm that follow a switch.
type SwitchedArm struct {
	Arm   string `json:"arm"`
	After int    `json:"after"`
	Valid int    `json:"valid"` // all valid trials of the arm
}

// The kinds by name.
func (Autocorrelation) Kind() string { return "autocorrelation" }
func (OrderEffect) Kind() string     { return "order-effect" }
func (PlacesRemoved) Kind() string   { return "places-removed" }
func (Disagreement) Kind() string    { return "disagreement" }
func (NormalPairs) Kind() string     { return "normal-pairs" }
func (NormalSamples) Kind() string   { return "normal-samples" }
func (Imprecise) Kind() string       { return "imprecise" }
func (NoVariation) Kind() string     { return "no-variation" }
func (UnequalSpread) Kind() string   { return "unequal-spread" }
func (MeanDiffers) Kind() string     { return "mean-differs" }
func (Stalling) Kind() string        { return "stalling" }
func (Unfinished) Kind() string      { return "unfinished" }
func (Extended) Kind() string        { return "extended" }
func (WeakClaim) Kind() string       { return "weak-claim" }
func (StrayTrials) Kind() string     { return "stray-trials" }
func (ReplacedTrials) Kind() string  { return "replaced-trials" }
func (Uncontrolled) Kind() string    { return "uncontrolled" }
func (FewRounds) Kind() string       { return "few-rounds" }
func (FewValues) Kind() string       { return "few-values" }
func (CappedPrecision) Kind() string { return "capped-precision" }
func (OneSetUp) Kind() string        { return "one-set-up" }
func (UnlimitedLink) Kind() string   { return "unlimited-link" }
func (ControlDiffers) Kind() string  { return "control-differs" }
func (Interrupted) Kind() string     { return "interrupted" }
func (UnusableValues) Kind() string  { return "unusable-values" }
func (OverCap) Kind() string         { return "over-cap" }
func (Unexercised) Kind() string     { return "unexercised" }
func (StartUp) Kind() string         { return "start-up" }
func (LevelChanges) Kind() string    { return "level-changes" }
func (OddSeries) Kind() string       { return "odd-series" }
func (Omission) Kind() string        { return "omission" }
func (Switching) Kind() string       { return "switching" }
func (Sliced) Kind() string          { return "sliced" }
func (Busy) Kind() string            { return "busy" }
func (Bound) Kind() string           { return "bound" }
func (StandIn) Kind() string         { return "stand-in" }
func (Remark) Kind() string          { return "remark" }
