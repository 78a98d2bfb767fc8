package workload

import (
	"fmt"
	"time"

	"tare/experiment"
)

// Costed is a workload whose trials are priced: from Result.Used, Result.Work
// and the layers' CPU time the runner derives what the work cost beside its
// speed. Such a workload appends Cost().Metrics() to its own.
type Costed interface {
	Cost() Cost
}

// Cost says how the cost metrics of a workload are named and counted.
type Cost struct {
	Prefix string   // "tcp": the metrics are tcp-cpu, tcp-cpu-client, …
	Unit   string   // unit of work, of which Result.Work is the amount: "Gbit"
	Parts  []string // the parts in Result.Used: "client", "server"
}

// Metrics lists the cost metrics: CPU seconds per unit of work in all (the
// parts and the layers' own processes together), per part and of the layers, of
// the whole machine, and peak memory per part. The layers' share is compared as
// a difference, since it is truly zero in an arm without layers. The machine's
// includes what the kernel does in interrupts and threads of its own, which no
// process is charged for; it also includes other programs.
func (c Cost) Metrics() []experiment.Metric {
	unit := "s/" + c.Unit
	metrics := []experiment.Metric{{Name: c.Prefix + "-cpu", Unit: unit, Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}}
	for _, part := range c.Parts {
		metrics = append(metrics, experiment.Metric{Name: c.Prefix + "-cpu-" + part, Unit: unit, Better: experiment.Lower, Scale: experiment.Ratio})
	}
	metrics = append(metrics, experiment.Metric{Name: c.Prefix + "-cpu-layer", Unit: unit, Better: experiment.Lower, Scale: experiment.Difference})
	metrics = append(metrics, experiment.Metric{Name: c.Prefix + "-cpu-machine", Unit: unit, Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
	for _, part := range c.Parts {
		metrics = append(metrics, experiment.Metric{Name: c.Prefix + "-memory-" + part, Unit: "B", Better: experiment.Lower, Scale: experiment.Ratio})
	}
	return metrics
}

// Values computes the cost metrics of a trial in which the layers' own
// processes, and the whole machine, used that much CPU time; 0 for the machine
// leaves its metric out. Those that need a usage that is Unavailable are left out (see
// Cost.Unavailable). It fails when the trial did no work or a part is missing.
func (c Cost) Values(r Result, layers, machine time.Duration) (map[string]float64, error) {
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
	if len(c.Unavailable(r)) == 0 { // a part would pass for the whole
		values[c.Prefix+"-cpu"] = total.Seconds() / r.Work
	}
	return values, nil
}

// OfLayers names the cost metrics in which the layers are.
func (c Cost) OfLayers() []string { return []string{c.Prefix + "-cpu", c.Prefix + "-cpu-layer"} }

// Unavailable names the cost metrics that are not to be had in a trial: those of parts
// whose usage is not told, and the sum.
func (c Cost) Unavailable(r Result) []string {
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
