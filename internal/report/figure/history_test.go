package figure

import (
	"testing"
	"time"

	"tare/internal/runs/history"
	"tare/internal/runs/history/historytest"
)

// Labels along the time axis tell their runs apart and do not touch.
func TestHistoryAxisLabels(t *testing.T) {
	for _, c := range []struct {
		name          string
		runs, minutes int
		first, second string // of the wide chart
	}{
		{"a day apart", 40, 24 * 60, "2026-01-05", "2026-01-10"},
		{"an hour apart", 12, 60, "01-05 02:00", "01-05 04:00"},
		{"many within a minute", 30, 0, "run 1", "run 5"},
		{"two", 2, 60, "01-05 02:00", "01-05 03:00"},
		{"one", 1, 0, "2026-01-05", ""},
	} {
		for _, layout := range []historyLayout{historyWide, historyNarrow} {
			chart := &historyChart{layout: layout}
			for i := range c.runs {
				chart.Runs = append(chart.Runs, &history.Run{Start: historytest.Start.Add(time.Duration(i*c.minutes) * time.Minute)})
			}
			chart.w, chart.h = layout.width, layout.height
			runs, labels := chart.labelled()
			if len(labels) > layout.dates || len(labels) == 0 {
				t.Errorf("%s: %d labels %q", c.name, len(labels), labels)
			}
			for i := 1; i < len(runs); i++ {
				if labels[i] == labels[i-1] || chart.x(float64(runs[i]))-chart.x(float64(runs[i-1])) < labelWidth(labels[i]) {
					t.Errorf("%s: labels %q at runs %v touch or repeat", c.name, labels, runs)
				}
			}
			if layout == historyWide && (labels[0] != c.first || len(labels) > 1 && labels[1] != c.second) {
				t.Errorf("%s: labels %q", c.name, labels)
			}
		}
	}
}
