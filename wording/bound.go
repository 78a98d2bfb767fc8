package wording

import (
	"fmt"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/testbed"
)

// bound says that something was used up which is not what the workload measures.
func bound(f analysis.Bound) string {
	r, says := f.Resource, "the results say what that allows, and not what the "+f.Tests+" could do"
	if f.Tests == experiment.TestsNetwork && r.Name == testbed.ResourceWire {
		says = "the bandwidth is what that allows, and what else a layer costs shows in CPU time alone"
	}
	text := "bound by " + Resource(r)
	if f.Arms != nil {
		text += " in " + strings.Join(f.Arms, ", ")
	}
	if r.Dropped > 0 {
		text += ", " + Share(float64(r.Dropped)/float64(r.Packets)) + " of its packets dropped"
	}
	if r.Retransmitted > 0 {
		text += fmt.Sprintf(", %s of TCP segments sent again, %s", Share(float64(r.Retransmitted)/float64(r.Segments)), Count(int(r.Timeouts), "timeout", "timeouts"))
	}
	return text + ": " + says
}

// Resource names something that programs share, with what there is of it and how much was used: "the wire (1 Gbit/s, 96 % used)".
func Resource(r testbed.Resource) string {
	name := "the " + r.Name
	switch r.Name {
	case testbed.ResourceMachine:
		name = "the processors that client and server share"
	case testbed.ResourceClient, testbed.ResourceServer:
		name = "the processors of the " + r.Name + "'s machine"
	}
	switch {
	case r.Of == 0:
		return name
	case r.Name == testbed.ResourceWire:
		return fmt.Sprintf("%s (%s, %s used)", name, Value(r.Of, "bit/s"), Share(r.Used))
	}
	return fmt.Sprintf("%s (%s of %s)", name, Share(r.Used), Number(r.Of, 6))
}
