package analysis

import (
	"cmp"
	"maps"
	"slices"

	"tare/internal/experiment"
	"tare/internal/stats"
	"tare/internal/testbed"
)

// A shared resource, such as a link, counts as used up if its use or its losses reach these limits (docs/method.md,
// "What bounds a result").
const (
	fullWire       = 0.8   // share of a link's rate that counts as full; below 1, since a trial starts and ends idle
	full           = 0.9   // use of resources except wires, as a share; below 1, since programs wait for one another
	lossMatters    = 0.01  // smallest share of lost packets (UDP) or lost segments (TCP) that matters
	timeoutMatters = 0.001 // share of TCP segments with a timeout; a timeout takes 200 ms or more, 1,000 round trips
	fewestLost     = 10    // smallest number of lost packets, lost segments or timeouts that counts; fewer are chance
	ownProcessors  = 0.1   // client's share of both sides' CPU time; below it, the server counts as alone on the CPUs
)

// ResourceSummary is an arm's use of a resource that programs share. All its numbers come from one trial: the arm's
// trial with the median use.
type ResourceSummary struct {
	Arm string `json:"arm"` // name of the arm
	testbed.Resource
	Exhausted bool `json:"exhausted,omitempty"` // the resource was used up, or lost enough packets to matter
	Tested    bool `json:"tested,omitempty"`    // the workload measures this resource
}

// exhausted reports whether a resource was used up. A link without a rate limit is never exhausted.
func exhausted(r testbed.Resource) bool {
	often := func(n, of uint64, share float64) bool { return n >= fewestLost && float64(n) >= share*float64(of) }
	late := often(r.Timeouts, r.Segments, timeoutMatters)
	switch r.Name {
	case testbed.ResourceWire:
		return r.Of > 0 && (r.Used >= fullWire || often(r.Dropped, r.Packets, lossMatters) || r.Dropped > 0 && late)
	case testbed.ResourceNetwork:
		return late || often(r.Retransmitted, r.Segments, lossMatters)
	}
	return r.Used >= full
}

// middle returns the median of a resource's uses, one per trial. Trials that exhaust the resource sort after all other
// trials.
func middle(list []testbed.Resource) testbed.Resource {
	rank := func(r testbed.Resource) (rank float64) {
		if exhausted(r) {
			rank = 1
		}
		return rank + r.Used
	}
	return slices.SortedFunc(slices.Values(list), func(a, b testbed.Resource) int { return cmp.Compare(rank(a), rank(b)) })[len(list)/2]
}

// resources summarises which resources the trials of each arm used in cell c. Trials in which the program failed are
// included.
func (t *table) resources(c int) (list []ResourceSummary) {
	tests := t.plan.Cells[c].Tests
	for a, arm := range t.plan.Arms {
		by, client := map[string][]testbed.Resource{}, []float64(nil)
		for _, s := range t.slots[c][a] {
			if s.last == nil {
				continue
			}
			for _, r := range append(slices.Clip(s.last.Resources), disk(t.plan.Cells[c], s.last.Values)...) {
				by[r.Name] = append(by[r.Name], r)
			}
			if own, served := s.last.Used["client"].CPU().Seconds(), s.last.Used["server"].CPU().Seconds(); served > 0 {
				client = append(client, own/(own+served))
			}
		}
		// reverse order of names: the local link comes first, since its name is "wire" (see ResourceWire)
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(by))) {
			one := ResourceSummary{Arm: arm.Name, Resource: middle(by[name]), Tested: tests == name}
			switch one.Exhausted = exhausted(one.Resource); name {
			case testbed.ResourceWire:
				// an arm's link is under test if its rate differs from the first arm's
				one.Tested = list != nil && list[0].Name == name && list[0].Of != one.Of
			case testbed.ResourceMachine:
				one.Tested = tests == experiment.TestsServer && stats.Median(client) < ownProcessors
			}
			list = append(list, one)
		}
	}
	return list
}

func disk(cell experiment.Cell, values map[string]float64) (list []testbed.Resource) {
	for _, m := range cell.Metrics {
		if v := values[m.Name]; m.Cap > 0 && v > 0 {
			of := m.Cap
			if v > of {
				of = max(of, m.Burst)
			}
			list = append(list, testbed.Resource{Name: testbed.ResourceDisk, Used: min(1, v/of), Of: of})
		}
	}
	return list
}

// bounds returns a warning for each cell with an exhausted resource that is not under test. Cells without a declared
// resource under test get none.
func bounds(run *Run) (list []Warning) {
	for _, cell := range run.Cells {
		var found []testbed.Resource
		var arms []string
		for _, r := range cell.Resources {
			if r.Exhausted && !r.Tested && (found == nil || found[0].Name == r.Name) {
				found, arms = append(found, r.Resource), append(arms, r.Arm)
			}
		}
		planned := run.Plan.Cell(cell.ID)
		if found == nil || planned == nil || planned.Tests == "" {
			continue
		}
		if len(arms) == len(run.Plan.Arms) {
			arms = nil
		}
		list = append(list, Warning{Cell: cell.ID, Finding: Bound{Resource: middle(found), Tests: planned.Tests, Arms: arms}})
	}
	return list
}
