package analysis

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/run/journal"
)

// PartSummary is the CPU and memory that one part of an arm uses in a cell, over the valid trials of the
// arm. A part is the client, the server, or a process of a layer, such as a proxy.
type PartSummary struct {
	Arm  string `json:"arm"`  // name of the arm
	Part string `json:"part"` // "client", "server", "mtls:client-proxy"
	// CPUs is CPU time divided by wall clock: 0.25 is a quarter of one processor.
	CPUs    Summary `json:"cpus"`
	PerWork Summary `json:"perWork,omitzero"` // CPU time per unit of work; n is 0 if the amount of work is unknown
	Unit    string  `json:"unit,omitempty"`   // unit of PerWork: "s/request"
	Memory  Summary `json:"memory,omitzero"`  // largest resident memory, in bytes
}

// layerSum names the sum over all parts that belong to layers. The name of such a part is KIND:PART.
const layerSum = "layer"

// parts returns what each part of each arm uses in a cell; nil if no layer has processes of its own in that
// cell.
func (t *table) parts(c int) []PartSummary {
	cell := t.plan.Cells[c]
	sum, unit := "", ""
	for _, m := range cell.Metrics {
		if strings.HasSuffix(m.Name, "-cpu-"+layerSum) {
			sum, unit = m.Name, m.Unit
		}
	}
	var list []PartSummary
	layers := false
	for a, arm := range t.plan.Arms {
		var trials []*journal.Trial
		names := map[string]bool{}
		for v := range valid(t.slots[c][a]) {
			if v.Wall <= 0 {
				continue
			}
			trials = append(trials, v)
			for name, used := range v.Used {
				names[name] = names[name] || name != layerSum && !used.Unavailable
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !names[name] {
				continue
			}
			layers = layers || strings.Contains(name, ":")
			one := PartSummary{Arm: arm.Name, Part: name}
			var cpus, work, memory []float64
			for _, trial := range trials {
				used, ok := trial.Used[name]
				if !ok {
					continue
				}
				cpus = append(cpus, used.CPU().Seconds()/trial.Wall.Seconds())
				if used.MaxRSS > 0 {
					memory = append(memory, float64(used.MaxRSS))
				}
				if each, ok := perWork(trial, sum, name); ok {
					work, one.Unit = append(work, each), unit
				}
			}
			confidence := float64(t.plan.Confidence)
			one.CPUs, one.PerWork, one.Memory = summarize(cpus, confidence), summarize(work, confidence), summarize(memory, confidence)
			list = append(list, one)
		}
	}
	if !layers {
		return nil
	}
	return list
}

// perWork returns a part's CPU time per unit of work. The name sum is the metric of CPU time per unit of
// work over all layers together. If the part has no such metric of its own, the amount of work is computed
// from the metric sum.
func perWork(t *journal.Trial, sum, part string) (float64, bool) {
	if own := strings.TrimSuffix(sum, layerSum) + part; t.Values[own] > 0 {
		return t.Values[own], true
	}
	all := t.Used[layerSum].CPU().Seconds()
	return t.Used[part].CPU().Seconds() * t.Values[sum] / all, sum != "" && all > 0
}
