package analysis

import (
	"slices"

	"tare/experiment"
	"tare/stats"
	"tare/testbed"
)

// From here on something that programs share is taken for used up (docs/method.md, "What bounds a result").
const (
	fullWire       = 0.8   // of the rate: a shorter queue than a real one's overflows before; start and end of a trial send nothing
	fullProcessors = 0.9   // of all processors: the rest are moments in which one of them waits for another
	fullTable      = 0.9   // of ports or tracked connections
	fullDisk       = 0.9   // of what the file says that the device can give
	lossMatters    = 0.01  // of the packets, or TCP segments: what the slowest of a hundred answers waits for
	timeoutMatters = 0.001 // of TCP segments: one timeout is 200 ms or more, a thousand times a round trip
	fewestLost     = 10    // packets, segments or timeouts: fewer are chance
)

// ownProcessors is the share of the programs' CPU time that the client may use of processors which it shares with the server, for
// them to count as the server's.
const ownProcessors = 0.1

// ResourceSummary is what the trials of an arm used of something that their programs share: medians over its valid
// trials.
type ResourceSummary struct {
	Arm string `json:"arm"`
	testbed.Resource
	Exhausted bool `json:"exhausted,omitempty"` // in half of the trials, or more
	Tested    bool `json:"tested,omitempty"`    // it is what the workload measures
}

// exhausted says whether something was used up in a trial.
func exhausted(r testbed.Resource) bool {
	often := func(n, of uint64, share float64) bool { return n >= fewestLost && float64(n) >= share*float64(of) }
	switch {
	case r.Name == testbed.ResourceWire && r.Unlimited: // what is lost there is lost elsewhere
		return false
	case r.Name == testbed.ResourceWire && r.Of > 0:
		return r.Used >= fullWire || often(r.Dropped, r.Packets+r.Dropped, lossMatters) || r.Dropped > 0 && often(r.Timeouts, r.Segments, timeoutMatters)
	case r.Name == testbed.ResourceWire:
		return often(r.Retransmitted, r.Segments, lossMatters) || often(r.Timeouts, r.Segments, timeoutMatters)
	case r.Name == testbed.ResourceDisk:
		return r.Used >= fullDisk
	case r.Name == testbed.ResourcePorts || r.Name == testbed.ResourceConnections:
		return r.Used >= fullTable
	}
	return r.Used >= fullProcessors
}

// resources summarises what the trials of each arm of a cell used.
func (t *table) resources(c int) (list []ResourceSummary) {
	cell := t.plan.Cells[c]
	for a, arm := range t.plan.Arms {
		by := map[string][]testbed.Resource{}
		var names []string
		var client []float64
		for _, s := range t.slots[c][a] {
			if s.valid == nil {
				continue
			}
			for _, r := range append(slices.Clip(s.valid.Resources), disk(cell, s.valid.Values)...) {
				if by[r.Name] == nil {
					names = append(names, r.Name)
				}
				by[r.Name] = append(by[r.Name], r)
			}
			sum := 0.0
			for _, part := range []string{"client", "server", layerSum} {
				sum += s.valid.Used[part].CPU().Seconds()
			}
			if sum > 0 {
				client = append(client, s.valid.Used["client"].CPU().Seconds()/sum)
			}
		}
		for _, name := range names {
			one := ResourceSummary{Arm: arm.Name, Resource: middle(by[name])}
			full := 0
			for _, r := range by[name] {
				if exhausted(r) {
					full++
				}
			}
			one.Exhausted = full > 0 && 2*full >= len(by[name])
			switch {
			case name == testbed.ResourceWire: // one that Tare holds to a rate is no network
				one.Tested = cell.Tests == experiment.TestsWire && one.Of == 0 || len(list) > 0 && list[0].Name == name && list[0].Of != one.Of // a layer has made another of it
			case name == testbed.ResourceMachine:
				one.Tested = cell.Tests == experiment.TestsServer && len(client) > 0 && stats.Median(client) < ownProcessors
			default:
				one.Tested = cell.Tests == name
			}
			list = append(list, one)
		}
	}
	return list
}

// disk is what was used of a device of which the file says what it can give.
func disk(cell experiment.Cell, values map[string]float64) []testbed.Resource {
	r := testbed.Resource{Name: testbed.ResourceDisk}
	for _, m := range cell.Metrics {
		if v, ok := values[m.Name]; ok && m.Cap > 0 && v/m.Cap > r.Used {
			r.Used, r.Of = min(1, v/m.Cap), m.Cap
		}
	}
	if r.Of == 0 {
		return nil
	}
	return []testbed.Resource{r}
}

// middle is the median of each figure.
func middle(list []testbed.Resource) testbed.Resource {
	m := list[0]
	of := func(figure func(testbed.Resource) float64) float64 {
		var all []float64
		for _, r := range list {
			all = append(all, figure(r))
		}
		return stats.Median(all)
	}
	count := func(figure func(testbed.Resource) uint64) uint64 {
		return uint64(of(func(r testbed.Resource) float64 { return float64(figure(r)) }))
	}
	m.Used, m.Of = of(func(r testbed.Resource) float64 { return r.Used }), of(func(r testbed.Resource) float64 { return r.Of })
	m.Packets, m.Dropped = count(func(r testbed.Resource) uint64 { return r.Packets }), count(func(r testbed.Resource) uint64 { return r.Dropped })
	m.Segments = count(func(r testbed.Resource) uint64 { return r.Segments })
	m.Retransmitted, m.Timeouts = count(func(r testbed.Resource) uint64 { return r.Retransmitted }), count(func(r testbed.Resource) uint64 { return r.Timeouts })
	return m
}

// bounds warns, for each cell whose workload says what it measures, of the first resource that was used up and is something
// else: of all arms at once where it is the same one.
func bounds(run *Run) (list []Warning) {
	for _, cell := range run.Cells {
		planned := run.Plan.Cell(cell.ID)
		if planned == nil || planned.Tests == "" {
			continue
		}
		var found []Warning
		var all []testbed.Resource
		arms := map[string]bool{}
		for _, r := range cell.Resources {
			if first := !arms[r.Arm]; r.Exhausted && !r.Tested && first {
				arms[r.Arm] = true
				found = append(found, Warning{Cell: cell.ID, Arm: r.Arm, Finding: Bound{Resource: r.Resource, Tests: planned.Tests}})
				all = append(all, r.Resource)
			}
		}
		same := len(found) == len(run.Plan.Arms) && !slices.ContainsFunc(all, func(r testbed.Resource) bool { return r.Name != all[0].Name || r.Of != all[0].Of })
		if same {
			found = []Warning{{Cell: cell.ID, Finding: Bound{Resource: middle(all), Tests: planned.Tests}}}
		}
		list = append(list, found...)
	}
	return list
}
