package wording

import (
	"fmt"

	"tare/analysis"
	"tare/experiment"
)

// Occasion states that a single run shows only one occasion, and the machine's load at its start. It is
// "" for a run that compares nothing, is not finished, or was imported.
func Occasion(r *analysis.Run) string {
	if r.Plan == nil || r.Plan.Import != nil || r.Plan.ArmWith(experiment.Treatment) == "" || !r.Finished {
		return ""
	}
	load := ""
	if e := r.Environment; e != nil && len(e.Clusters) == 0 && e.CPU.Online > 0 {
		load = fmt.Sprintf(" (load %s on %s at its start)", Fixed(e.Load[0], 1), Count(e.CPU.Online, "processor", "processors"))
	}
	return "One run speaks for its occasion" + load + "; tare combine joins several."
}
