package importer

import (
	"math"
	"time"

	"tare/experiment"
)

// Ratio describes a metric that has no zero. One that is no headline may be missing
// in a trial.
func Ratio(name, unit string, better experiment.Better, headline bool) experiment.Metric {
	return experiment.Metric{Name: name, Unit: unit, Better: better, Headline: headline, Scale: experiment.Ratio, Optional: !headline}
}

// Difference describes a count or a share that may be zero, of which less is better.
func Difference(name string) experiment.Metric {
	return experiment.Metric{Name: name, Better: experiment.Lower, Scale: experiment.Difference, Optional: true}
}

// Add adds a value.
func (t *Trial) Add(m experiment.Metric, v float64) {
	t.Values = append(t.Values, Value{Metric: m, Value: v})
}

// AddFit adds a value if it can be compared on the metric's scale, and says whether
// it can.
func (t *Trial) AddFit(m experiment.Metric, v float64) bool {
	fits := !unfit(Value{Metric: m, Value: v})
	if fits {
		t.Add(m, v)
	}
	return fits
}

// Seconds is a time of s seconds; 0, not told, where that is not a sensible one.
func Seconds(s float64) time.Duration {
	if ns := s * 1e9; ns > 0 && ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return 0
}
