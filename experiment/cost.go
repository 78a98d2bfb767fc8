package experiment

// Cost says how the cost metrics of a workload are named and counted: CPU time and
// memory beside speed.
type Cost struct {
	Prefix string   // "tcp": the metrics are tcp-cpu, tcp-cpu-client, …
	Unit   string   // unit of work, of which a trial tells the amount: "Gbit"
	Parts  []string // the programs under test whose usage a trial tells: "client", "server"
}

// Metrics lists the cost metrics: CPU seconds per unit of work in all (the
// parts and the layers' own processes together), per part and of the layers, of
// the whole machine, and peak memory per part. The layers' share is compared as
// a difference, since it is truly zero in an arm without layers. The machine's
// includes what the kernel does in interrupts and threads of its own, which no
// process is charged for; it also includes other programs.
func (c Cost) Metrics() []Metric {
	unit := "s/" + c.Unit
	metrics := []Metric{{Name: c.Prefix + "-cpu", Unit: unit, Better: Lower, Headline: true, Scale: Ratio}}
	for _, part := range c.Parts {
		metrics = append(metrics, Metric{Name: c.Prefix + "-cpu-" + part, Unit: unit, Better: Lower, Scale: Ratio})
	}
	metrics = append(metrics, Metric{Name: c.Prefix + "-cpu-layer", Unit: unit, Better: Lower, Scale: Difference})
	metrics = append(metrics, Metric{Name: c.Prefix + "-cpu-machine", Unit: unit, Better: Lower, Scale: Ratio, Optional: true})
	for _, part := range c.Parts {
		metrics = append(metrics, Metric{Name: c.Prefix + "-memory-" + part, Unit: "B", Better: Lower, Scale: Ratio})
	}
	return metrics
}
