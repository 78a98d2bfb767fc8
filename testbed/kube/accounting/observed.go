package accounting

import (
	"time"

	"tare/testbed"
)

// observed sums up what the pods of each component used. A component is left out when
// one of its pods runs and cannot be read: the sum over the others would look like the
// sum over all.
func observed(before, after *reading, s subjects) map[string]testbed.Observed {
	all := map[string]testbed.Observed{}
	for name, pods := range s.observed {
		var o testbed.Observed
		complete, found := true, false
		for _, p := range pods {
			cpu, known := observedCPU(before, after, p)
			if !known {
				_, looked := after.nodes[p.node]
				complete = complete && looked && after.cgroup(p) == nil && (p.waiting || p.ending)
				continue
			}
			found = true
			o.CPU += cpu
			o.Memory += after.cgroup(p).WorkingSet
			o.Wall = max(o.Wall, wallOf(before, after, p.node))
		}
		if complete && found {
			all[name] = o
		}
	}
	return all
}

// observedCPU is the CPU time of one observed pod that is there at the second reading.
// If it began after the first, all that it used counts. A pod that ended in between is
// not there any more, and what it used is lost.
func observedCPU(before, after *reading, p placed) (time.Duration, bool) {
	if cpu, known := used(before, after, p); known {
		return cpu, true
	}
	c, asked := after.cgroup(p), before.nodes[p.node].Time
	if c == nil || asked.IsZero() || p.started.IsZero() || p.started.Before(asked.Truncate(time.Second)) {
		return 0, false // what it had used by the first reading is not known
	}
	return c.CPU, true
}
