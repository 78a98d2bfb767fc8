package analysis

import (
	"maps"
	"slices"
	"strings"

	"tare/journal"
)

// PartSummary is what one part of an arm used in a cell: the client, the server, or a process of a
// layer's own such as a proxy, over the valid trials of the arm.
type PartSummary struct {
	Arm  string `json:"arm"`  // its name
	Part string `json:"part"` // "client", "server", "mtls:client-proxy"
	// CPUs is CPU time by wall clock: 0.25 is a quarter of one processor.
	CPUs    Summary `json:"cpus"`
	PerWork Summary `json:"perWork,omitzero"` // CPU time by the amount of work; n is 0 where that is not known
	Unit    string  `json:"unit,omitempty"`   // of PerWork: "s/request"
	Memory  Summary `json:"memory,omitzero"`  // the most that was resident, in bytes
}

// layerSum is the part that is the sum of all that are the layers' own. Those are named
// KIND:PART.
const layerSum = "layer"

// parts says what each part used, in a cell in which layers have processes of their own.
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

// perWork is what a part used for a unit of work, given the metric of what all layers used. Where
// the part has no metric of its own the work is what their CPU time was divided by.
func perWork(t *journal.Trial, sum, part string) (float64, bool) {
	if own := strings.TrimSuffix(sum, layerSum) + part; t.Values[own] > 0 {
		return t.Values[own], true
	}
	all := t.Used[layerSum].CPU().Seconds()
	return t.Used[part].CPU().Seconds() * t.Values[sum] / all, sum != "" && all > 0
}
