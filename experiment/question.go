package experiment

import "strings"

// asides are the parameters of workloads, and of testbeds, that are no part of the question, and whether they say how
// long something may take. Tare guesses some of them itself, differently in every run.
var asides = map[string]bool{
	"expect": false, "timeout": true, "readyTimeout": true,
	"testbed.timeouts": true, "testbed.context": false, "testbed.namespace": false, "testbed.image": false, "testbed.imagePullSecrets": false,
}

// Aside says whether a parameter of a workload, by its path, or of a testbed, by its path behind "testbed.", is no part
// of what an experiment asks: runs that differ in it are runs of one experiment. That is how long something is expected
// to take or may take, and how the place is called where it runs. A limit decides which trials fail. Rounds, slices,
// seeds and rules are the design, and no parameters.
func Aside(path string) (aside, limit bool) {
	rest, testbed := strings.CutPrefix(path, "testbed.")
	name, _, _ := strings.Cut(rest, ".")
	if testbed {
		name = "testbed." + name
	}
	limit, aside = asides[name]
	return aside, limit
}
