package export

import (
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/journal"
	"tare/wording"
)

// Row is one metric of one trial, with all that is needed to understand it, so
// that tables of many runs can be put one below the other.
type Row struct {
	Run       string // name of the experiment
	Directory string // last element of the run directory's path
	Cell      string
	Workload  string // kind
	Levels    string // of the cell's and the arm's factors: "mtu=1500;rules=8"
	Arm       string
	Role      experiment.Role
	Round     int
	Attempt   int
	Position  int // 0: not known
	Session   int
	Start     time.Time     // zero: not told
	Wall      time.Duration // 0: not told
	Metric    experiment.Metric
	Value     float64 // NaN: an invalid trial that has none
	Valid     bool
	Rules     string // that an invalid trial broke, each once: "errors;foreign-cpu"
	// Paired says that trials of the same round belong together; otherwise rounds
	// only number independent samples.
	Paired bool
	// Observational says why nothing that is concluded from the run is as strong as
	// from an experiment; empty: it is one.
	Observational string
}

// Rows gives the rows of a run, trials in the order of the journal and metrics in
// that of the plan. An invalid trial has a row for every metric of its cell, with
// the values that it has; a valid one has none for an optional metric that it
// lacks. Trials of cells or arms that are not in the plan have no rows.
func Rows(run Run) iter.Seq[Row] {
	r := run.Record
	cells, arms := map[string]experiment.Cell{}, map[string]experiment.PlannedArm{}
	for _, c := range r.Plan.Cells {
		cells[c.ID] = c
	}
	for _, a := range r.Plan.Arms {
		arms[a.Name] = a
	}
	return func(yield func(Row) bool) {
		for i := range r.Trials {
			t := &r.Trials[i]
			cell, known := cells[t.Cell]
			arm, alsoKnown := arms[t.Arm]
			if !known || !alsoKnown {
				continue
			}
			row := Row{
				Run: r.Plan.Name, Directory: directory(r.Dir), Cell: t.Cell, Workload: cell.Kind, Levels: levels(cell, arm),
				Arm: t.Arm, Role: arm.Role, Round: t.Round, Attempt: t.Attempt, Position: t.Position, Session: t.Session,
				Start: t.Start, Wall: t.Wall, Valid: t.Valid(), Rules: rules(t),
				Paired: r.Plan.Paired(), Observational: wording.Observation(run.Analysis.Observation),
			}
			for _, m := range cell.Metrics {
				value, known := t.Values[m.Name]
				if !known {
					if row.Valid {
						continue
					}
					value = math.NaN()
				}
				row.Metric, row.Value = m, value
				if !yield(row) {
					return
				}
			}
		}
	}
}

// directory names a run by the last element of its path.
func directory(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole // "." has no name
	}
	return filepath.Base(dir)
}

func levels(c experiment.Cell, a experiment.PlannedArm) string {
	var all []string
	for _, l := range slices.Concat(c.Levels, a.Levels) {
		all = append(all, l.String())
	}
	return strings.Join(all, ";")
}

func rules(t *journal.Trial) string {
	var all []string
	for _, v := range t.Invalid {
		if !slices.Contains(all, v.Rule) {
			all = append(all, v.Rule)
		}
	}
	return strings.Join(all, ";")
}
