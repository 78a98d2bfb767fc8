package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/analysis"
	"tare/wording"
)

// csvColumns are the columns of CSV. Overheads, intervals, detectable effects and
// noise floors are shares of the baseline on the scale "ratio", and in the
// metric's unit on the scale "difference"; a plus is a cost.
var csvColumns = []string{
	"cell", "metric", "unit", "better", "scale", "headline", "arm", "role", "verdict", "rounds",
	"overhead", "overhead_lo", "overhead_hi", "method", "t", "t_lo", "t_hi", "p", "p_holm", "p_equivalence",
	"mde", "rounds_needed", "noise_floor", "baseline_median", "arm_median", "lag1", "order_p", "text",
}

// CSV writes one line for each comparison, the control's included, in the order
// of the plan. Numbers have full precision. Fields that a spreadsheet would take
// for a formula are quoted with an apostrophe.
func CSV(w io.Writer, r *analysis.Run) error {
	s := arrange(r)
	lines := [][]string{csvColumns}
	for _, g := range append(s.groups(true), s.groups(false)...) {
		for _, c := range g.lines() {
			lines = append(lines, s.record(c))
		}
	}
	return writeCSV(w, lines)
}

// writeCSV writes lines whose texts are made safe.
func writeCSV(w io.Writer, lines [][]string) error {
	out := csv.NewWriter(w)
	for _, line := range lines {
		safe := slices.Clone(line)
		for i, field := range safe {
			if _, err := strconv.ParseFloat(field, 64); err != nil {
				safe[i] = Field(field)
			}
		}
		_ = out.Write(safe) // Error tells
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// record is a comparison's line. An invalid one has no numbers.
func (s *sheet) record(c analysis.Comparison) []string {
	m := c.Metric
	numbers := []float64{c.P, c.PAdjusted, c.PEquiv, c.MDE, float64(c.Needed), c.Floor, c.Baseline.Median, c.Treated.Median, c.Lag1, c.OrderP}
	estimates := []float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi}
	second := []float64{c.T.Point, c.T.Lo, c.T.Hi}
	rec := []string{c.Cell, m.Name, m.Unit, string(m.Better), string(m.Scale), strconv.FormatBool(m.Headline), c.Arm,
		string(s.role(c.Arm)), string(c.Verdict), strconv.Itoa(c.Rounds)}
	ok := wording.Judged(c)
	if c.PointOnly {
		estimates[1], estimates[2] = math.NaN(), math.NaN() // leaves the fields empty
	}
	if c.T.Lo == c.T.Hi {
		second[1], second[2] = math.NaN(), math.NaN()
	}
	rec = append(rec, exact(estimates, ok)...)
	rec = append(rec, c.Method)
	rec = append(rec, exact(second, ok)...)
	rec = append(rec, exact(numbers, ok)...)
	return append(rec, wording.Sentence(&c))
}

// exact writes numbers so that they are read back the same; nothing where there
// is none.
func exact(values []float64, ok bool) []string {
	out := make([]string, len(values))
	for i, v := range values {
		if ok && wording.Finite(v) {
			out[i] = strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return out
}

// Field is any text as a field of a table that a spreadsheet may open.
func Field(s string) string { return unformula(plain(s)) }

// unformula keeps a spreadsheet from running a text.
func unformula(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// JSON writes the analysis itself, indented, in the schema that it names.
func JSON(w io.Writer, r *analysis.Run) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(wording.AnalysisOf(r)); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
