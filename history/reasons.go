package history

import "tare/analysis"

// The reasons why a run, or its value in a series, is no part of any statistics.
type (
	// NoTrial: the run has no trial.
	NoTrial struct{}
	// NotFinished: the run is not finished.
	NotFinished struct{}
	// Copy: the run is another one once more.
	Copy struct {
		Of       string `json:"of"`                 // its directory
		Imported bool   `json:"imported,omitempty"` // which may be the same files imported again
	}
	// NothingToCompare: no trial of an arm can be compared with the baseline.
	NothingToCompare struct{}
	// NoValidTrial: no valid trial has the metric.
	NoValidTrial struct{}
	// Incomparable: the value does not fit the scale of the series.
	Incomparable struct{}
	// Observed: the run is observational, unlike others of the series.
	Observed struct{}
)

// The reasons why nothing says how much a new run has grown.
type (
	// NewRunLeftOut: the new run itself cannot be compared.
	NewRunLeftOut struct {
		Why analysis.Reason `json:"-"`
	}
	// NewRunWithout: the new run has no value.
	NewRunWithout struct {
		Why analysis.Reason `json:"-"`
	}
	// NewIncomparable: the value of the new run does not fit the scale of the series.
	NewIncomparable struct{}
	// FewRuns: too few earlier runs can be compared with.
	FewRuns struct {
		Runs   int `json:"runs"`
		Fewest int `json:"fewest"`
	}
	// FewSinceAnchor: too few runs from the anchor on.
	FewSinceAnchor struct {
		Fewest int `json:"fewest"`
	}
	// NoSeries: no earlier run of the experiment has it.
	NoSeries struct{}
	// Unlike: one is an experiment, the other an observation.
	Unlike struct{}
	// OtherParameters: no earlier run had these parameters.
	OtherParameters struct {
		Differs []Difference `json:"differs"` // from those of the latest run
	}
	// NoSpread: the earlier runs do not vary.
	NoSpread struct{}
)

// Findings on a series.
type (
	// TooShort: a series is too short for changes to be seen.
	TooShort struct {
		Runs   int `json:"runs"`
		Fewest int `json:"fewest"`
	}
	// Wandering: neighbouring runs resemble each other.
	Wandering struct {
		Lag1 float64 `json:"lag1"`
	}
)

// The kinds by name.
func (NoTrial) Kind() string          { return "no-trial" }
func (NotFinished) Kind() string      { return "not-finished" }
func (Copy) Kind() string             { return "copy" }
func (NothingToCompare) Kind() string { return "nothing-to-compare" }
func (NoValidTrial) Kind() string     { return "no-valid-trial" }
func (Incomparable) Kind() string     { return "incomparable" }
func (Observed) Kind() string         { return "observed" }
func (NewRunLeftOut) Kind() string    { return "new-run-left-out" }
func (NewRunWithout) Kind() string    { return "new-run-without" }
func (NewIncomparable) Kind() string  { return "new-incomparable" }
func (FewRuns) Kind() string          { return "few-runs" }
func (FewSinceAnchor) Kind() string   { return "few-since-anchor" }
func (NoSeries) Kind() string         { return "no-series" }
func (Unlike) Kind() string           { return "unlike" }
func (OtherParameters) Kind() string  { return "other-parameters" }
func (NoSpread) Kind() string         { return "no-spread" }
func (TooShort) Kind() string         { return "too-short" }
func (Wandering) Kind() string        { return "wandering" }

// Difference is something that is not the same in two runs.
type Difference struct {
	What    string `json:"what"` // a property of the machine, a parameter by its path
	Is      string `json:"is"`   // "": not known, or not set
	Was     string `json:"was"`
	Machine bool   `json:"machine,omitempty"` // it is a property of the machine
}
