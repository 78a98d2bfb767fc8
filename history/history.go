// Package history puts many runs of an experiment in the order of time and says
// at which of them something changed, and how far a new run has grown away from
// those before it.
//
// The unit is the run. A run gives one value for each metric of each arm: the
// overhead against its own baseline, from which the level of the machine has
// been cancelled, and for the baseline itself (and for arms that have none, as
// in most imported records) the level. Rounds within a run share its day, its
// machine and its luck, so that they say nothing of how runs differ; the spread
// between runs does, and everything here rests on that.
//
// Two questions are asked of such a series, and they need two answers:
//
//   - Did something change, and when? Changepoints of the values on the
//     logarithmic scale (stats.RelatedChangepoints, and interlude for a level that
//     comes and goes), with one error rate for the whole history, each with its
//     size and the runs among which it may lie.
//   - May this new run pass? Growth compares it with the runs since the last
//     change, which notices a jump, and with the reference runs at the
//     beginning, which notices a decline so slow that it never jumps.
//
// What was asked must be the same, or there is nothing to compare: runs whose
// parameters of layers, workload or testbed differ are not in the same stretch,
// and statistics stay within a stretch. What the experiment does not decide
// (kernel, tools, Tare itself) may change under way; such events are kept beside
// the changes, because they are what explains them.
//
// The way through the files: read.go finds and reads runs, run.go keeps what a
// history needs of one, series.go makes series of them, change.go and locate.go
// find changes and how sure their place is, growth.go compares a new run;
// differences.go says what differed between runs, scale.go is the scale that
// everything is computed on.
package history

import (
	"time"

	"tare/analysis"
	"tare/experiment"
)

// Schema names the format of a history written as JSON.
const Schema = "tare.history/v1"

// What holds unless Options say otherwise.
const (
	// DefaultAlpha is the chance that the history of an experiment in which
	// nothing ever changed shows any change on a headline metric.
	DefaultAlpha = 0.02
	// DefaultSegment is the smallest number of runs between two changes, before
	// the first and after the last. bench/history shows what fewer would give:
	// not much earlier alarms, since so few runs can hardly be significant.
	DefaultSegment = 5
	// Confidence is that of levels, sizes and places of changes, and of growth.
	// The interval of a single run has the confidence of its own plan.
	Confidence = 0.95
)

// Options say how changes are looked for.
type Options struct {
	Alpha   float64 // 0: DefaultAlpha
	Segment int     // 0: DefaultSegment; at least 4
}

// History is many runs in the order in which they ran, by experiment.
type History struct {
	Schema      string        `json:"schema"`
	Alpha       float64       `json:"alpha"`      // chance of any false change on the headline metrics of an experiment
	Segment     int           `json:"segment"`    // smallest number of runs between two changes
	Confidence  float64       `json:"confidence"` // of levels, changes and growth
	Experiments []*Experiment `json:"experiments"`
	Skipped     []Skipped     `json:"skipped,omitempty"`
}

// Experiment is all runs of the same experiment name.
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

// The kinds of series, in Series.Of.
const (
	OfOverhead = "overhead" // relative to the run's own baseline
	OfLevel    = "level"    // the arm's own values
)

// Series is one metric of one arm in one cell over all runs of an experiment.
type Series struct {
	Cell   string            `json:"cell"`
	Arm    string            `json:"arm"`
	Metric experiment.Metric `json:"metric"` // as the latest run has it
	// Of is OfOverhead or OfLevel. Values of an overhead are shares (0.05: costs
	// 5 %), or in the metric's unit on a difference scale; levels are in its unit.
	Of string `json:"of"`
	// Machine marks the level of a baseline that overheads are relative to: what
	// changes there is the machine or the workload, not a layer.
	Machine bool `json:"machine,omitempty"`
	// Observational says that no run was an experiment in random order.
	Observational bool               `json:"observational,omitempty"`
	Points        []Point            `json:"points"` // one for each run that was to have one, in order
	Stretches     []Stretch          `json:"stretches"`
	Segments      []Segment          `json:"segments"` // in the order of their first runs
	Shifts        []Shift            `json:"changes"`  // in the order in which they happened
	Notes         []analysis.Finding `json:"-"`
}

// Point is one run in a series.
type Point struct {
	Run int `json:"run"` // index into the experiment's runs
	// Stretch is an index into the series' stretches; -1 for a point that is left
	// out and whose parameters no used one has.
	Stretch int `json:"stretch"`
	// Value is the estimate with its interval, without width where the run allows
	// none; nil if the run has no value.
	Value *analysis.Interval `json:"value,omitempty"`
	// LeftOut says why the point is no part of any statistics; nil if it is.
	LeftOut analysis.Reason `json:"-"`

	at    float64 // the estimate on the scale of computation
	se    float64 // its standard error there, 0: not known
	asked parameters
}

// Stretch is all runs with the same parameters, also where others lie between.
// What is left out begins none.
type Stretch struct {
	First int `json:"first"` // index of its first run
	// Differs says in what its parameters differ from those of the used run before;
	// empty for the first one.
	Differs []Difference `json:"-"`

	asked parameters
}

// Segment is runs of a stretch between two changes.
type Segment struct {
	Stretch int `json:"stretch"`
	From    int `json:"from"` // index of its first run
	To      int `json:"to"`   // and of its last one
	Runs    int `json:"runs"` // that are part of the statistics
	// Level is the Hodges–Lehmann estimate over the runs, on the scale of the
	// points, with its interval; without width where there are too few.
	Level analysis.Interval `json:"level"`

	values []float64 // on the scale of computation
}

// The directions of a change.
const (
	Worse  = "worse"
	Better = "better"
	// Rose and Fell are those of a metric of which nobody said what is better.
	Rose = "rose"
	Fell = "fell"
	// Spread: the distribution changed and its level did not, as far as can be told.
	Spread = "spread"
)

// Shift is a change of the level from one segment to the next.
type Shift struct {
	Stretch   int    `json:"stretch"`
	Run       int    `json:"run"`       // index of the first run of the new level, as estimated
	Last      int    `json:"last"`      // index of the last run of the old level
	Direction string `json:"direction"` // one of the directions
	// Size is by how much the later runs lie above the earlier ones, positive for
	// worse: a share, or in the unit of a difference metric. The interval does not
	// know that the place was chosen because it looks large.
	Size analysis.Interval `json:"size"`
	// Earliest and Latest bound the first run of the new level, at Confidence;
	// Sure is the probability that it is Run itself. Both suppose that there is
	// one step and independent runs.
	Earliest int     `json:"earliest"`
	Latest   int     `json:"latest"`
	Sure     float64 `json:"sure"`
	// With is what else changed between the last run of the old level and the
	// first of the new one, Near what changed elsewhere within the bounds.
	With []Event `json:"with,omitempty"`
	Near []Event `json:"near,omitempty"`
}

// Event is something that is different in a run from the run before.
type Event struct {
	Run int `json:"run"` // index into the experiment's runs
	Difference
}

// Run is what a history keeps of one run.
type Run struct {
	Directory   string            `json:"directory"`
	Name        string            `json:"-"`
	Start       time.Time         `json:"start,omitzero"` // of its first trial; zero: not told
	TareVersion string            `json:"tareVersion,omitempty"`
	Labels      experiment.Labels `json:"labels,omitempty"` // what it was made of
	// LeftOut says why no value of the run is part of the statistics: it is
	// invalid, for instance. Nil if they are.
	LeftOut analysis.Reason `json:"-"`
	// Imported names the format of a run whose trials another tool ran, in no random
	// order; empty for an experiment.
	Imported string       `json:"imported,omitempty"`
	Events   []Difference `json:"-"` // what is different from the run before

	values []value
	path   string // of the directory, absolute and without links
	mark   uint64 // with the start, tells a copy of the run from another run
	facts  facts
}
