// Package compare puts runs side by side that were made at different times, on
// different machines, or of different versions of a layer.
//
// Three things are said of them, in this order. What differs between them
// besides their numbers: the machine, the layers' parameters, the workloads, the
// testbed (differences.go), because whatever differs is being compared, too.
// Then the overheads: how much more or less a layer costs than it did, each
// overhead against the baseline of its own run (changes.go). Then the levels:
// every arm against one arm of one run, the reference (levels.go).
//
// The second is worth more than the third. A level tells of the machine at least
// as much as of the layer; an overhead is measured against a baseline in the
// next minute on the same machine, and what slows both down cancels in it before
// runs are compared at all. What is left is a machine on which the layer itself
// is relatively dearer.
//
// Between runs nothing was randomised: no coin decided which trial ran when or
// where. All that is said across runs is therefore observational, however narrow
// its interval, and the result says so. Cells are the same when their ID is, that
// is the workload's name and the levels of all factors; metrics when name, unit,
// direction and scale are. The decisions are those of package analysis, by the
// rules of the reference's run.
package compare

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tare/analysis"
	"tare/experiment"
	"tare/experiment/quantity"
	"tare/journal"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.comparison/v1"

// Input is one run to be compared.
type Input struct {
	Name   string // as the user named it: a directory
	Run    *analysis.Run
	Trials []journal.Trial // of that run
}

// Options say what to compare.
type Options struct {
	Reference Reference // the zero value: the baseline of the first run
	Matches   []Match
	// Occasions says by how much runs of which nothing changed differ in an overhead: the deviation of their
	// contrasts, and their number; 0: not known. Nil: of none it is.
	Occasions func(cell, arm, metric string) (deviation float64, runs int)
}

// Occasions is why a change from one run to another has no verdict, or is not resolved: overheads of which nothing changed
// differ from occasion to occasion.
type Occasions struct {
	Deviation float64 `json:"deviation"` // of these overheads, on their scale; 0: not known, which leaves no verdict
	Runs      int     `json:"runs"`      // that tell it
}

// Kind is its name.
func (Occasions) Kind() string { return "occasions" }

// Reference is the arm that levels are compared with.
type Reference struct {
	Run int    `json:"run"` // number, from 1
	Arm string `json:"arm"`
}

// Match says that two arms of different names are versions of one layer.
type Match struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Result is what a comparison of runs says.
type Result struct {
	Schema    string    `json:"schema"`
	Runs      []Run     `json:"runs"`
	Reference Reference `json:"reference"`
	// Observation says why nothing here is an experiment; nil if all that is
	// compared comes from one run.
	Observation *Observation `json:"observation,omitempty"`
	// Confidence and Margin are the rules by which all is judged: those of the
	// reference's run.
	Confidence quantity.Percent `json:"confidence"`
	Margin     quantity.Percent `json:"equivalence"`
	// Differences and Same are the properties that the runs tell, the important
	// ones first. Unknown is what cannot be compared.
	Differences []Property         `json:"differences"`
	Same        []Property         `json:"same"`
	Unknown     []analysis.Finding `json:"-"`
	// Apart are arms, cells and metrics that not every run has in the same form.
	Apart   []Apart  `json:"apart,omitempty"`
	Family  Family   `json:"family"`
	Changes []Change `json:"changes"`
	// Floors are the changes of the controls: nothing differs there.
	Floors   []Change           `json:"floors,omitempty"`
	Levels   []Level            `json:"levels"`
	Warnings []analysis.Finding `json:"-"`
}

// Family counts the hypotheses on headline metrics that Holm's correction takes
// together: the changes are one family, the levels another.
type Family struct {
	Changes int `json:"changes"`
	Levels  int `json:"levels"`
}

// Run is one of the runs.
type Run struct {
	Number      int                   `json:"number"` // from 1, as in all of the result
	Name        string                `json:"name"`
	Experiment  string                `json:"experiment"`
	Labels      experiment.Labels     `json:"labels,omitempty"` // what it was made of
	Testbed     string                `json:"testbed"`
	Start       time.Time             `json:"start"`  // of the first trial; zero: not told
	Paired      bool                  `json:"paired"` // arms are compared round by round; else they are independent samples
	Rounds      int                   `json:"rounds"`
	Trials      int                   `json:"validTrials"`
	Valid       bool                  `json:"valid"`
	Finished    bool                  `json:"finished"`
	Reasons     []analysis.Reason     `json:"-"` // why it gives no verdicts
	Observation *analysis.Observation `json:"observation,omitempty"`
	Arms        []Arm                 `json:"arms"`
}

// Arm is an arm of a run.
type Arm struct {
	Name string          `json:"name"`
	Role experiment.Role `json:"role"`
}

// Apart is something that cannot be compared because not all runs have it.
type Apart struct {
	What string `json:"what"` // "arm", "cell" or "metric"
	Name string `json:"name"`
	Runs []int  `json:"runs"` // that have it
	// Other are runs that have a metric of that name with another unit, direction or
	// scale.
	Other []int `json:"other,omitempty"`
}

// Change is how an overhead has changed from one run to another, or from one
// version to another within a run.
type Change struct {
	From Overhead `json:"from"`
	To   Overhead `json:"to"`
	// Direct says that both arms are of one run and were compared without the
	// detour over the baseline.
	Direct bool `json:"direct,omitempty"`
	// The comparison of the two overheads: Overhead is the share of From's cost
	// factor (on the scale difference: the amount) by which To costs more.
	analysis.Comparison
}

// Overhead is an arm's overhead in a run, against its own baseline.
type Overhead struct {
	Run      int               `json:"run"`
	Arm      string            `json:"arm"`
	Known    bool              `json:"known"` // the run has an estimate
	Overhead analysis.Interval `json:"overhead"`
	// PointOnly says that there is no interval: both bounds are the point.
	PointOnly bool             `json:"pointOnly,omitempty"`
	Verdict   analysis.Verdict `json:"verdict"` // as the run gives it
}

// Level is one arm of one run on one metric.
type Level struct {
	Cell   string            `json:"cell"`
	Metric experiment.Metric `json:"metric"`
	Run    int               `json:"run"`
	Arm    string            `json:"arm"`
	Values analysis.Summary  `json:"values"`
	// Against compares it with the reference; nil for the reference itself.
	Against *analysis.Comparison `json:"against,omitempty"`
}

// Errors of the input, for which the user has to name other runs.
var (
	// ErrNothingInCommon says that no cell has a metric that two runs share.
	ErrNothingInCommon = errors.New("the runs have no cell in common")
	// ErrSameRun says that a run was named twice.
	ErrSameRun = errors.New("a run cannot be compared with itself")
	// ErrNothingToCompare says that there is a single run and nothing asked of it.
	ErrNothingToCompare = errors.New("there is only one run")
)

// Runs compares runs. The result says all there is to say, whatever the
// verdicts; errors are about runs that cannot be compared at all.
func Runs(in []Input, o Options) (*Result, error) {
	if len(in) == 0 || len(in) == 1 && o.Reference.Run == 0 && o.Matches == nil {
		return nil, fmt.Errorf("%w: name another one, or two arms of it", ErrNothingToCompare)
	}
	c, list, err := begin(in, o)
	if err != nil {
		return nil, err
	}
	r := c.result
	r.Schema, r.Reference, r.Confidence, r.Margin = Schema, c.reference, c.plan().Judged(), c.plan().Equivalence
	r.Changes, r.Levels = []Change{}, []Level{}
	for _, one := range in {
		c.values = append(c.values, analysis.ValuesOf(one.Run.Plan, one.Trials))
	}
	r.Observation = c.observation()
	c.doubts()
	c.changes(list)
	c.levels(list)
	return r, nil
}

// begin aligns runs, and says in what they differ besides their trials.
func begin(in []Input, o Options) (*comparison, []shared, error) {
	if err := distinct(in); err != nil {
		return nil, nil, err
	}
	c := &comparison{in: in, options: o, reference: o.Reference, result: &Result{}}
	if c.reference.Run == 0 && len(in) > 0 {
		c.reference = Reference{Run: 1, Arm: in[0].Run.Plan.ArmWith(experiment.Baseline)}
	}
	for i := range in {
		c.result.Runs = append(c.result.Runs, c.describe(i))
	}
	list, err := c.align()
	if err == nil {
		c.differences()
	}
	return c, list, err
}

// distinct refuses runs that are copies of each other.
func distinct(in []Input) error {
	for i, r := range in {
		if r.Run == nil || r.Run.Plan == nil {
			return fmt.Errorf("run %d (%s) has no plan", i+1, r.Name)
		}
		for k, earlier := range in[:i] {
			if sameTrials(earlier.Run, r.Run) {
				return fmt.Errorf("%w: runs %d (%s) and %d (%s) hold the same trials", ErrSameRun, k+1, earlier.Name, i+1, r.Name)
			}
		}
	}
	return nil
}

// sameTrials says whether two runs are copies of one: trial by trial the same
// values at the same times.
func sameTrials(a, b *analysis.Run) bool {
	return a.Trials.Valid > 0 && a.Start.Equal(b.Start) && reflect.DeepEqual(a.Cells, b.Cells)
}

// plan is the plan whose rules decide: the reference's.
func (c *comparison) plan() *experiment.Plan { return c.in[c.reference.Run-1].Run.Plan }

// order gives the indices of the runs, the reference's first.
func (c *comparison) order() []int {
	list := []int{c.reference.Run - 1}
	for i := range c.in {
		if i != list[0] {
			list = append(list, i)
		}
	}
	return list
}

func (c *comparison) describe(i int) Run {
	in := c.in[i]
	r := Run{Number: i + 1, Name: in.Name, Experiment: in.Run.Plan.Name, Labels: in.Run.Plan.Labels, Testbed: in.Run.Plan.Testbed, Start: in.Run.Start,
		Paired: in.Run.Plan.Paired(), Rounds: in.Run.Rounds, Trials: in.Run.Trials.Valid, Valid: in.Run.Valid, Finished: in.Run.Finished,
		Reasons: slices.Clone(in.Run.Reasons), Observation: in.Run.Observation}
	for _, a := range in.Run.Plan.Arms {
		r.Arms = append(r.Arms, Arm{Name: a.Name, Role: a.Role})
	}
	return r
}
