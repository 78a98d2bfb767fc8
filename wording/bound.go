package wording

import (
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/testbed"
)

// bound says that something was used up which is not what the workload measures.
func bound(f analysis.Bound) string {
	text := "bound by " + ResourceName(f.Resource)
	if of := ResourceOf(f.Resource); of != "" {
		text += " (" + of + ")"
	}
	text += ": " + strings.TrimPrefix(ResourceUsed(f.Resource)+lost(f.Resource), ", ") + "; "
	switch {
	case f.Tests == experiment.TestsWire && f.Resource.Name == testbed.ResourceWire:
		return text + "the bandwidth is what fits on it, and what else a layer costs shows in CPU time alone"
	case f.Tests == experiment.TestsWire:
		return text + "the results say what these allow, and not what the network could do"
	}
	return text + "the results say what that allows, and not what the " + f.Tests + " could do"
}

// ResourceName names what programs share.
func ResourceName(r testbed.Resource) string {
	switch r.Name {
	case testbed.ResourceMachine:
		return "the processors that client and server share"
	case testbed.ResourceClient, testbed.ResourceServer:
		return "the processors of the " + r.Name + "'s machine"
	case testbed.ResourcePorts:
		return "the client's ports for outgoing connections"
	case testbed.ResourceConnections:
		return "the table of tracked connections"
	}
	return "the " + r.Name
}

// ResourceOf says how much of it there is; "" where that is not known.
func ResourceOf(r testbed.Resource) string {
	switch {
	case r.Unlimited:
		return "unlimited"
	case r.Of == 0:
		return ""
	case r.Name == testbed.ResourceWire:
		return Value(r.Of, "bit/s")
	}
	return Number(r.Of, 6)
}

// ResourceUsed says how much of that was used; "" where there is no limit.
func ResourceUsed(r testbed.Resource) string {
	if r.Of == 0 {
		return ""
	}
	return Share(r.Used) + " used"
}

// ResourceLost says what the wire lost; "" where that is nothing, or it is no wire.
func ResourceLost(r testbed.Resource) string { return strings.TrimPrefix(lost(r), ", ") }

// lost is that behind a comma.
func lost(r testbed.Resource) (text string) {
	if r.Dropped > 0 {
		text += ", " + Share(float64(r.Dropped)/float64(r.Packets+r.Dropped)) + " of its packets dropped"
	}
	if r.Retransmitted > 0 {
		text += ", " + Share(float64(r.Retransmitted)/float64(r.Segments)) + " of TCP segments sent again"
	}
	if r.Timeouts > 0 {
		text += ", " + Count(int(r.Timeouts), "TCP timeout", "TCP timeouts")
	}
	return text
}
