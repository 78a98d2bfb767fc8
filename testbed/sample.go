package testbed

import (
	"time"

	"tare/machine"
)

// Sample is what else happened where a trial ran, while it ran.
type Sample struct {
	Conditions machine.Conditions
	// Pods is the CPU time of everything in the site's pods: the programs under
	// test, and what is beside them (sidecars, a sandbox). 0: not told.
	Pods time.Duration
	// Observed is what the components that the experiment observes used, by name.
	Observed map[string]Observed
}

// Observed is what one observed component used.
type Observed struct {
	CPU    time.Duration // over the sample, of all its pods
	Wall   time.Duration // time between the two readings
	Memory int64         // working set at the end, of all its pods, in bytes
}
