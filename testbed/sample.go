package testbed

import (
	"time"

	"tare/machine"
)

// Sample is what else happened where a trial ran, while it ran.
type Sample struct {
	Conditions machine.Conditions
	// Beside is what the containers used that are in the site's pods beside the one
	// in which programs run, by name, summed over the pods ("istio-proxy"). MaxRSS is
	// their working set at the end.
	Beside map[string]Usage
	// BesideUntold: there are such containers, and what they used is not known. In a
	// run in which one arm has them and cannot tell, it is so in all of them.
	BesideUntold bool
	// Observed is what the components that the experiment observes used, by name.
	Observed map[string]Observed
}

// Observed is what one observed component used.
type Observed struct {
	CPU    time.Duration // over the sample, of all its pods
	Wall   time.Duration // time between the two readings
	Memory int64         // working set at the end, of all its pods, in bytes
}
