package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/report"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

// row is one metric of one trial with its context, so that tables of many runs can be concatenated. The
// tags name the columns, in the order of the fields; docs/exports.md explains each. The command tare
// import csv reads a table back by these names. A nil value is unknown.
type row struct {
	Run           string     `column:"run"`       // name of the experiment
	Directory     string     `column:"directory"` // last element of the run directory's path
	Cell          string     `column:"cell"`
	Workload      string     `column:"workload"` // kind of the workload
	Levels        string     `column:"levels"`   // levels of the cell's, the arm's and a factorial design's factors: "mtu=1500;rules=8;wireguard=on"
	Arm           string     `column:"arm"`
	Role          string     `column:"role"`
	Round         int32      `column:"round"`
	Attempt       int32      `column:"attempt"`
	Position      *int32     `column:"position"`
	Session       int32      `column:"session"`
	Start         *time.Time `column:"start"` // UTC
	WallSeconds   *float64   `column:"wall_seconds"`
	Metric        string     `column:"metric"`
	Unit          string     `column:"unit"`
	Better        string     `column:"better"`
	Scale         string     `column:"scale"`
	Headline      bool       `column:"headline"`
	Value         *float64   `column:"value"` // nil: an invalid trial without a value
	Valid         bool       `column:"valid"`
	Rules         string     `column:"invalid_rules"` // rules that an invalid trial broke, each once: "errors;foreign-cpu"
	Paired        bool       `column:"paired"`        // trials of a round form pairs; else arms are independent samples
	Observational string     `column:"observational"` // reason why the run is no experiment; "": it is one
}

// rows returns the rows of a run, with trials in the order of the journal and metrics in the order of the
// plan. An invalid trial has a row for every metric of its cell, also without a value. A valid trial has no
// row for an optional metric without a value. Trials of cells or arms that the plan lacks have no rows.
func rows(run Run) iter.Seq[row] {
	r := run.Record
	return func(yield func(row) bool) {
		for i := range r.Trials {
			t := &r.Trials[i]
			cell, arm := r.Plan.Cell(t.Cell), r.Plan.Arm(t.Arm)
			if cell == nil || arm == nil {
				continue
			}
			row := row{
				Run: r.Plan.Name, Directory: directory(r.Dir), Cell: t.Cell, Workload: cell.Kind, Levels: levels(r.Plan, cell, arm),
				Arm: t.Arm, Role: string(arm.Role), Round: int32(t.Round), Attempt: int32(t.Attempt),
				Session:  int32(t.Session),
				Position: known(int32(max(0, t.Position))), Start: known(t.Start.UTC()),
				WallSeconds: known(max(0, t.Wall.Seconds())),
				Valid:       t.Valid(), Rules: rules(t), Paired: r.Plan.Paired(),
				Observational: wording.Observation(run.Analysis.Observation),
			}
			for _, m := range cell.Metrics {
				value, measured := t.Values[m.Name]
				if !measured && row.Valid {
					continue
				}
				row.Metric, row.Unit, row.Better, row.Scale, row.Headline = m.Name, m.Unit, string(m.Better),
					string(m.Scale), m.Headline
				row.Value = nil
				if measured && !math.IsNaN(value) {
					row.Value = &value
				}
				if !yield(row) {
					return
				}
			}
		}
	}
}

// known returns a pointer to v, or nil for a zero.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// directory returns the last element of a run directory's path.
func directory(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole // resolves ".", which has no name
	}
	return filepath.Base(dir)
}

func levels(p *experiment.Plan, c *experiment.Cell, a *experiment.PlannedArm) string {
	var all []string
	for _, l := range slices.Concat(c.Levels, a.Levels) {
		all = append(all, l.String())
	}
	if a.Role != experiment.Treatment || a.Factors != nil { // the arm belongs to a factorial design
		for _, f := range p.Factorial {
			setting := "off"
			if slices.Contains(a.Factors, f) {
				setting = "on"
			}
			all = append(all, f+"="+setting)
		}
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

var columns = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[row]()) {
		names = append(names, f.Tag.Get("column"))
	}
	return names
}()

// CSV writes the rows of a run according to RFC 4180, except that lines end in a line feed alone. Numbers
// have full precision. Unknown values are empty, and so is the number 0 in columns that count from 1.
// Fields that a spreadsheet would take for a formula start with an apostrophe.
func CSV(w io.Writer, r Run) error {
	out := csv.NewWriter(w)
	_ = out.Write(columns) // out.Error returns this error, too
	line := make([]string, len(columns))
	for row := range rows(r) {
		fields := reflect.ValueOf(row)
		for i := range line {
			line[i] = field(fields.Field(i).Interface())
		}
		if out.Write(line) != nil {
			break
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

func field(v any) string {
	switch v := v.(type) {
	case string:
		return report.Field(v)
	case bool:
		return strconv.FormatBool(v)
	case int32:
		return field(known(v))
	case *int32:
		if v != nil {
			return strconv.Itoa(int(*v))
		}
	case *float64:
		if v != nil {
			return number(*v)
		}
	case *time.Time:
		if v != nil {
			return v.Format(time.RFC3339Nano)
		}
	}
	return ""
}

// number writes a number with all digits needed to read back the same value.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
