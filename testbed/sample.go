package testbed

import (
	"time"

	"tare/machine"
)

// Sample is what else happened where a trial ran, while it ran.
type Sample struct {
	Conditions machine.Conditions
	// Sidecars is what the other containers of the site's pods used (those in which no
	// programs run), by container name ("istio-proxy"), summed over the pods. MaxRSS is
	// their working set at the end.
	Sidecars map[string]Usage
	// SidecarsUnavailable says that there are such containers and that nobody knows what
	// they used. When that is so in one arm, it is set in every arm: arms are compared
	// by what all of them can count.
	SidecarsUnavailable bool
	// Observed is what the components that the experiment observes used, by name.
	Observed map[string]Observed
}

// Observed is what one observed component used.
type Observed struct {
	CPU    time.Duration // over the sample, of all its pods
	Wall   time.Duration // time between the two readings
	Memory int64         // working set at the end, of all its pods, in bytes
}
