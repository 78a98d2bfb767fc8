package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"tare/report"
)

// columns are the columns of CSV; docs/exports.md explains each. tare import csv
// reads the table back by these names.
var columns = []string{
	"run", "directory", "cell", "workload", "levels", "arm", "role", "round", "attempt", "position", "session",
	"start", "wall_seconds", "metric", "unit", "better", "scale", "headline", "value", "valid", "invalid_rules",
	"paired", "observational",
}

// CSV writes the rows of a run as RFC 4180 has it, but for lines that end in a
// line feed alone. Numbers have full precision; what is not known is empty.
// Fields that a spreadsheet would take for a formula are quoted with an
// apostrophe.
func CSV(w io.Writer, r Run) error {
	out := csv.NewWriter(w)
	err := out.Write(columns)
	for row := range Rows(r) {
		if err != nil {
			break
		}
		err = out.Write(record(row))
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

func record(r Row) []string {
	start, wall, value := "", "", ""
	if !r.Start.IsZero() {
		start = r.Start.UTC().Format(time.RFC3339Nano)
	}
	if r.Wall > 0 {
		wall = number(r.Wall.Seconds())
	}
	if !math.IsNaN(r.Value) {
		value = number(r.Value)
	}
	return []string{
		report.Field(r.Run), report.Field(r.Directory), report.Field(r.Cell), report.Field(r.Workload), report.Field(r.Levels),
		report.Field(r.Arm), report.Field(string(r.Role)), count(r.Round), count(r.Attempt), count(r.Position), count(r.Session),
		start, wall,
		report.Field(r.Metric.Name), report.Field(r.Metric.Unit), report.Field(string(r.Metric.Better)), report.Field(string(r.Metric.Scale)),
		strconv.FormatBool(r.Metric.Headline), value, strconv.FormatBool(r.Valid), report.Field(r.Rules),
		strconv.FormatBool(r.Paired), report.Field(r.Observational),
	}
}

// number writes a number so that it is read back the same.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// count writes what counts from 1; 0 is not known.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
