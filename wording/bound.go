package wording

import (
	"fmt"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/testbed"
)

// minLoss is the smallest share of lost packets or segments that a sentence mentions.
const minLoss = 0.001

// bound words the finding that a resource other than the measured one was used up.
func bound(f analysis.Bound) string {
	r, says := f.Resource, "the results show what that allows, not what the "+f.Tests+" could do"
	if f.Tests == experiment.TestsNetwork && r.Name == testbed.ResourceWire {
		says = "it limits the bandwidth, and further costs of a layer show in CPU time alone"
	}
	text := "bound by " + ResourceName(r.Name)
	if r.Name == testbed.ResourceWire {
		text += fmt.Sprintf(" (%s, %s used)", Value(r.Of, "bit/s"), Share(r.Used))
	} else if r.Of > 0 {
		text += fmt.Sprintf(" (%s of %s)", Share(r.Used), Number(r.Of, 6))
	}
	if f.Arms != nil {
		text += " in " + strings.Join(f.Arms, ", ")
	}
	if share := float64(r.Dropped) / float64(r.Packets); share >= minLoss {
		text += ", " + Share(share) + " of its packets dropped"
	}
	if share := float64(r.Retransmitted) / float64(r.Segments); share >= minLoss {
		text += ", " + Share(share) + " of TCP segments sent again"
	}
	if r.Timeouts > 0 {
		text += ", " + Count(int(r.Timeouts), "TCP timeout", "TCP timeouts")
	}
	return text + ": " + says
}

// ResourceName names a resource that programs share.
func ResourceName(name string) string {
	switch name {
	case testbed.ResourceMachine:
		return "the machine's processors, which all programs share"
	case testbed.ResourceClient, testbed.ResourceServer:
		return "the processors of the " + name + "'s machine"
	}
	return "the " + name
}
