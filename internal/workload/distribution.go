package workload

import (
	"fmt"
	"math"

	"tare/internal/experiment"
)

// Quantile is the share of values at or below a value, from 0 to 1: 0.99 is the 99th percentile.
type Quantile float64

// Supported reports whether at least a hundred of n values lie beyond the quantile.
func (q Quantile) Supported(n int) bool { return math.Round(float64(n)*(1-float64(q))*1e6)/1e6 >= 100 }

// String returns a name for metrics: "p99".
func (q Quantile) String() string { return fmt.Sprintf("p%g", 100*float64(q)) }

// TimeMetrics lists the metrics of a distribution of n times: the mean, and the quantiles that n values support.
func TimeMetrics(name string, n int, quantiles []Quantile) []experiment.Metric {
	names := []string{name + "-mean"}
	for _, q := range quantiles {
		if q.Supported(n) {
			names = append(names, name+"-"+q.String())
		}
	}
	var list []experiment.Metric
	for _, name := range names {
		list = append(list, experiment.Metric{Name: name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
	}
	return list
}
