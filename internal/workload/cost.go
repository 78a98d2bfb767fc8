package workload

import (
	"fmt"
	"math"
	"time"

	"tare/internal/experiment"
)

// Price returns the cost metrics of a trial. The argument layers is the CPU time of the layers' own processes.
// The argument machine is the CPU time of the whole machine; if it is 0, the machine's metric is left out.
// Metrics whose data are unknown are left out too (see Unavailable). A trial without work, or without the
// usage of a part, is an error.
func Price(c experiment.Cost, r Result, layers, machine time.Duration) (map[string]float64, error) {
	if !(r.Work > 0) {
		return nil, fmt.Errorf("no work done: %v %s", r.Work, c.Unit)
	}
	total, known := layers, true
	values := map[string]float64{c.Prefix + "-cpu-layer": layers.Seconds() / r.Work}
	for _, part := range c.Parts {
		used, ok := r.Used[part]
		if !ok {
			return nil, fmt.Errorf("no usage of the %s", part)
		}
		if used.Unavailable {
			known = false
			continue
		}
		total += used.CPU()
		values[c.Prefix+"-cpu-"+part] = used.CPU().Seconds() / r.Work
		if used.MaxRSS > 0 {
			values[c.Prefix+"-memory-"+part] = float64(used.MaxRSS)
		}
	}
	if machine > 0 {
		values[c.Prefix+"-cpu-machine"] = machine.Seconds() / r.Work
	}
	if known { // without all parts the sum would be too low
		values[c.Prefix+"-cpu"] = total.Seconds() / r.Work
	}
	return values, nil
}

// OfLayers names the cost metrics that include the layers' own processes.
func OfLayers(c experiment.Cost) []string {
	return []string{c.Prefix + "-cpu", c.Prefix + "-cpu-layer"}
}

// Unavailable names the cost metrics that a trial lacks. If the usage of a part (such as "server") is
// unknown, the trial lacks the part's metrics and the sum of CPU times. If a part ended before its memory
// could be read, the trial lacks the metric of the part's memory.
func Unavailable(c experiment.Cost, r Result) []string {
	var names []string
	known := true
	for _, part := range c.Parts {
		used, ok := r.Used[part]
		if used.Unavailable {
			names = append(names, c.Prefix+"-cpu-"+part)
			known = false
		}
		if used.Unavailable || ok && used.MaxRSS <= 0 {
			names = append(names, c.Prefix+"-memory-"+part)
		}
	}
	if !known {
		names = append(names, c.Prefix+"-cpu")
	}
	return names
}

// Quantile is the share of values at or below a value, from 0 to 1: 0.99 is the 99th percentile.
type Quantile float64

// Supported reports whether at least a hundred of n values lie beyond the quantile.
func (q Quantile) Supported(n int) bool { return math.Round(float64(n)*(1-float64(q))*1e6)/1e6 >= 100 }

// String returns the quantile's name in metrics: "p99".
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
