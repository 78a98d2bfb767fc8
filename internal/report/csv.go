package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/lists"
	"tare/internal/report/wording"
	"tare/internal/runs/combine"
	comparing "tare/internal/runs/compare"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
	"tare/internal/runs/published"
)

// field is one field of a CSV line. Its value is a text, a number or a truth value. Nil and numbers that are not finite
// become empty fields.
type field struct {
	column string
	value  any
}

// writeCSV writes the names of the columns, and then the lines. Numbers have full precision. A text that looks like a
// formula to a spreadsheet gets an apostrophe.
func writeCSV(w io.Writer, columns []field, lines [][]field) error {
	out := csv.NewWriter(w)
	record := lists.Map(columns, func(f field) string { return f.column })
	_ = out.Write(record) // out.Error returns the error of a failed Write
	for _, line := range lines {
		for i, f := range line {
			record[i] = f.text()
		}
		_ = out.Write(record)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// text returns the value as text. A number has all digits that are needed to read back an equal number.
func (f field) text() string {
	switch v := f.value.(type) {
	case nil:
		return ""
	case float64:
		if !wording.Finite(v) {
			return ""
		}
		return exact(v)
	}
	text := fmt.Sprint(f.value)
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return Field(text)
}

func replaced(line []field, values map[string]any) []field {
	for i := range line {
		if v, other := values[line[i].column]; other {
			line[i].value = v
		}
	}
	return line
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Field makes a text safe for a CSV file. A spreadsheet then takes the text for no formula.
func Field(s string) string {
	s = plain(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

func valueIf(ok bool, value any) any {
	if !ok {
		return nil
	}
	return value
}

// CSV writes a line for each comparison and control, in the order of the plan. It adds lines for the effects of a
// factorial design (role "main effect" or "interaction") and for the parts of a breakdown ("installed", "any" or
// "each"). Values on the scale "ratio" are shares of the baseline, values on the scale "difference" have the metric's
// unit. Positive values are costs.
func CSV(w io.Writer, r *analysis.Run) error {
	s := arrange(r)
	var lines [][]field
	for _, g := range append(s.groups(true), s.groups(false)...) {
		lines = append(lines, lists.Map(g.lines(), s.fields)...)
	}
	if f := r.Factorial; f != nil {
		for _, e := range pointers(f.Effects) {
			lines = append(lines, replaced(s.fields(e.Comparison), map[string]any{"arm": wording.EffectName(e), "baseline_median": nil,
				"role": cmp.Or(when(e.Interaction(), "interaction"), "main effect"), "arm_median": nil, "text": wording.EffectSentence(e)}))
		}
	}
	for _, b := range pointers(r.Breakdowns) {
		for _, p := range pointers(b.Parts) {
			lines = append(lines, replaced(s.fields(p.Comparison), map[string]any{"arm": wording.BreakdownName(b), "role": p.Part,
				"levels": join(";", s.levels(b.Cell), plain(b.Factor)), "text": wording.PartSentence(b, p),
				"baseline_median": nil, "arm_median": nil}))
		}
	}
	return writeCSV(w, s.fields(analysis.Comparison{}), lines)
}

// fields returns the CSV line of a comparison. The numbers of an invalid comparison are empty.
func (s *sheet) fields(c analysis.Comparison) []field {
	m, ok := c.Metric, wording.HasNumbers(c)
	bounded, second := ok && !c.PointOnly, ok && c.T.Lo != c.T.Hi
	average, mean := analysis.Interval{}, ok && c.Mean != nil
	if mean {
		average = *c.Mean
	}
	return []field{{"cell", c.Cell}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better}, {"scale", m.Scale},
		{"headline", m.Headline}, {"arm", c.Arm}, {"role", s.role(c.Arm)}, {"verdict", c.Verdict}, {"grade", c.Grade}, {"rounds", c.Rounds},
		{"overhead_cost", valueIf(ok, c.Overhead.Point)}, {"overhead_cost_lo", valueIf(bounded, c.Overhead.Lo)},
		{"overhead_cost_hi", valueIf(bounded, c.Overhead.Hi)}, {"mean_cost", valueIf(mean, average.Point)}, {"mean_cost_lo", valueIf(mean, average.Lo)}, {"mean_cost_hi", valueIf(mean, average.Hi)},
		{"method", c.Method}, {"t_cost", valueIf(ok, c.T.Point)},
		{"t_cost_lo", valueIf(second, c.T.Lo)}, {"t_cost_hi", valueIf(second, c.T.Hi)}, {"p", valueIf(ok, c.P)},
		{"p_holm", valueIf(ok, c.PAdjusted)},
		{"p_equivalence", valueIf(ok, c.PEquiv)}, {"mde", valueIf(ok, c.MDE)}, {"rounds_needed", valueIf(ok, float64(c.Needed))},
		{"noise_floor", valueIf(ok, c.Floor)}, {"baseline_median", valueIf(ok, c.Baseline.Median)},
		{"arm_median", valueIf(ok, c.Treated.Median)}, {"lag1", valueIf(ok, c.Lag1)}, {"order_p", valueIf(ok, c.OrderP)},
		{"levels", s.levels(c.Cell)}, {"text", wording.Sentence(&c)}}
}

// CompareCSV writes lines of three kinds. "change" compares the overhead of arm in run with that of against_arm in
// against_run. "floor" compares two controls' overheads, "level" two arms' values.
func CompareCSV(w io.Writer, r *comparing.Result) error {
	var lines [][]field
	changes := func(kind string, list []comparing.Change) {
		lines = append(lines, lists.Map(list, func(c comparing.Change) []field { return comparedFields(kind, c.Comparison, c.To, c.From, nil) })...)
	}
	changes("change", r.Changes)
	changes("floor", r.Floors)
	for _, l := range r.Levels {
		c, against := analysis.Comparison{Cell: l.Cell, Metric: l.Metric}, comparing.Overhead{}
		if l.Against != nil {
			c, against.Run, against.Arm = *l.Against, r.Reference.Run, r.Reference.Arm
		}
		of := comparing.Overhead{Run: l.Run, Arm: l.Arm}
		lines = append(lines, comparedFields("level", c, of, against, valueIf(l.Values.N > 0, l.Values.Median)))
	}
	none := comparing.Overhead{}
	return writeCSV(w, comparedFields("", analysis.Comparison{}, none, none, nil), lines)
}

func comparedFields(kind string, c analysis.Comparison, of, against comparing.Overhead, median any) []field {
	m, compared := c.Metric, against.Run > 0
	ok := compared && wording.HasNumbers(c)
	bounded := ok && !c.PointOnly
	return []field{{"kind", kind}, {"cell", c.Cell}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better},
		{"scale", m.Scale}, {"headline", m.Headline}, {"run", of.Run}, {"arm", of.Arm},
		{"against_run", valueIf(compared, against.Run)}, {"against_arm", against.Arm}, {"verdict", c.Verdict}, {"grade", c.Grade}, {"n", c.Rounds},
		{"overhead_cost", valueIf(ok, c.Overhead.Point)}, {"overhead_cost_lo", valueIf(bounded, c.Overhead.Lo)},
		{"overhead_cost_hi", valueIf(bounded, c.Overhead.Hi)}, {"method", c.Method}, {"p", valueIf(ok, c.P)},
		{"p_holm", valueIf(ok, c.PAdjusted)}, {"p_equivalence", valueIf(ok, c.PEquiv)}, {"mde", valueIf(ok, c.MDE)},
		{"from_overhead_cost", valueIf(against.Known, against.Overhead.Point)}, {"to_overhead_cost", valueIf(of.Known, of.Overhead.Point)},
		{"median", median}, {"text", valueIf(compared, wording.Sentence(&c))}}
}

// CombineCSV writes a line for each comparison over occasions, and a line for each run in the comparison.
func CombineCSV(w io.Writer, r *combine.Result) error {
	var lines [][]field
	for i, c := range slices.Concat(r.Comparisons, r.Controls) {
		kind := cmp.Or(when(i >= len(r.Comparisons), "floor"), "mean")
		lines = append(lines, combinedFields(kind, &c, nil))
		for k := range c.Occasions {
			lines = append(lines, combinedFields("run", &c, &c.Occasions[k]))
		}
	}
	return writeCSV(w, combinedFields("", &combine.Comparison{}, nil), lines)
}

// combinedFields returns a CSV line of a comparison over occasions: the result of the occasion o. With o = nil, the
// result is over all occasions.
func combinedFields(kind string, c *combine.Comparison, o *combine.Occasion) []field {
	m, mean := c.Metric, o == nil
	ok, one := mean && wording.HasNumbers(c.Comparison), combine.Occasion{}
	overhead, bounded, n, text, leftOut := c.Overhead, ok && !c.PointOnly, c.Rounds, wording.Combined(c), ""
	if !mean {
		one = *o
		overhead, ok, bounded, n, text, leftOut = one.Overhead, one.Rounds > 0, one.Weight > 0, one.Rounds, "", wording.Reason(one.LeftOut)
	}
	pooled := mean && bounded
	return []field{{"kind", kind}, {"cell", c.Cell}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better},
		{"scale", m.Scale}, {"headline", m.Headline}, {"arm", c.Arm}, {"run", valueIf(!mean, one.Run)}, {"verdict", valueIf(mean, c.Verdict)}, {"n", n},
		{"overhead_cost", valueIf(ok, overhead.Point)}, {"overhead_cost_lo", valueIf(bounded, overhead.Lo)}, {"overhead_cost_hi", valueIf(bounded, overhead.Hi)},
		{"weight", valueIf(!mean, one.Weight)}, {"left_out", leftOut}, {"p", valueIf(pooled, c.P)}, {"p_holm", valueIf(pooled, c.PAdjusted)},
		{"p_equivalence", valueIf(pooled, c.PEquiv)}, {"spread", valueIf(pooled, c.Spread.Point)}, {"spread_lo", valueIf(pooled, c.Spread.Lo)},
		{"spread_hi", valueIf(pooled, c.Spread.Hi)}, {"p_spread", valueIf(pooled, c.PSpread)}, {"next_cost_lo", valueIf(pooled, c.Prediction.Lo)},
		{"next_cost_hi", valueIf(pooled, c.Prediction.Hi)}, {"mde", valueIf(pooled, c.MDE)}, {"text", text}}
}

// HistoryCSV writes a line for each run of each series. Overheads on the scale "ratio" are shares of the baseline. All
// other values have the metric's unit.
func HistoryCSV(w io.Writer, h *history.History) error {
	var lines [][]field
	for _, p := range h.Experiments {
		for _, s := range pointers(p.Series) {
			lines = append(lines, lists.Map(s.Points, func(at history.Point) []field { return historyFields(p.Name, p.Runs[at.Run], s, at) })...)
		}
	}
	return writeCSV(w, historyFields("", &history.Run{}, &history.Series{}, history.Point{}), lines)
}

func historyFields(name string, r *history.Run, s *history.Series, at history.Point) []field {
	m, known, value, change := s.Metric, at.Value != nil, analysis.Interval{}, ""
	if known {
		value = *at.Value
	}
	for _, c := range s.Shifts {
		if c.Run == at.Run && c.Stretch == at.Stretch {
			change = c.Direction
		}
	}
	return []field{{"experiment", name}, {"run", r.Directory},
		{"start", valueIf(!r.Start.IsZero(), r.Start.UTC().Format(time.RFC3339))}, {"tare_version", r.TareVersion},
		{"cell", s.Cell}, {"arm", s.Arm}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better}, {"scale", m.Scale},
		{"headline", m.Headline}, {"of", s.Of + when(s.Of == history.OfOverhead, "_cost")}, {"value", valueIf(known, value.Point)}, {"value_lo", valueIf(known, value.Lo)},
		{"value_hi", valueIf(known, value.Hi)}, {"stretch", valueIf(at.Stretch >= 0, at.Stretch+1)}, {"change", change},
		{"left_out", wording.Reason(at.LeftOut)}, {"labels", wording.Labels(r.Labels)}}
}

// GateCSV writes a line for each overhead with a limit. Both numbers are shares of the baseline (scale "ratio") or in
// the metric's unit (scale "difference").
func GateCSV(w io.Writer, r *gate.Result) error {
	return writeCSV(w, gateFields(r, gate.Case{}), lists.Map(r.Cases, func(c gate.Case) []field { return gateFields(r, c) }))
}

func gateFields(r *gate.Result, c gate.Case) []field {
	var past gate.Stretch
	if c.History != nil {
		past = *c.History
	}
	return []field{{"cell", c.Cell}, {"arm", c.Arm}, {"metric", c.Metric.Name}, {"unit", c.Metric.Unit},
		{"budget", c.Budget.String()}, {"scale", c.Limit.Scale}, {"limit", c.Limit.Value}, {"outcome", c.Outcome}, {"grade", c.Grade},
		{"reason", wording.GateReason(c.Reason)}, {"overhead_cost", valueIf(c.Estimated, c.Overhead.Point)},
		{"overhead_cost_lo", valueIf(c.Estimated, c.Overhead.Lo)}, {"overhead_cost_hi", valueIf(c.Estimated, c.Overhead.Hi)},
		{"method", c.Method}, {"size", c.Size}, {"p", c.P}, {"p_holm", c.PAdjusted}, {"rounds_needed", float64(c.Needed)},
		{"history", past.Part}, {"history_runs", valueIf(c.History != nil, past.Runs)},
		{"observational", wording.Observation(r.Observation)}, {"text", wording.GateSentence(r, c)}}
}

// PublishedCSV writes a line for each mean (kind "mean", the arm in column a) and for each difference of two means
// (kind "difference": b − a in percent of a and of b).
func PublishedCSV(w io.Writer, t *published.Table) error {
	var lines [][]field
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			for _, a := range m.Arms {
				lines = append(lines, publishedFields(t, c.ID, m, "mean", a, published.Difference{A: a.Arm}))
			}
			for _, d := range m.Differences {
				lines = append(lines, publishedFields(t, c.ID, m, "difference", published.Moments{}, d))
			}
		}
	}
	return writeCSV(w, publishedFields(t, "", published.Metric{}, "", published.Moments{}, published.Difference{}), lines)
}

func publishedFields(t *published.Table, cell string, m published.Metric, kind string, of published.Moments,
	d published.Difference) []field {
	var said analysis.Comparison
	if d.Verdict != nil {
		said = *d.Verdict
	}
	mean := kind == "mean"
	return []field{{"cell", cell}, {"metric", m.Metric.Name}, {"unit", m.Metric.Unit}, {"kind", kind}, {"a", d.A},
		{"b", d.B}, {"n", valueIf(mean, of.N)}, {"invalid", valueIf(mean, of.Invalid)}, {"mean", valueIf(of.N > 0, of.Mean)},
		{"variance", valueIf(of.N > 0, of.Variance)}, {"b_more_percent_of_a", percent(d.RelativeToA)},
		{"b_more_percent_of_b", percent(d.RelativeToB)}, {"verdict", said.Verdict},
		{"text", valueIf(d.Verdict != nil, wording.Sentence(&said))}, {"headline", m.Metric.Headline},
		{"observational", t.Observation != nil}}
}

func percent(share *float64) any {
	if share == nil {
		return nil
	}
	return *share * 100
}

// JSON writes the analysis as indented JSON.
func JSON(w io.Writer, r *analysis.Run) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(wording.JSON(r)); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
