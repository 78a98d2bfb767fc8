package workload

import (
	"fmt"
	"time"

	"tare/internal/experiment"
)

// Price returns the cost metrics of a trial. Layers is the CPU time of the layers' own processes. Machine is
// the CPU time of the whole machine; 0 leaves out the machine's metric. Metrics whose data are unknown are
// left out too (see Unavailable). A trial without work, or without the usage of a part, is an error.
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
