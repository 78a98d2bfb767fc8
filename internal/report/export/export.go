// Package export writes a run in the formats of other programs. Trials become CSV for spreadsheets, notebooks and
// databases, or Go benchmark results for benchstat. Estimates become OpenMetrics for Prometheus, and the analysis
// becomes JSON. The formats bundle and head are archives of the run itself, for publication.
//
// An exporter decides nothing. Package analysis decides which trials count, what an arm costs and how certain this is.
// A format of trials holds valid and invalid trials, or its description states which trials it leaves out. Estimates
// are exported only with their intervals and verdicts.
package export

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/lists"
	"tare/internal/report"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

// Run is a recorded run with its analysis.
type Run struct {
	Record   *journal.Run
	Analysis *analysis.Run
}

// Format is a form in which `tare export` writes a run.
type Format struct {
	Name   string // name on the command line
	Doc    string // content of the format, in a sentence without a full stop
	Binary string // default file name of a binary format; "": the format is text
	Write  func(w io.Writer, r Run) error
}

// Formats lists all formats in the order of the help text.
var Formats = []Format{
	{Name: "csv", Doc: "one line for each trial and metric", Write: CSV},
	{Name: "gobench", Doc: "valid trials as Go benchmark results, for benchstat", Write: goBench},
	{Name: "openmetrics", Doc: "verdicts, overheads and medians, for Prometheus", Write: openMetrics},
	{Name: "json", Doc: "the whole analysis", Write: func(w io.Writer, r Run) error { return report.JSON(w, r.Analysis) }},
	{Name: "bundle", Doc: "the run itself as one archive to publish (tar.gz): the files that tare verify checks, and no others", Binary: "run.tar.gz", Write: bundle},
	{Name: "head", Doc: "the bundle without raw output, whose digests stay in the record: small enough for a repository", Binary: "run.tar.gz", Write: head},
}

// directory returns the name of a run directory, without the path that leads to it.
func directory(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole // a path such as "." becomes absolute, since "." is no name
	}
	return filepath.Base(dir)
}

func levels(p *experiment.Plan, c *experiment.Cell, a *experiment.PlannedArm) string {
	all := lists.Map(slices.Concat(c.Levels, a.Levels), factor.Level.String)
	if a.Role != experiment.Treatment || a.Factors != nil { // in a factorial design, each factor of the arm is on or off
		for _, f := range p.Factorial {
			setting := cmp.Or(wording.When(slices.Contains(a.Factors, f), "on"), "off")
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

// columns names the columns of the table of trials, which docs/exports.md explains. The command tare import csv
// reads the table back by these names.
var columns = []string{"run", "directory", "cell", "workload", "levels", "arm", "role", "round", "attempt", "position", "session",
	"start", "wall_seconds", "metric", "unit", "better", "scale", "headline", "value", "valid", "invalid_rules", "paired", "observational"}

// CSV writes a line for each metric of each trial, by RFC 4180 with line feeds as line ends. Trials are in the order of
// the journal, metrics in that of the plan. An invalid trial has a line for every metric of its cell, a valid trial
// only for metrics with a value. Trials of cells or arms that the plan lacks are left out. Unknown values are empty,
// and 0 is empty in columns that count from 1, such as round. Numbers have full precision. Fields that look like
// formulas start with an apostrophe.
func CSV(w io.Writer, run Run) error {
	r, out, line := run.Record, csv.NewWriter(w), make([]string, len(columns))
	_ = out.Write(columns) // a failed Write is noticed later: out.Error returns its error
	for i := range r.Trials {
		t := &r.Trials[i]
		cell, arm := r.Plan.Cell(t.Cell), r.Plan.Arm(t.Arm)
		if cell == nil || arm == nil {
			continue
		}
		trial := []any{r.Plan.Name, directory(r.Dir), t.Cell, cell.Kind, levels(r.Plan, cell, arm), t.Arm, string(arm.Role),
			t.Round, t.Attempt, max(0, t.Position), t.Session, t.Start.UTC(), math.NaN()}
		if t.Wall > 0 {
			trial[len(trial)-1] = t.Wall.Seconds()
		}
		end := []any{t.Valid(), rules(t), r.Plan.Paired(), wording.Observation(run.Analysis.Observation)}
		for _, m := range cell.Metrics {
			value, measured := t.Values[m.Name]
			switch {
			case !measured && t.Valid():
				continue
			case !measured:
				value = math.NaN()
			}
			for k, v := range slices.Concat(trial, []any{m.Name, m.Unit, string(m.Better), string(m.Scale), m.Headline, value}, end) {
				line[k] = field(v)
			}
			if err := out.Write(line); err != nil {
				return fmt.Errorf("write csv: %w", err)
			}
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
	case int:
		return wording.When(v != 0, strconv.Itoa(v))
	case float64:
		return wording.When(!math.IsNaN(v), number(v))
	case time.Time:
		return wording.When(!v.IsZero(), v.Format(time.RFC3339Nano))
	}
	return ""
}

// number writes a number with all digits needed to read back the same value.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// sumsFile lists the digests of all other files of a bundle, in the format of sha256sum.
const sumsFile = "SHA256SUMS"

// bundle writes a run as one archive to publish (tar.gz): exactly the files that the run's chain covers.
func bundle(w io.Writer, r Run) error {
	run, contents, err := journal.Contents(r.Record.Dir)
	if err != nil {
		return err
	}
	hasRaw := func(t journal.Trial) bool { return t.Raw != "" }
	if slices.ContainsFunc(run.Trials, hasRaw) && !slices.ContainsFunc(contents, isRaw) {
		return fmt.Errorf("run %s has no raw output: it is a head, which --as head writes", run.Dir)
	}
	return archive(w, run, contents)
}

// head writes the record of a run as an archive: a bundle without raw output. The run itself must be whole.
func head(w io.Writer, r Run) error {
	run, contents, err := journal.Contents(r.Record.Dir)
	if err != nil {
		return err
	}
	return archive(w, run, slices.DeleteFunc(contents, isRaw))
}

func isRaw(c journal.Content) bool { return strings.HasPrefix(c.Name, journal.RawDir+"/") }

// archive writes files of a run (tar.gz). Archives of the same files are identical; unpacked, they are run directories.
func archive(w io.Writer, run *journal.Run, contents []journal.Content) error {
	began := time.Unix(0, 0)
	if len(run.Sessions) > 0 {
		began = run.Sessions[0].Start
	}
	began = began.UTC().Truncate(time.Second)
	top := journal.DefaultDir("", run.Plan.Name, began) + "/"

	zip := gzip.NewWriter(w) // the header has no file name and no time, so that archives of one run are identical
	out := tar.NewWriter(zip)
	add := func(name string, size int64, write func(io.Writer) error) error {
		// All files have equal times, owners and modes, so that archives of one run are identical.
		header := &tar.Header{Name: top + name, Size: size, Mode: 0o644, ModTime: began, Format: tar.FormatPAX}
		if strings.HasSuffix(header.Name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, 0o700
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		return write(out)
	}
	if err := add("", 0, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	var sums strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&sums, "%s  %s\n", c.SHA256, c.Name)
	}
	text := sums.String()
	err := add(sumsFile, int64(len(text)), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range contents {
		if err := add(c.Name, c.Size, func(w io.Writer) error { return c.Copy(w, run.Dir) }); err != nil {
			return err
		}
	}
	return cmp.Or(out.Close(), zip.Close())
}
