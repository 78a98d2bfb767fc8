package runner

import (
	"math"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
)

// A machine is busy if it exceeds a limit in every look.
func TestLook(t *testing.T) {
	defer func(before []time.Duration) { lookDurations = before }(lookDurations)
	lookDurations = []time.Duration{time.Microsecond, time.Microsecond, time.Microsecond}
	limit := quantity.Percent(0.2)
	limits := experiment.Limits{ForeignCPU: &limit}
	const busy = "CPU time of other programs 90.0%, over the limit of 20%"
	for _, c := range []struct {
		seen        []float64
		fewer       experiment.Limits
		busy, still string
	}{
		{[]float64{0.1}, experiment.Limits{}, "", ""},
		{[]float64{0.9, 0.9, 0.9}, experiment.Limits{}, busy, ""},
		{[]float64{0.9, 0.9, 0.9}, limits, busy, busy},
		{[]float64{0.9, 0.9, 0.1}, limits, "", ""}, // a build that has just ended
	} {
		got, still, err := Look(t.Context(), &fakeSampler{foreign: c.seen}, nil, limits, c.fewer)
		if err != nil || got != c.busy || still != c.still {
			t.Errorf("%v: %q, %q, %v", c.seen, got, still, err)
		}
	}
}

// The file limits a generator's delay, as a multiple of the delay that its workload allows.
func TestLateness(t *testing.T) {
	twice := quantity.Percent(2)
	for _, c := range []struct {
		limit *quantity.Percent
		want  float64
	}{{nil, math.Inf(1)}, {&twice, 2}} {
		r := run{plan: &experiment.Plan{Limits: experiment.Limits{Late: c.limit}}}
		if got := r.lateness(); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
