package report

import (
	"io"
	"strconv"

	"tare/gate"
	"tare/wording"
)

// gateColumns are the columns of GateCSV. Limits and overheads are shares of the
// baseline on the scale "ratio", and in the metric's unit on "difference".
var gateColumns = []string{
	"cell", "arm", "metric", "unit", "budget", "scale", "limit", "outcome", "reason", "overhead", "overhead_lo", "overhead_hi",
	"method", "size", "p", "p_holm", "rounds_needed", "history", "history_runs", "observational", "text",
}

// GateCSV writes one line for each case. Fields that a spreadsheet would take for
// a formula are quoted with an apostrophe.
func GateCSV(w io.Writer, r *gate.Result) error {
	lines := [][]string{gateColumns}
	for _, c := range r.Cases {
		lines = append(lines, gateRecord(r, c))
	}
	return writeCSV(w, lines)
}

// gateRecord is the line of a case.
func gateRecord(r *gate.Result, c gate.Case) []string {
	rec := []string{c.Cell, c.Arm, c.Metric.Name, c.Metric.Unit, c.Budget.String(), string(c.Limit.Scale)}
	rec = append(rec, exact([]float64{c.Limit.Value}, true)...)
	rec = append(rec, string(c.Outcome), wording.GateReason(c.Reason))
	rec = append(rec, exact([]float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi}, c.Estimated)...)
	rec = append(rec, c.Method, strconv.Itoa(c.Size))
	rec = append(rec, exact([]float64{c.P, c.PAdjusted, float64(c.Needed)}, true)...)
	part, runs := "", ""
	if c.History != nil {
		part, runs = c.History.Part, strconv.Itoa(c.History.Runs)
	}
	rec = append(rec, part, runs, wording.Observation(r.Observation), wording.GateSentence(r, c))
	return rec
}
