package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/analysis"
	"tare/combine"
	comparing "tare/compare"
	"tare/gate"
	"tare/history"
	"tare/published"
	"tare/wording"
)

// field is one field of a line for programs: the name of its column, and a text, a
// number or a truth value. A nil is empty, and so is a number that there is none.
type field struct {
	column string
	value  any
}

// writeCSV writes lines with the columns of the first, which stands for none if
// it is empty. Numbers have full precision. Texts are made safe; those that a
// spreadsheet would take for a formula are quoted with an apostrophe.
func writeCSV(w io.Writer, columns []field, lines [][]field) error {
	out := csv.NewWriter(w)
	record := make([]string, len(columns))
	for i, f := range columns {
		record[i] = f.column
	}
	_ = out.Write(record) // Error tells
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

// text writes a number so that it is read back the same.
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

// instead is a line in which some columns have other values.
func instead(line []field, values map[string]any) []field {
	for i := range line {
		if v, other := values[line[i].column]; other {
			line[i].value = v
		}
	}
	return line
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Field is any text as a field of a table that a spreadsheet may open.
func Field(s string) string {
	s = plain(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// only is a value where there is one.
func only(ok bool, value any) any {
	if !ok {
		return nil
	}
	return value
}

// CSV writes one line for each comparison, the control's included, in the order
// of the plan, then for each effect of a factorial design, with "main effect" or
// "interaction" for a role, and then for each part of a cost by a factor that counts something,
// with "installed", "any" or "each". Overheads, intervals, detectable effects and noise floors are
// shares of the baseline on the scale "ratio", and in the metric's unit on the
// scale "difference". A plus is a cost, as the names of their columns say.
func CSV(w io.Writer, r *analysis.Run) error {
	s := arrange(r)
	var lines [][]field
	for _, g := range append(s.groups(true), s.groups(false)...) {
		for _, c := range g.lines() {
			lines = append(lines, s.fields(c))
		}
	}
	if f := r.Factorial; f != nil {
		for _, e := range f.Effects {
			lines = append(lines, s.effectFields(e))
		}
	}
	for i := range r.Breakdowns {
		b := &r.Breakdowns[i]
		for k := range b.Parts {
			lines = append(lines, s.partFields(b, &b.Parts[k]))
		}
	}
	return writeCSV(w, s.fields(analysis.Comparison{}), lines)
}

// fields are a comparison's line. An invalid one has no numbers.
func (s *sheet) fields(c analysis.Comparison) []field {
	m, ok := c.Metric, wording.Judged(c)
	bounded, second := ok && !c.PointOnly, ok && c.T.Lo != c.T.Hi
	average, mean := analysis.Interval{}, ok && c.Mean != nil
	if mean {
		average = *c.Mean
	}
	return []field{{"cell", c.Cell}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better}, {"scale", m.Scale},
		{"headline", m.Headline}, {"arm", c.Arm}, {"role", s.role(c.Arm)}, {"verdict", c.Verdict}, {"grade", c.Grade}, {"rounds", c.Rounds},
		{"overhead_cost", only(ok, c.Overhead.Point)}, {"overhead_cost_lo", only(bounded, c.Overhead.Lo)},
		{"overhead_cost_hi", only(bounded, c.Overhead.Hi)}, {"mean_cost", only(mean, average.Point)}, {"mean_cost_lo", only(mean, average.Lo)}, {"mean_cost_hi", only(mean, average.Hi)},
		{"method", c.Method}, {"t_cost", only(ok, c.T.Point)},
		{"t_cost_lo", only(second, c.T.Lo)}, {"t_cost_hi", only(second, c.T.Hi)}, {"p", only(ok, c.P)},
		{"p_holm", only(ok, c.PAdjusted)},
		{"p_equivalence", only(ok, c.PEquiv)}, {"mde", only(ok, c.MDE)}, {"rounds_needed", only(ok, float64(c.Needed))},
		{"noise_floor", only(ok, c.Floor)}, {"baseline_median", only(ok, c.Baseline.Median)},
		{"arm_median", only(ok, c.Treated.Median)}, {"lag1", only(ok, c.Lag1)}, {"order_p", only(ok, c.OrderP)},
		{"levels", s.levels(c.Cell, ";")}, {"text", wording.Sentence(&c)}}
}

// CompareCSV writes a line for each change, floor and level. One of kind "change"
// or "floor" compares the overhead of an arm in a run with the one named by
// against_run and against_arm; one of kind "level" its values with theirs.
func CompareCSV(w io.Writer, r *comparing.Result) error {
	var lines [][]field
	changes := func(kind string, list []comparing.Change) {
		for _, c := range list {
			lines = append(lines, comparedFields(kind, c.Comparison, c.To, c.From, nil))
		}
	}
	changes("change", r.Changes)
	changes("floor", r.Floors)
	for _, l := range r.Levels {
		c, against := analysis.Comparison{Cell: l.Cell, Metric: l.Metric}, comparing.Overhead{}
		if l.Against != nil {
			c, against.Run, against.Arm = *l.Against, r.Reference.Run, r.Reference.Arm
		}
		of := comparing.Overhead{Run: l.Run, Arm: l.Arm}
		lines = append(lines, comparedFields("level", c, of, against, only(l.Values.N > 0, l.Values.Median)))
	}
	none := comparing.Overhead{}
	return writeCSV(w, comparedFields("", analysis.Comparison{}, none, none, nil), lines)
}

// comparedFields are the line of one comparison of an arm in a run against another.
func comparedFields(kind string, c analysis.Comparison, of, against comparing.Overhead, median any) []field {
	m, compared := c.Metric, against.Run > 0
	ok := compared && wording.Judged(c)
	bounded := ok && !c.PointOnly
	return []field{{"kind", kind}, {"cell", c.Cell}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better},
		{"scale", m.Scale}, {"headline", m.Headline}, {"run", of.Run}, {"arm", of.Arm},
		{"against_run", only(compared, against.Run)}, {"against_arm", against.Arm}, {"verdict", c.Verdict}, {"grade", c.Grade}, {"n", c.Rounds},
		{"overhead_cost", only(ok, c.Overhead.Point)}, {"overhead_cost_lo", only(bounded, c.Overhead.Lo)},
		{"overhead_cost_hi", only(bounded, c.Overhead.Hi)}, {"method", c.Method}, {"p", only(ok, c.P)},
		{"p_holm", only(ok, c.PAdjusted)}, {"p_equivalence", only(ok, c.PEquiv)}, {"mde", only(ok, c.MDE)},
		{"from_overhead_cost", only(against.Known, against.Overhead.Point)}, {"to_overhead_cost", only(of.Known, of.Overhead.Point)},
		{"median", median}, {"text", only(compared, wording.Sentence(&c))}}
}

// CombineCSV writes one line for each comparison over occasions and one for each run
// behind it.
func CombineCSV(w io.Writer, r *combine.Result) error {
	var lines [][]field
	for i, c := range slices.Concat(r.Comparisons, r.Controls) {
		kind := "mean"
		if i >= len(r.Comparisons) {
			kind = "floor"
		}
		lines = append(lines, combinedFields(kind, &c, nil))
		for k := range c.Occasions {
			lines = append(lines, combinedFields("run", &c, &c.Occasions[k]))
		}
	}
	return writeCSV(w, combinedFields("", &combine.Comparison{}, nil), lines)
}

// combinedFields are the line of a comparison over occasions, or of one of them.
func combinedFields(kind string, c *combine.Comparison, o *combine.Occasion) []field {
	m, mean := c.Metric, o == nil
	ok, one := mean && wording.Judged(c.Comparison), combine.Occasion{}
	overhead, bounded, n, text, leftOut := c.Overhead, ok && !c.PointOnly, c.Rounds, wording.Combined(c), ""
	if !mean {
		one = *o
		overhead, ok, bounded, n, text, leftOut = one.Overhead, one.Rounds > 0, one.Weight > 0, one.Rounds, "", wording.Reason(one.LeftOut)
	}
	pooled := mean && bounded
	return []field{{"kind", kind}, {"cell", c.Cell}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better},
		{"scale", m.Scale}, {"headline", m.Headline}, {"arm", c.Arm}, {"run", only(!mean, one.Run)}, {"verdict", only(mean, c.Verdict)}, {"n", n},
		{"overhead_cost", only(ok, overhead.Point)}, {"overhead_cost_lo", only(bounded, overhead.Lo)}, {"overhead_cost_hi", only(bounded, overhead.Hi)},
		{"weight", only(!mean, one.Weight)}, {"left_out", leftOut}, {"p", only(pooled, c.P)}, {"p_holm", only(pooled, c.PAdjusted)},
		{"p_equivalence", only(pooled, c.PEquiv)}, {"spread", only(pooled, c.Spread.Point)}, {"spread_lo", only(pooled, c.Spread.Lo)},
		{"spread_hi", only(pooled, c.Spread.Hi)}, {"p_spread", only(pooled, c.PSpread)}, {"next_cost_lo", only(pooled, c.Prediction.Lo)},
		{"next_cost_hi", only(pooled, c.Prediction.Hi)}, {"mde", only(pooled, c.MDE)}, {"text", text}}
}

// HistoryCSV writes one line for each point of each series. Values are shares on
// the scale "ratio" of an overhead, else in the metric's unit.
func HistoryCSV(w io.Writer, h *history.History) error {
	var lines [][]field
	for _, p := range pasts(h) {
		for _, s := range pointers(p.Series) {
			for _, point := range s.Points {
				lines = append(lines, pastFields(p.Name, p.Runs[point.Run], s, point))
			}
		}
	}
	return writeCSV(w, pastFields("", &history.Run{}, &history.Series{}, history.Point{}), lines)
}

func pastFields(name string, r *history.Run, s *history.Series, at history.Point) []field {
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
		{"start", only(!r.Start.IsZero(), r.Start.UTC().Format(time.RFC3339))}, {"tare_version", r.TareVersion},
		{"cell", s.Cell}, {"arm", s.Arm}, {"metric", m.Name}, {"unit", m.Unit}, {"better", m.Better}, {"scale", m.Scale},
		{"headline", m.Headline}, {"of", s.Of + when(s.Of == history.OfOverhead, "_cost")}, {"value", only(known, value.Point)}, {"value_lo", only(known, value.Lo)},
		{"value_hi", only(known, value.Hi)}, {"stretch", only(at.Stretch >= 0, at.Stretch+1)}, {"change", change},
		{"left_out", wording.Reason(at.LeftOut)}, {"labels", wording.Labels(r.Labels)}}
}

// GateCSV writes one line for each case. Limits and overheads are shares of the
// baseline on the scale "ratio", and in the metric's unit on "difference".
func GateCSV(w io.Writer, r *gate.Result) error {
	var lines [][]field
	for _, c := range r.Cases {
		lines = append(lines, gateFields(r, c))
	}
	return writeCSV(w, gateFields(r, gate.Case{}), lines)
}

func gateFields(r *gate.Result, c gate.Case) []field {
	var past gate.Stretch
	if c.History != nil {
		past = *c.History
	}
	return []field{{"cell", c.Cell}, {"arm", c.Arm}, {"metric", c.Metric.Name}, {"unit", c.Metric.Unit},
		{"budget", c.Budget.String()}, {"scale", c.Limit.Scale}, {"limit", c.Limit.Value}, {"outcome", c.Outcome}, {"grade", c.Grade},
		{"reason", wording.GateReason(c.Reason)}, {"overhead_cost", only(c.Estimated, c.Overhead.Point)},
		{"overhead_cost_lo", only(c.Estimated, c.Overhead.Lo)}, {"overhead_cost_hi", only(c.Estimated, c.Overhead.Hi)},
		{"method", c.Method}, {"size", c.Size}, {"p", c.P}, {"p_holm", c.PAdjusted}, {"rounds_needed", float64(c.Needed)},
		{"history", past.Part}, {"history_runs", only(c.History != nil, past.Runs)},
		{"observational", wording.Observation(r.Observation)}, {"text", wording.GateSentence(r, c)}}
}

// PublishedCSV writes a line for each mean and each difference. One of kind "mean"
// has one arm in a; one of kind "difference" tells of b − a in percent of either
// side.
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

func publishedFields(
	t *published.Table, cell string, m published.Metric, kind string, of published.Moments, d published.Difference,
) []field {
	var said analysis.Comparison
	if d.Said != nil {
		said = *d.Said
	}
	mean := kind == "mean"
	return []field{{"cell", cell}, {"metric", m.Metric.Name}, {"unit", m.Metric.Unit}, {"kind", kind}, {"a", d.A},
		{"b", d.B}, {"n", only(mean, of.N)}, {"invalid", only(mean, of.Invalid)}, {"mean", only(of.N > 0, of.Mean)},
		{"variance", only(of.N > 0, of.Variance)}, {"b_more_percent_of_a", percent(d.RelativeToA)},
		{"b_more_percent_of_b", percent(d.RelativeToB)}, {"verdict", said.Verdict},
		{"text", only(d.Said != nil, wording.Sentence(&said))}, {"headline", m.Metric.Headline},
		{"observational", t.Observation != nil}}
}

func percent(share *float64) any {
	if share == nil {
		return nil
	}
	return *share * 100
}

// JSON writes the analysis itself, indented, in the schema that it names.
func JSON(w io.Writer, r *analysis.Run) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(wording.JSON(r)); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
