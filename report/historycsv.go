package report

import (
	"io"
	"strconv"
	"time"

	"tare/history"
	"tare/wording"
)

// pastColumns are the columns of a history as CSV. Values are shares on the
// scale "ratio" of an overhead, else in the metric's unit.
var pastColumns = []string{
	"experiment", "run", "start", "tare_version", "cell", "arm", "metric", "unit", "better", "scale", "headline", "of",
	"value", "value_lo", "value_hi", "stretch", "change", "left_out",
}

// HistoryCSV writes one line for each point of each series.
func HistoryCSV(w io.Writer, h *history.History) error {
	lines := [][]string{pastColumns}
	for _, p := range pasts(h) {
		for _, s := range p.chosen(true) {
			for _, point := range s.Points {
				lines = append(lines, p.record(s, point))
			}
		}
	}
	return writeCSV(w, lines)
}

// record is a point's line.
func (p past) record(s *history.Series, at history.Point) []string {
	r, m := p.Runs[at.Run], s.Metric
	start := ""
	if !r.Start.IsZero() {
		start = r.Start.UTC().Format(time.RFC3339)
	}
	change := ""
	for _, c := range s.Shifts {
		if c.Run == at.Run && c.Stretch == at.Stretch {
			change = c.Direction
		}
	}
	numbers := []string{"", "", ""}
	if at.Value != nil {
		numbers = exact([]float64{at.Value.Point, at.Value.Lo, at.Value.Hi}, true)
	}
	rec := []string{p.Name, r.Directory, start, r.TareVersion, s.Cell, s.Arm, m.Name, m.Unit, string(m.Better), string(m.Scale),
		strconv.FormatBool(m.Headline), s.Of}
	stretch := ""
	if at.Stretch >= 0 {
		stretch = strconv.Itoa(at.Stretch + 1)
	}
	rec = append(rec, numbers...)
	return append(rec, stretch, change, wording.Reason(at.LeftOut))
}
