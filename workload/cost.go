package workload

import (
	"fmt"
	"time"

	"tare/experiment"
)

// Price computes the cost metrics of a trial in which the layers' own processes,
// and the whole machine, used that much CPU time; 0 for the machine leaves its
// metric out. Metrics that need what is not known are left out (see Unavailable). It fails
// when the trial did no work or a part is missing.
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

// OfLayers names the cost metrics in which the layers are.
func OfLayers(c experiment.Cost) []string {
	return []string{c.Prefix + "-cpu", c.Prefix + "-cpu-layer"}
}

// Unavailable names the cost metrics that are not to be had in a trial: those of parts
// whose usage is not known, with the sum of the CPU times, and the memory of parts that
// ended before anybody could look at it.
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
