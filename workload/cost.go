package workload

import (
	"fmt"
	"time"

	"tare/experiment"
)

// Price computes the cost metrics of a trial in which the layers' own processes,
// and the whole machine, used that much CPU time; 0 for the machine leaves its
// metric out. Those that need a usage that is Unavailable are left out (see Unavailable). It
// fails when the trial did no work or a part is missing.
func Price(c experiment.Cost, r Result, layers, machine time.Duration) (map[string]float64, error) {
	if !(r.Work > 0) {
		return nil, fmt.Errorf("no work done: %v %s", r.Work, c.Unit)
	}
	total := layers
	values := map[string]float64{c.Prefix + "-cpu-layer": layers.Seconds() / r.Work}
	for _, part := range c.Parts {
		used, ok := r.Used[part]
		if !ok {
			return nil, fmt.Errorf("no usage of the %s", part)
		}
		if used.Unavailable {
			continue
		}
		total += used.CPU()
		values[c.Prefix+"-cpu-"+part] = used.CPU().Seconds() / r.Work
		values[c.Prefix+"-memory-"+part] = float64(used.MaxRSS)
	}
	if machine > 0 {
		values[c.Prefix+"-cpu-machine"] = machine.Seconds() / r.Work
	}
	if len(Unavailable(c, r)) == 0 { // without all parts the sum would be too low
		values[c.Prefix+"-cpu"] = total.Seconds() / r.Work
	}
	return values, nil
}

// OfLayers names the cost metrics in which the layers are.
func OfLayers(c experiment.Cost) []string {
	return []string{c.Prefix + "-cpu", c.Prefix + "-cpu-layer"}
}

// Unavailable names the cost metrics that are not to be had in a trial: those of parts
// whose usage is not known, and their sum.
func Unavailable(c experiment.Cost, r Result) []string {
	var names []string
	for _, part := range c.Parts {
		if r.Used[part].Unavailable {
			names = append(names, c.Prefix+"-cpu-"+part, c.Prefix+"-memory-"+part)
		}
	}
	if len(names) > 0 {
		names = append(names, c.Prefix+"-cpu")
	}
	return names
}
