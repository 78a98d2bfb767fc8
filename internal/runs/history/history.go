// Package history sorts many runs of an experiment by time, and finds the runs at which a metric changed
// and how far a new run differs from the runs before it.
//
// The unit is the run. A run gives one value for each metric of each arm: the overhead against its own
// baseline, in which the level of the machine cancels. For the baseline itself (and for arms without a
// baseline, as in most imported records) a run gives the level: the arm's own typical value. Rounds within
// a run share its day and its machine, so they do not show how much runs vary. All methods here use the
// spread between runs instead.
//
// A series answers two questions, by different methods:
//
//   - Did something change, and when? Changepoints of the values on the logarithmic scale
//     (stats.RelatedChangepoints, and interlude for a level that comes and goes), with one error
//     rate for the whole history. Each change has a size and a range of runs in which it may lie.
//   - May this new run pass? Growth compares it with the runs since the last change, which
//     detects a jump, and with the reference runs at the beginning, which detects a decline so
//     slow that it never jumps.
//
// Only runs that ask the same question can be compared: runs whose parameters of layers, workload
// or testbed differ are in different stretches, and statistics stay within a stretch. Facts that
// the experiment does not determine (kernel, tools, Tare itself) may change between runs. These
// events are listed beside the changes, because they explain them.
//
// run.go finds runs and extracts their data. series.go makes series of runs, on the scale of all
// computations. change.go and locate.go find changes and the certainty of their position. growth.go
// compares a new run. differences.go finds the differences between runs.
package history

import (
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// Schema names the format of a history written as JSON.
const Schema = "tare.history/v1"

// Defaults of Options.
const (
	// DefaultAlpha is the chance that the history of an experiment without changes shows any change
	// on a headline metric.
	DefaultAlpha = 0.02
	// DefaultSegment is the smallest number of runs between two changes, before the first and after
	// the last. hack/bench/history shows the effect of smaller numbers: alarms hardly come earlier,
	// since so few runs can hardly be significant.
	DefaultSegment = 5
	// confidence is the confidence of levels, sizes and positions of changes, and of growth. The
	// interval of a single run has the confidence of its own plan.
	confidence = 0.95
)

// Options are the parameters of the search for changes.
type Options struct {
	Alpha   float64 // 0: DefaultAlpha
	Segment int     // 0: DefaultSegment; at least 4
}

// History is many runs by experiment, in the order in which they ran.
type History struct {
	Schema      string        `json:"schema"`
	Alpha       float64       `json:"alpha"`      // chance of any false change on the headline metrics of an experiment
	Segment     int           `json:"segment"`    // smallest number of runs between two changes
	Confidence  float64       `json:"confidence"` // confidence of levels, changes and growth
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

// The quantities of series, in Series.Of.
const (
	OfOverhead = "overhead" // relative to the run's own baseline
	OfLevel    = "level"    // the arm's own values
)

// Series is the values of one metric of one arm in one cell over all runs of an experiment.
type Series struct {
	Cell   string            `json:"cell"`
	Arm    string            `json:"arm"`
	Metric experiment.Metric `json:"metric"` // form of the metric in the latest run
	// Of is OfOverhead or OfLevel. Values of an overhead are shares (0.05: costs 5 %), or in the
	// metric's unit on a difference scale; levels are in its unit.
	Of string `json:"of"`
	// Machine is true for the level of a baseline that treatments are compared with. A change of this
	// level comes from the machine or the workload, and not from a layer.
	Machine bool `json:"machine,omitempty"`
	// Observational is set if no run was an experiment in random order.
	Observational bool               `json:"observational,omitempty"`
	Points        []Point            `json:"points"` // one per run whose plan has the metric, in order
	Stretches     []Stretch          `json:"stretches"`
	Segments      []segment          `json:"segments"` // sorted by their first runs
	Shifts        []Change           `json:"changes"`  // in the order in which they happened
	Notes         []analysis.Finding `json:"-"`
}

// Point is one run in a series.
type Point struct {
	Run int `json:"run"` // index into the experiment's runs
	// Stretch is an index into the series' stretches; -1 for a point that is left out and whose
	// parameters no included point has.
	Stretch int `json:"stretch"`
	// Value is the estimate with its interval, of width zero if the run does not allow one; nil if
	// the run has no value.
	Value *analysis.Interval `json:"value,omitempty"`
	// LeftOut is the reason why statistics leave this point out; nil if they include it.
	LeftOut analysis.Reason `json:"-"`

	at    float64 // the estimate on the scale of computation
	se    float64 // standard error of at; 0: unknown
	asked parameters
}

// Stretch is all runs with the same parameters, even if other runs lie between them. A run that is
// left out begins no stretch.
type Stretch struct {
	First int `json:"first"` // index of the stretch's first run
	// Differs lists the parameters that differ from the last earlier run that is not left out; empty for
	// the first stretch.
	Differs []Difference `json:"-"`

	asked parameters
}

// segment is the runs of a stretch between two changes.
type segment struct {
	Stretch int `json:"stretch"`
	From    int `json:"from"` // index of the segment's first run
	To      int `json:"to"`   // index of the segment's last run
	Runs    int `json:"runs"` // number of runs that statistics include
	// Level is the Hodges–Lehmann estimate over the runs, on the scale of the points, with its
	// interval, of width zero if there are too few runs.
	Level analysis.Interval `json:"level"`

	values []float64 // on the scale of computation
}

// The directions of a change.
const (
	Worse  = "worse"
	Better = "better"
	// Rose and Fell are the directions of a metric without a better direction.
	Rose = "rose"
	Fell = "fell"
	// Spread: the distribution changed, but its level did not detectably.
	Spread = "spread"
)

// Change is a change of the level from one segment to the next.
type Change struct {
	Stretch   int    `json:"stretch"`
	Run       int    `json:"run"`       // index of the first run of the new level, as estimated
	Last      int    `json:"last"`      // index of the last run of the old level
	Direction string `json:"direction"` // one of the directions above
	// Size is how far the later runs lie above the earlier ones, positive for worse: a share, or in
	// the unit of a difference metric. The interval does not correct for the choice of the
	// position, which made the change look large.
	Size analysis.Interval `json:"size"`
	// Earliest and Latest bound the first run of the new level, at Confidence; Sure is the
	// probability that it is Run itself. Both assume a single step and independent runs.
	Earliest int     `json:"earliest"`
	Latest   int     `json:"latest"`
	Sure     float64 `json:"sure"`
	// With lists other differences between the last run of the old level and the first of the new
	// one. Near lists differences at other runs within the bounds.
	With []Event `json:"with,omitempty"`
	Near []Event `json:"near,omitempty"`
}

// Event is a difference between a run and the run before it.
type Event struct {
	Run int `json:"run"` // index into the experiment's runs
	Difference
}

// Run is the data of one run that a history needs.
type Run struct {
	Directory   string            `json:"directory"`
	Name        string            `json:"-"`
	Plan        *experiment.Plan  `json:"-"`              // the names of the run's plan
	Start       time.Time         `json:"start,omitzero"` // start of the first trial; zero: unknown
	TareVersion string            `json:"tareVersion,omitempty"`
	Labels      experiment.Labels `json:"labels,omitempty"` // describe the version under test
	// LeftOut is the reason why statistics leave out all values of the run: it is invalid, for
	// instance. Nil if they include it.
	LeftOut analysis.Reason `json:"-"`
	// Imported names the file format of a run whose trials another tool ran, in no random order;
	// empty for an experiment.
	Imported string       `json:"imported,omitempty"`
	Events   []Difference `json:"-"` // differences from the run before

	values   []value
	path     string // absolute path of the directory, without links
	identity uint64 // with the start, identifies copies of the run
	facts    facts
}
