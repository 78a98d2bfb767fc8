package experiment

import "strings"

// asides are the parameters of workloads and testbeds that do not belong to an experiment's question. The value
// is true for a limit on a duration. Tare itself estimates some of these parameters, differently in every run.
var asides = map[string]bool{
	"expect": false, "timeout": true, "readyTimeout": true,
	"testbed.timeouts": true, "testbed.context": false, "testbed.namespace": false, "testbed.image": false, "testbed.imagePullSecrets": false,
}

// OutsideQuestion reports whether a parameter does not belong to an experiment's question. Runs that differ
// in such a parameter are runs of one experiment. The path is the path of a workload's parameter, or
// "testbed." and the path of a testbed's parameter. Examples are expected and longest durations, and the name
// of the cluster that the experiment runs on. limit is set for a limit, which decides which trials fail.
// Rounds, slices, seeds and rules belong to the design, and are no parameters.
func OutsideQuestion(path string) (aside, limit bool) {
	rest, testbed := strings.CutPrefix(path, "testbed.")
	name, _, _ := strings.Cut(rest, ".")
	if testbed {
		name = "testbed." + name
	}
	limit, aside = asides[name]
	return aside, limit
}
