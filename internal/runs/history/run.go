package history

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/stats"
)

// Read reads each run in or below the directories once. skipped lists directories without a readable run. The error is
// a failed search, or the end of ctx.
func Read(ctx context.Context, dirs ...string) (runs []*Run, skipped []Skipped, err error) {
	var found []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		below, err := journal.Find(dir + string(filepath.Separator)) // Find follows a link if the path ends with the separator
		if err != nil {
			return nil, nil, err
		}
		if len(below) == 0 {
			skipped = append(skipped, Skipped{dir, "it is no run directory, and there is none below it"})
		}
		for _, run := range below {
			if path := canonical(run); !seen[path] {
				seen[path] = true
				found = append(found, filepath.Clean(run))
			}
		}
	}
	read, errs := make([]*Run, len(found)), make([]error, len(found))
	each(len(found), func(i int) {
		if ctx.Err() == nil {
			var j *journal.Run
			if j, errs[i] = journal.Open(found[i]); errs[i] == nil {
				read[i] = Of(j)
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for i := range found {
		if _, reached := machine.Exhausted(errs[i]); reached {
			return nil, nil, errs[i] // this machine has no more of a resource, so the run is not at fault
		}
		if errs[i] != nil {
			skipped = append(skipped, Skipped{found[i], errs[i].Error()})
			continue
		}
		runs = append(runs, read[i])
	}
	return runs, skipped, nil
}

// each calls f once with every number from 0 to n-1. The calls run in parallel, on all processors.
func each(n int, f func(i int)) {
	var calls errgroup.Group
	calls.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		calls.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = calls.Wait() // the calls return no errors
}

// value is the value of one run in one series: for one metric of one arm in one cell.
type value struct {
	key
	metric experiment.Metric
	asked  parameters
	// estimate is nil if the run has no value. The field why then holds the reason. The estimate has width zero if
	// the trials allow no interval.
	estimate *analysis.Interval
	why      analysis.Reason
	z        float64 // the approximate half-width of the interval, in standard errors
	machine  bool    // set for the level of a baseline, not for an overhead of a treatment
}

type key struct {
	cell, arm, metric, unit string
	better                  experiment.Better
	scale                   experiment.Scale
	of                      string
}

type facts struct {
	environment *machine.Environment
	imported    map[string]string // facts in the files of an imported run, by name; nil: none
	design      map[string]string // properties of the plan, by name, other than parameters
}

// Of returns the data of a run that a history needs.
func Of(j *journal.Run) *Run { return Judged(j, analysis.Judge(j.Plan, j.Trials)) }

// Judged returns those data of an analysed run that a history needs. The argument judged is the run's analysis.
func Judged(j *journal.Run, judged *analysis.Run) *Run {
	r := &Run{
		Directory: j.Dir, Name: j.Plan.Name, Plan: j.Plan.Names(), Start: began(j), TareVersion: j.Plan.Version, Labels: j.Plan.Labels,
		path: canonical(j.Dir), identity: identityOf(j), facts: factsOf(j),
	}
	if r.TareVersion == "" && j.Environment != nil {
		r.TareVersion = j.Environment.TareVersion
	}
	switch {
	case len(j.Trials) == 0:
		r.LeftOut = NoTrial{}
	case !j.Finished:
		r.LeftOut = NotFinished{}
	case !judged.Valid:
		r.LeftOut = analysis.NoVerdicts{Reasons: judged.Reasons}
	case j.Plan.Import != nil:
		r.Imported = j.Plan.Import.Tool
	}
	asked := parametersOf(j.Plan)
	r.values = append(overheads(j.Plan, judged, asked), levels(j, asked)...)
	return r
}

// identityOf returns a number that tells apart runs with equal start: the seed of the run or, for an import, a hash of
// its trials.
func identityOf(j *journal.Run) uint64 {
	if j.Plan.Import == nil {
		return j.Plan.Seed
	}
	h := fnv.New64a()
	for i := range j.Trials {
		t := &j.Trials[i]
		fmt.Fprintf(h, "%q %q %d", t.Cell, t.Arm, t.Start.UnixNano())
		for _, name := range slices.Sorted(maps.Keys(t.Values)) {
			fmt.Fprintf(h, " %q %x", name, t.Values[name])
		}
	}
	return h.Sum64()
}

// began returns the start of the first trial; without trials, the start of the run. An import without times in its
// files gives the zero time.
func began(j *journal.Run) time.Time {
	if first := analysis.Began(j.Trials); !first.IsZero() || j.Plan.Import != nil || len(j.Sessions) == 0 {
		return first
	}
	return j.Sessions[0].Start
}

func canonical(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

func keyOf(cell, arm string, m experiment.Metric, of string) key {
	return key{cell, arm, m.Name, m.Unit, m.Better, m.Scale, of}
}

func overheads(plan *experiment.Plan, judged *analysis.Run, asked map[[2]string]parameters) []value {
	list := make([]value, 0, len(judged.Comparisons))
	for _, c := range judged.Comparisons {
		v := value{key: keyOf(c.Cell, c.Arm, c.Metric, OfOverhead), metric: c.Metric, asked: asked[[2]string{c.Cell, c.Arm}],
			z: z(contrast.RulesOf(plan).AtLook())}
		if c.Rounds == 0 {
			v.why = NothingToCompare{}
		} else {
			v.estimate = new(c.Overhead)
		}
		list = append(list, v)
	}
	return list
}

// levels returns the median of each metric in each cell, for the baseline or for the only arm.
func levels(j *journal.Run, asked map[[2]string]parameters) []value {
	plan := j.Plan
	name := plan.ArmWith(experiment.Baseline)
	if name == "" {
		return nil
	}
	machine := plan.ArmWith(experiment.Treatment) != ""
	values := analysis.ValuesOf(plan, j.Trials)
	var list []value
	for _, cell := range plan.Cells {
		for _, m := range cell.Metrics {
			v := value{key: keyOf(cell.ID, name, m, OfLevel), metric: m, asked: asked[[2]string{cell.ID, name}],
				machine: machine, z: z(float64(plan.Judged()))}
			if v.estimate = median(values.Sample(cell.ID, name, m), float64(plan.Judged())); v.estimate == nil {
				v.why = NoValidTrial{}
			}
			list = append(list, v)
		}
	}
	return list
}

// median returns the median with its interval by order statistics; nil if there are no values. With too few values,
// the interval has width zero.
func median(values []float64, confidence float64) *analysis.Interval {
	if len(values) == 0 {
		return nil
	}
	if i, _, err := stats.MedianInterval(values, confidence); err == nil {
		return &analysis.Interval{Point: i.Point, Lo: i.Lo, Hi: i.Hi}
	}
	middle := stats.Median(values)
	return &analysis.Interval{Point: middle, Lo: middle, Hi: middle}
}

// z returns half the width of a normal estimate's interval, in standard errors: 1.96 at a confidence of 95 %.
func z(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }
