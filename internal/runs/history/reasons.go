package history

import "tare/internal/analysis"

// The reasons why statistics leave out a run, or the value of a run in a series.
type (
	// NoTrial: the run has no trial.
	NoTrial struct{}
	// NotFinished: the run is not finished.
	NotFinished struct{}
	// Copy: the run is a copy of another run.
	Copy struct {
		Of       string `json:"of"`                 // the directory of the other run
		Imported bool   `json:"imported,omitempty"` // set if the same files may have been imported again
	}
	// NothingToCompare: no trial of the arm can be compared with the baseline.
	NothingToCompare struct{}
	// NoValidTrial: no valid trial has the metric.
	NoValidTrial struct{}
	// Incomparable: the value does not fit the scale of the series.
	Incomparable struct{}
	// Observed: the run is observational, and other runs of the series are experiments.
	Observed struct{}
)

// The reasons why the growth of a new run is unknown.
type (
	// NewRunLeftOut: statistics leave out the new run itself.
	NewRunLeftOut struct {
		Why analysis.Reason `json:"-"`
	}
	// NewRunWithout: the new run has no value in the series.
	NewRunWithout struct {
		Why analysis.Reason `json:"-"`
	}
	// NewIncomparable: the value of the new run does not fit the scale of the series.
	NewIncomparable struct{}
	// FewRuns: too few earlier runs are comparable.
	FewRuns struct {
		Runs   int `json:"runs"`
		Fewest int `json:"fewest"`
	}
	// FewSinceAnchor: too few runs follow the anchor.
	FewSinceAnchor struct {
		Fewest int `json:"fewest"`
	}
	// NoSeries: no earlier run of the experiment has the metric.
	NoSeries struct{}
	// Unlike: of the new run and the series, one is an experiment and the other is observational.
	Unlike struct{}
	// OtherParameters: no earlier run has the parameters of the new run.
	OtherParameters struct {
		Differs []Difference `json:"differs"` // the differences from the latest run
	}
	// NoSpread: the earlier runs do not vary.
	NoSpread struct{}
)

// Findings on a series.
type (
	// TooShort: the series is too short to detect changes.
	TooShort struct {
		Runs   int `json:"runs"`
		Fewest int `json:"fewest"`
	}
	// Wandering: neighbouring runs resemble each other.
	Wandering struct {
		Lag1 float64 `json:"lag1"`
	}
)

// Kind returns the name of the kind, as JSON has it.
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

// Difference is a property or parameter that differs between two runs.
type Difference struct {
	What    string `json:"what"` // the property of the machine, or the path of the parameter
	Is      string `json:"is"`   // value in the later run; "": unknown, or not set
	Was     string `json:"was"`
	Machine bool   `json:"machine,omitempty"` // set for a property of the machine
}
