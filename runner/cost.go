package runner

import (
	"maps"
	"time"

	"tare/journal"
	"tare/testbed"
	"tare/workload"
)

// cost is what the layers of a trial used: CPU time of their own processes, and
// what ran in pods beside the programs under test, by container.
type cost struct {
	own         time.Duration
	sidecars    map[string]testbed.Usage
	unavailable bool // there are sidecars, and what they used is not known
}

// total is all of its CPU time.
func (c cost) total() time.Duration {
	sum := c.own
	for _, u := range c.sidecars {
		sum += u.CPU()
	}
	return sum
}

// beside adds the layers to the usage of the programs: "layer" is all of them, and
// "sidecar:NAME" what of it is a container's.
func (c cost) beside(programs map[string]testbed.Usage, wall time.Duration) map[string]testbed.Usage {
	total := c.total()
	if c.unavailable || total == 0 && len(c.sidecars) == 0 {
		return programs // a part of the layers would pass for all of them
	}
	all := map[string]testbed.Usage{}
	maps.Copy(all, programs)
	layer := testbed.Usage{User: c.own, Wall: wall}
	for name, u := range c.sidecars {
		all["sidecar:"+name] = u
		layer.User += u.User
		layer.System += u.System
		layer.MaxRSS += u.MaxRSS
	}
	all["layer"] = layer
	return all
}

// price adds the cost metrics of a workload that has them, and to the result which
// of them are not told.
func price(t *journal.Trial, load workload.Workload, result *workload.Result, layers cost) {
	costed, ok := load.(workload.Costed)
	if !ok {
		return
	}
	result.Unavailable = append(result.Unavailable, costed.Cost().Unavailable(*result)...)
	values, err := costed.Cost().Values(*result, layers.total(), t.Conditions.Busy)
	if err != nil {
		violate(t, workload.RuleMetric, err.Error())
		return
	}
	if layers.unavailable {
		for _, name := range costed.Cost().OfLayers() {
			delete(values, name)
			result.Unavailable = append(result.Unavailable, name)
		}
	}
	for name, v := range values {
		t.Values[name] = v
	}
}
