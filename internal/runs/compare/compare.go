// Package compare compares runs of different times, machines or versions of a layer.
//
// A result has three parts. The first part lists the properties in which the runs differ, such as the machine
// (differences.go). Any of these properties may cause a difference in the numbers. The second part compares overheads,
// each
// against the baseline of its own run (changes.go). The third part compares levels, which are the values of an arm:
// every arm is compared with one arm of one run, the reference (changes.go).
//
// Overheads are worth more than levels. A slow machine slows both arm and baseline, and the overhead stays. Only a
// layer whose relative cost depends on the machine has another overhead on another machine.
//
// No random order decided which run was made when or where. All comparisons across runs are therefore observational.
// Cells are the same if they have the same ID: the workload's name and the levels of all factors. Metrics are the same
// if they have the same name, unit, direction and scale. Package analysis decides the verdicts, with the confidence and
// margin of the reference's run.
package compare

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
)

// Schema names the format of a result written as JSON.
const Schema = "tare.comparison/v1"

// Input is one run to be compared.
type Input struct {
	Name   string // the run's directory, in the words of the user's command
	Run    *analysis.Run
	Trials []journal.Trial // the trials that Run was analysed from
}

// Options select the comparisons.
type Options struct {
	Reference reference // the arm with which all other arms are compared; zero: the first run's baseline
	Matches   []match
	// Occasions returns the standard deviation of an overhead's contrasts between unchanged runs (0: unknown), and the
	// number of these runs. Nil: unknown.
	Occasions func(cell, arm, metric string) (deviation float64, runs int)
}

// Occasions is the reason why a change between runs has no verdict or is not resolved: overheads differ from occasion
// to occasion without any change.
type Occasions struct {
	Deviation float64 `json:"deviation"` // standard deviation of overheads between occasions; 0: unknown, so no verdict
	Runs      int     `json:"runs"`      // the number of runs that Deviation comes from
}

// Kind returns the name of this kind of reason.
func (Occasions) Kind() string { return "occasions" }

type reference struct {
	Run int    `json:"run"` // number of the run, from 1
	Arm string `json:"arm"`
}

// match declares that two arms with different names are versions of one layer.
type match struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Result is the result of a comparison of runs.
type Result struct {
	Schema    string    `json:"schema"`
	Runs      []Run     `json:"runs"`
	Reference reference `json:"reference"`
	// Observation is the reason why the comparison is not an experiment; nil for a single run.
	Observation *Observation `json:"observation,omitempty"`
	// Confidence and Margin come from the reference's run, and hold for all comparisons.
	Confidence quantity.Percent `json:"confidence"`
	Margin     quantity.Percent `json:"equivalence"`
	// Differences are the properties in which runs differ, Same the equal ones (important ones first). Unknown are
	// properties that cannot be compared.
	Differences []Property         `json:"differences"`
	Same        []Property         `json:"same"`
	Unknown     []analysis.Finding `json:"-"`
	// Apart lists arms, cells and metrics that some runs lack. It also lists metrics that differ between runs in
	// unit, direction or scale.
	Apart   []NotShared `json:"apart,omitempty"`
	Family  family      `json:"family"`
	Changes []Change    `json:"changes"`
	// Floors are the changes of the controls. They show only noise, since a control has no layer that changes.
	Floors   []Change           `json:"floors,omitempty"`
	Levels   []Level            `json:"levels"`
	Warnings []analysis.Finding `json:"-"`
	Plans    []*experiment.Plan `json:"-"`
}

// family holds the sizes of two families for Holm's correction: changes of headline metrics, and levels of headline
// metrics.
type family struct {
	Changes int `json:"changes"`
	Levels  int `json:"levels"`
}

// Run is one of the compared runs.
type Run struct {
	Number      int                   `json:"number"` // the number, from 1, by which the rest of the result names the run
	Name        string                `json:"name"`
	Experiment  string                `json:"experiment"`
	Labels      experiment.Labels     `json:"labels,omitempty"` // labels of the versions under test
	Testbed     string                `json:"testbed"`
	Start       time.Time             `json:"start"`  // start of the first trial; zero: unknown
	Paired      bool                  `json:"paired"` // set if the arms are compared round by round, and not as independent samples
	Rounds      int                   `json:"rounds"`
	Trials      int                   `json:"validTrials"`
	Valid       bool                  `json:"valid"`
	Finished    bool                  `json:"finished"`
	Reasons     []analysis.Reason     `json:"-"` // reasons why the run gives no verdicts
	Observation *analysis.Observation `json:"observation,omitempty"`
	Arms        []arm                 `json:"arms"`
}

type arm struct {
	Name string          `json:"name"`
	Role experiment.Role `json:"role"`
}

// NotShared is an arm, cell or metric that cannot be compared because not all runs have it.
type NotShared struct {
	What string `json:"what"` // "arm", "cell" or "metric"
	Name string `json:"name"`
	Runs []int  `json:"runs"` // numbers of the runs that have the arm, cell or metric
	// Other lists the runs whose metric of this name has another unit, direction or scale.
	Other []int `json:"other,omitempty"`
}

// Change is the difference between the overheads of an arm in two runs, or of two arms in one run.
type Change struct {
	From Overhead `json:"from"`
	To   Overhead `json:"to"`
	// Direct is set if both arms are in one run and were compared directly, without the baseline.
	Direct bool `json:"direct,omitempty"`
	// Comparison compares From and To. Its field Overhead says how much more To costs than From: as a share or, on the
	// scale difference, as an amount.
	analysis.Comparison
}

// Overhead is the overhead of an arm in one run, relative to the baseline of the same run.
type Overhead struct {
	Run      int               `json:"run"`
	Arm      string            `json:"arm"`
	Known    bool              `json:"known"` // set if the run has an estimate of this overhead
	Overhead analysis.Interval `json:"overhead"`
	// PointOnly is set if Overhead has no interval: both bounds then equal the point.
	PointOnly bool             `json:"pointOnly,omitempty"`
	Verdict   analysis.Verdict `json:"verdict"` // the verdict of the run itself
}

// Level holds the values of one arm of one run on one metric.
type Level struct {
	Cell   string            `json:"cell"`
	Metric experiment.Metric `json:"metric"`
	Run    int               `json:"run"`
	Arm    string            `json:"arm"`
	Values analysis.Summary  `json:"values"`
	// Against compares the level with the reference; nil for the reference itself.
	Against *analysis.Comparison `json:"against,omitempty"`
}

// Errors of the input, which the user can correct by naming other runs.
var (
	// ErrNothingInCommon: no cell has a metric that two runs share.
	ErrNothingInCommon = errors.New("the runs have no cell in common")
	// ErrSameRun: a run was named twice.
	ErrSameRun = errors.New("a run cannot be compared with itself")
	// ErrNothingToCompare: there is only one run, and the options ask no question about its arms.
	ErrNothingToCompare = errors.New("there is only one run")
)

// Runs compares runs. It returns a result whatever the verdicts are. An error means that the runs cannot be compared.
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
		r.Plans = append(r.Plans, one.Run.Plan)
		c.values = append(c.values, analysis.ValuesOf(one.Run.Plan, one.Trials))
	}
	r.Observation = c.observation()
	c.addFindings()
	c.changes(list)
	c.levels(list)
	return r, nil
}

func begin(in []Input, o Options) (*comparison, []shared, error) {
	if err := distinct(in); err != nil {
		return nil, nil, err
	}
	c := &comparison{in: in, options: o, reference: o.Reference, result: &Result{}}
	if c.reference.Run == 0 && len(in) > 0 {
		c.reference = reference{Run: 1, Arm: in[0].Run.Plan.ArmWith(experiment.Baseline)}
	}
	for i, r := range in {
		plan, run := r.Run.Plan, r.Run
		described := Run{Number: i + 1, Name: r.Name, Experiment: plan.Name, Labels: plan.Labels, Testbed: plan.Testbed, Start: run.Start,
			Paired: plan.Paired(), Rounds: run.Rounds, Trials: run.Trials.Valid, Valid: run.Valid, Finished: run.Finished,
			Reasons: slices.Clone(run.Reasons), Observation: run.Observation}
		for _, a := range plan.Arms {
			described.Arms = append(described.Arms, arm{Name: a.Name, Role: a.Role})
		}
		c.result.Runs = append(c.result.Runs, described)
	}
	list, err := c.align()
	if err == nil {
		c.differences()
	}
	return c, list, err
}

func distinct(in []Input) error {
	for i, r := range in {
		if r.Run == nil || r.Run.Plan == nil {
			return fmt.Errorf("run %d (%s) has no plan", i+1, r.Name)
		}
		for k, earlier := range in[:i] {
			a, b := earlier.Run, r.Run // two copies of one run have the same start and the same values
			if a.Trials.Valid > 0 && a.Start.Equal(b.Start) && reflect.DeepEqual(a.Cells, b.Cells) {
				return fmt.Errorf("%w: runs %d (%s) and %d (%s) hold the same trials", ErrSameRun, k+1, earlier.Name, i+1, r.Name)
			}
		}
	}
	return nil
}

// plan returns the plan of the reference's run. The confidence and margin of this plan hold for all comparisons.
func (c *comparison) plan() *experiment.Plan { return c.in[c.reference.Run-1].Run.Plan }

// order returns the indices of the runs; the run of the reference is first.
func (c *comparison) order() []int {
	list := []int{c.reference.Run - 1}
	for i := range c.in {
		if i != list[0] {
			list = append(list, i)
		}
	}
	return list
}
