package importer

import (
	"math"
	"time"

	"tare/internal/experiment"
)

// Ratio returns a metric that is compared by ratios, since it is never zero. If it is no headline, a trial may
// lack it.
func Ratio(name, unit string, better experiment.Better, headline bool) experiment.Metric {
	return experiment.Metric{Name: name, Unit: unit, Better: better, Headline: headline, Scale: experiment.Ratio, Optional: !headline}
}

// Difference returns a count or share that is compared by differences, since it may be zero. Lower is better.
func Difference(name string) experiment.Metric {
	return experiment.Metric{Name: name, Better: experiment.Lower, Scale: experiment.Difference, Optional: true}
}

// Add adds a value to the trial.
func (t *Trial) Add(m experiment.Metric, v float64) {
	t.Values = append(t.Values, Value{Metric: m, Value: v})
}

// AddFit adds a value if it can be compared on the metric's scale, and reports whether it did.
func (t *Trial) AddFit(m experiment.Metric, v float64) bool {
	fits := !unfit(Value{Metric: m, Value: v})
	if fits {
		t.Add(m, v)
	}
	return fits
}

// Seconds returns a duration of s seconds, or 0 (unknown) if s is not a sensible duration.
func Seconds(s float64) time.Duration {
	if ns := s * 1e9; ns > 0 && ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return 0
}
