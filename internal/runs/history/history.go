// Package history sorts the runs of an experiment by time. It finds the runs at which a metric changed, and how far a
// new run differs from the runs before it.
//
// A run gives one value for each metric of each arm. The value is the overhead against the run's baseline, which hardly
// depends on the speed of the machine. For the baseline itself, and for arms without a baseline, it is the level: the
// arm's typical value. All methods use the spread between runs, which the rounds within a run do not show.
//
// A series answers two questions:
//
//   - Did something change, and when? stats.RelatedChangepoints finds changes, and interlude finds a level that
//     comes and goes. One error rate covers the history.
//   - May this new run pass? Growth compares it with the runs since the last change, which detects a jump, and
//     with the first runs, which detects a slow decline.
//
// Only runs that ask the same question are compared. Runs with other parameters of layers, workload or testbed are in
// another stretch, and statistics stay within a stretch. The kernel, tools and Tare itself may change between runs.
// Such
// events are listed beside the changes.
//
// run.go reads runs. series.go makes series of runs. change.go finds changes. growth.go compares a new run.
// differences.go finds the differences between runs.
package history

import (
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// Schema names the format of a history written as JSON.
const Schema = "tare.history/v1"

const (
	// DefaultAlpha is the chance that any headline metric shows a change in the history of an experiment without
	// changes.
	DefaultAlpha = 0.02
	// DefaultSegment is the smallest number of runs before, between and after changes. With fewer, alarms hardly come
	// earlier (hack/bench/history).
	DefaultSegment = 5
	// confidence is the confidence of levels, growth, and sizes and positions of changes. Intervals of single runs have
	// their own plan's.
	confidence = 0.95
)

// Options are the parameters of the search for changes.
type Options struct {
	Alpha   float64 // chance of a false change; 0: DefaultAlpha
	Segment int     // fewest runs between two changes; 0: DefaultSegment; numbers below LeastSegment count as LeastSegment
}

// History holds many runs, grouped by experiment, in the order in which they ran.
type History struct {
	Schema      string        `json:"schema"`
	Alpha       float64       `json:"alpha"`      // chance that the headline metrics of an experiment show any false change
	Segment     int           `json:"segment"`    // the smallest number of runs between two changes
	Confidence  float64       `json:"confidence"` // the confidence of levels, changes and growth
	Experiments []*Experiment `json:"experiments"`
	Skipped     []Skipped     `json:"skipped,omitempty"`
}

// Experiment is all runs with the same experiment name.
type Experiment struct {
	Name   string   `json:"name"`
	Runs   []*Run   `json:"runs"`
	Series []Series `json:"series"`
}

// Skipped is a directory that could not be read.
type Skipped struct {
	Directory string `json:"directory"`
	Reason    string `json:"reason"`
}

// The values of the field Series.Of: the quantity whose values a series holds.
const (
	OfOverhead = "overhead" // overheads, against the baselines of the runs
	OfLevel    = "level"    // the typical values of the arm
)

// Series is the values of one metric of one arm in one cell over all runs of an experiment.
type Series struct {
	Cell   string            `json:"cell"`
	Arm    string            `json:"arm"`
	Metric experiment.Metric `json:"metric"` // the metric as the latest run defines it
	// Of is OfOverhead or OfLevel. Overheads are shares (0.05: costs 5 %) or, on a difference scale, in the metric's
	// unit. Levels are in that unit.
	Of string `json:"of"`
	// Machine is set for the level of a baseline of treatments. A change of this level comes from the machine or the
	// workload, not from a layer.
	Machine bool `json:"machine,omitempty"`
	// Observational is set if no run was an experiment in random order.
	Observational bool               `json:"observational,omitempty"`
	Points        []Point            `json:"points"` // points, one for each run whose plan has the metric, in order
	Stretches     []Stretch          `json:"stretches"`
	Segments      []segment          `json:"segments"` // segments in the order of their first runs
	Shifts        []Change           `json:"changes"`  // changes in the order in which they happened
	Notes         []analysis.Finding `json:"-"`
}

// Point is one run in a series.
type Point struct {
	Run int `json:"run"` // the index of the run in the experiment
	// Stretch is the index of the point's stretch in the field Stretches; -1: all points with these parameters are left
	// out.
	Stretch int `json:"stretch"`
	// Value is the estimate with its interval; nil if the run has no value. If the run allows no interval, the
	// interval's width is zero.
	Value *analysis.Interval `json:"value,omitempty"`
	// LeftOut is the reason why statistics leave this point out; nil if they include it.
	LeftOut analysis.Reason `json:"-"`

	at    float64 // the estimate on the scale of computation (see type scale)
	se    float64 // the standard error of the estimate; 0: unknown
	asked parameters
}

// Stretch stands for all runs with equal parameters, even if other runs lie between them. A run that is left out begins
// no stretch.
type Stretch struct {
	First int `json:"first"` // the index of the first run
	// Differs lists the parameters of the stretch that differ from those of the last included run before the stretch.
	// For the first stretch, Differs is empty.
	Differs []Difference `json:"-"`

	asked parameters
}

// segment is the runs of a stretch between two changes.
type segment struct {
	Stretch int `json:"stretch"`
	From    int `json:"from"` // the index of the first run
	To      int `json:"to"`   // the index of the last run
	Runs    int `json:"runs"` // the number of runs that statistics include
	// Level is the Hodges–Lehmann estimate over the runs, on the scale of the points. Its interval has width zero if
	// there are too few runs.
	Level analysis.Interval `json:"level"`

	values []float64 // estimates of the runs, on the scale of computation (see type scale)
}

// The directions of a change.
const (
	Worse  = "worse"
	Better = "better"
	// Rose and Fell are the directions of a metric without a better direction.
	Rose = "rose"
	Fell = "fell"
	// Spread: the values scatter more widely or less widely than before, without a detectable change of their level.
	Spread = "spread"
)

// Change is a change of the level from one segment to the next.
type Change struct {
	Stretch   int    `json:"stretch"`
	Run       int    `json:"run"`       // the index of the first run of the new level, as estimated
	Last      int    `json:"last"`      // the index of the last run of the old level
	Direction string `json:"direction"` // Worse, Better, Rose, Fell or Spread
	// Size is the level after the change minus the level before: a share or, on a difference scale, in the metric's
	// unit. Positive is worse. Size tends to be too large: a change is placed where values differ most.
	Size analysis.Interval `json:"size"`
	// The first run of the new level lies from Earliest to Latest (95 % confidence). Sure is the chance that it is Run.
	// Both assume a single step.
	Earliest int     `json:"earliest"`
	Latest   int     `json:"latest"`
	Sure     float64 `json:"sure"`
	// With lists what else differs between the runs Last and Run, such as the kernel. Near lists differences at the
	// other runs from Earliest to Latest.
	With []Event `json:"with,omitempty"`
	Near []Event `json:"near,omitempty"`
}

// Event is a difference between a run and the run before.
type Event struct {
	Run int `json:"run"` // the index of the run in the experiment
	Difference
}

// Run is the data of one run that a history needs.
type Run struct {
	Directory   string            `json:"directory"`
	Name        string            `json:"-"`
	Plan        *experiment.Plan  `json:"-"`              // the run's plan, reduced to its names
	Start       time.Time         `json:"start,omitzero"` // start of the first trial; zero: unknown
	TareVersion string            `json:"tareVersion,omitempty"`
	Labels      experiment.Labels `json:"labels,omitempty"` // labels of the version under test
	// LeftOut is the reason why statistics leave out all values of the run, such as an invalid run; nil if they
	// include the run.
	LeftOut analysis.Reason `json:"-"`
	// Imported is the file format of an imported run, whose trials another tool ran in no random order; empty for an
	// experiment.
	Imported string       `json:"imported,omitempty"`
	Events   []Difference `json:"-"` // differences from the run before

	values   []value
	path     string // the absolute path of the directory, without links
	identity uint64 // number that tells a run and its copies from other runs of the same start
	facts    facts
}

// These are the reasons why statistics leave out a run, or the run's value in one series.
type (
	// NoTrial is the reason of a run that has no trial.
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
	// Incomparable: the value does not fit the scale of the series, such as 0 on a logarithmic scale.
	Incomparable struct{}
	// Observed: the run is observational. It is left out because other runs of the series are experiments.
	Observed struct{}
)

// These are the reasons why it is unknown how much worse a new run is than earlier runs.
type (
	// NewRunLeftOut: the new run is itself left out of the statistics, for the reason Why.
	NewRunLeftOut struct {
		Why analysis.Reason `json:"-"`
	}
	// NewRunWithout: the new run has no value in the series.
	NewRunWithout struct {
		Why analysis.Reason `json:"-"`
	}
	// NewIncomparable: the new run's value does not fit the scale of the series, such as 0 on a logarithmic
	// scale.
	NewIncomparable struct{}
	// FewRuns: too few earlier runs are comparable.
	FewRuns struct {
		Runs   int `json:"runs"`
		Fewest int `json:"fewest"`
	}
	// FewSinceAnchor: too few runs follow the anchor, the first runs of the history.
	FewSinceAnchor struct {
		Fewest int `json:"fewest"`
	}
	// NoSeries: no earlier run of the experiment has the metric.
	NoSeries struct{}
	// Unlike: the new run is an experiment and the series is observational, or the reverse.
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
	// Wandering says that neighbouring runs of a series resemble each other. Lag1 measures this.
	Wandering struct {
		Lag1 float64 `json:"lag1"`
	}
)

// Kind returns the name of this kind of reason in JSON.
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
	What    string `json:"what"` // machine property, or path of the parameter, that differs
	Is      string `json:"is"`   // value in the later run; "": unknown, or not set
	Was     string `json:"was"`
	Machine bool   `json:"machine,omitempty"` // set for a property of the machine
}
