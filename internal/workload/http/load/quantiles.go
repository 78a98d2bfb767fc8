package load

import (
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
)

// Quantile is a quantile of the latency, as in an experiment file.
type Quantile string

// Values lists the quantiles.
func (Quantile) Values() (names []string) {
	for _, m := range metrics {
		if name, ok := strings.CutPrefix(m.Name, latencyPrefix); ok && m.quantile > 0 {
			names = append(names, name)
		}
	}
	return names
}

const latencyPrefix = "latency-"

// Quantiles are the quantiles of the latency that every trial must have. They decide how long its load is measured.
type Quantiles []Quantile

// Headline returns the names of the metrics that get a verdict: those that the file names, or else the quantiles.
func (q Quantiles) Headline(judged []string) []string {
	if len(judged) == 0 {
		for _, one := range q {
			judged = append(judged, latencyPrefix+string(one))
		}
	}
	return judged
}

// Measured returns the measured time of an open loop: long enough for every quantile at this rate, and at least d.
func (q Quantiles) Measured(rate float64, d quantity.Duration) quantity.Duration {
	for _, m := range metrics {
		if m.quantile > 0 && rate > 0 && slices.Contains(q, Quantile(strings.TrimPrefix(m.Name, latencyPrefix))) {
			d = max(d, quantity.Duration(TimeFor(m.quantile, rate)))
		}
	}
	return d
}

// TimeFor returns how long a load must be sent at a rate for a quantile to have Beyond requests beyond it, in whole
// tenths of a second. The margin is five standard deviations of a Poisson process's number of requests: 5 % for p99.
func TimeFor(quantile, rate float64) time.Duration {
	n := Beyond / (1 - quantile)
	return time.Duration(math.Ceil((n+5*math.Sqrt(n))/rate*10-1e-9)) * 100 * time.Millisecond
}

// Check adds an error if quantiles are given for a closed loop, whose number of requests is unknown beforehand.
func (q Quantiles) Check(errs *experiment.FieldErrors, closed bool) {
	if len(q) > 0 && closed {
		errs.Add("quantiles", "a closed loop has no rate from which Tare could plan the duration: give rate, or give duration in place of quantiles")
	}
}
