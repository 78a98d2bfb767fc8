package figure

import (
	"strings"
	"testing"

	"tare/internal/analysis"
)

// TestPublishedMarks checks that a mark far from the measured values does not stretch the axis, and has its number at
// the edge.
func TestPublishedMarks(t *testing.T) {
	measured := analysis.Interval{Point: 0.04, Lo: 0.03, Hi: 0.05}
	for _, c := range []struct {
		at    float64
		reach bool // the axis covers the mark
	}{{0.045, true}, {0.07, true}, {0.58, false}, {-0.01, true}, {-0.5, false}} {
		f := Forest{Groups: []Group{{Metric: "bandwidth", Rows: []Row{{Arm: "a", Label: "a", Drawn: true, At: measured, Published: []Mark{{c.at, "number"}}}}}}}
		b := BarGroup{Bars: []Bar{{Arm: "a", At: measured, Published: []Mark{{c.at, "number"}}}}}
		axis := f.layOut(true).axis
		if within := axis.Lo <= c.at && c.at <= axis.Hi; within != c.reach || axis.Hi > 0.1 {
			t.Errorf("%v: the axis is from %v to %v", c.at, axis.Lo, axis.Hi)
		}
		for name, svg := range map[string]string{"forest": f.Draw(true), "narrow forest": f.Draw(false), "bars": Bars{[]BarGroup{b}}.Draw(true)} {
			diamond := strings.Contains(svg, "<title>number</title>")
			svg := strings.ReplaceAll(svg, "<title>number</title>", "")
			edge := strings.Contains(svg, ">number<") || strings.Contains(svg, ">number →<") || strings.Contains(svg, ">← number<")
			if diamond != c.reach || edge == c.reach || !strings.Contains(svg, "published (an arrow") {
				t.Errorf("%v in a %s: within the axis %v, number at the edge %v", c.at, name, diamond, edge)
			}
		}
	}
}
