package analysis

import (
	"slices"
	"testing"
	"time"

	"tare/internal/layer"
)

// TestStartUps: a wrapper's start is reported if it takes more than a tenth of the measured time, for metrics that
// hold it.
func TestStartUps(t *testing.T) {
	found := func(start time.Duration, fromStart bool) string {
		metrics := slices.Clone(timeOnly)
		metrics[0].FromStart = fromStart
		plan := testPlan(12, metrics, "layer")
		trials := testTrials(plan, 12, noisy(1, 0, map[string]float64{"layer": 1.25}))
		for i := range trials {
			if trials[i].Arm == "layer" {
				trials[i].Checks = append(trials[i].Checks, layer.Check{Layer: "bubblewrap", Name: "start of bwrap", OK: true, Once: true, StartUp: start, Program: "bwrap"})
			}
		}
		for _, w := range Analyze(plan, trials, nil).Warnings {
			if _, is := w.Finding.(StartUp); is && w.Arm == "layer" && w.Cell != "" {
				return figures(w.Finding)
			}
		}
		return ""
	}
	for _, c := range []struct {
		start     time.Duration // part of the arm's 125 s; the baseline takes 100 s
		fromStart bool
		want      string
	}{
		{12 * time.Second, true, ""},
		{20 * time.Second, true, `start-up {"program":"bwrap","start":20,"run":105,"most":true}`},
		{20 * time.Second, false, ""},
	} {
		if got := found(c.start, c.fromStart); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
