package report

import (
	"io"
	"math"
	"strconv"

	"tare/analysis"
	comparing "tare/compare"
	"tare/wording"
)

// compareColumns are the columns of CompareCSV. A line of kind "change" or
// "floor" compares the overhead of an arm in a run with the one named by
// against_run and against_arm; one of kind "level" its values with theirs.
var compareColumns = []string{"kind", "cell", "metric", "unit", "better", "scale", "headline", "run", "arm", "against_run", "against_arm",
	"verdict", "n", "overhead", "overhead_lo", "overhead_hi", "method", "p", "p_holm", "p_equivalence", "mde", "from_overhead", "to_overhead", "median", "text"}

// CompareCSV writes a line for each change, floor and level, with full precision.
func CompareCSV(w io.Writer, r *comparing.Result) error {
	lines := [][]string{compareColumns}
	for _, list := range []struct {
		kind    string
		changes []comparing.Change
	}{{"change", r.Changes}, {"floor", r.Floors}} {
		for _, c := range list.changes {
			line := compareLine(list.kind, c.Comparison, c.To.Run, c.To.Arm, c.From.Run, c.From.Arm)
			line = append(line, exact([]float64{c.From.Overhead.Point}, c.From.Known)...)
			line = append(line, exact([]float64{c.To.Overhead.Point}, c.To.Known)...)
			lines = append(lines, append(line, "", wording.Sentence(&c.Comparison)))
		}
	}
	for _, l := range r.Levels {
		c := analysis.Comparison{Cell: l.Cell, Metric: l.Metric}
		run, arm, text := 0, "", ""
		if l.Against != nil {
			c, run, arm, text = *l.Against, r.Reference.Run, r.Reference.Arm, wording.Sentence(l.Against)
		}
		line := append(compareLine("level", c, l.Run, l.Arm, run, arm), "", "")
		line = append(line, exact([]float64{l.Values.Median}, l.Values.N > 0)...)
		lines = append(lines, append(line, text))
	}
	return writeCSV(w, lines)
}

// compareLine is what lines of all kinds begin with.
func compareLine(kind string, c analysis.Comparison, run int, arm string, againstRun int, againstArm string) []string {
	against := ""
	if againstRun > 0 {
		against = strconv.Itoa(againstRun)
	}
	m := c.Metric
	line := []string{kind, c.Cell, m.Name, m.Unit, string(m.Better), string(m.Scale), strconv.FormatBool(m.Headline), strconv.Itoa(run), arm,
		against, againstArm, string(c.Verdict), strconv.Itoa(c.Rounds)}
	ok := againstRun > 0 && wording.Judged(c)
	estimates := []float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi}
	if c.PointOnly {
		estimates[1], estimates[2] = math.NaN(), math.NaN() // leaves the fields empty
	}
	line = append(line, exact(estimates, ok)...)
	line = append(line, c.Method)
	return append(line, exact([]float64{c.P, c.PAdjusted, c.PEquiv, c.MDE}, ok)...)
}
