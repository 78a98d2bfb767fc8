package wording

import (
	"fmt"

	"tare/analysis"
	"tare/experiment"
)

// Occasion says of a single run that it speaks for its occasion, with what is known of
// the load; "" for a run that compares nothing, or of which the files of another tool
// are all that is known.
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
