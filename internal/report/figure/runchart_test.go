package figure

import (
	"strings"
	"testing"
)

// A trial far out would look like one at the edge of its lane.
func TestRunChartPointsBeyondTheLane(t *testing.T) {
	usual := []float64{100, 101, 99, 100, 101, 99, 100, 101, 99, 100, 101}
	for name, test := range map[string]struct {
		last   float64
		arrows int
	}{"none": {99, 0}, "below": {50, 1}, "above": {150, 1}} {
		t.Run(name, func(t *testing.T) {
			a := Lane{Arm: Arm{Name: "plain", Values: append(append([]float64{}, usual...), test.last)}}
			a.Summary.Median = 100
			c := &runChart{RunChart: RunChart{Ratio: true, Lanes: []Lane{a}}}
			c.reach = c.findReach()
			c.beyond(a, func(float64) float64 { return 0 })
			if n := strings.Count(c.String(), "l4 "); n != 2*test.arrows {
				t.Errorf("%d arrows in %q, want %d", n/2, c.String(), test.arrows)
			}
		})
	}
}
