package placement

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/run/machine"
)

// AddNodes adds the nodes of one site to the nodes of its arm.
func AddNodes(arms []machine.ArmNodes, arm string, nodes []string) []machine.ArmNodes {
	for i := range arms {
		if arms[i].Arm == arm {
			arms[i].Nodes = append(arms[i].Nodes, nodes...)
			slices.Sort(arms[i].Nodes)
			arms[i].Nodes = slices.Compact(arms[i].Nodes)
			return arms
		}
	}
	return append(arms, machine.ArmNodes{Arm: arm, Nodes: slices.Clone(nodes)})
}

// OtherNodes returns a note for each arm that is on other nodes than the first arm, the baseline. In such an
// arm, a difference between the nodes is measured as if it were an effect of the layer.
func OtherNodes(arms []machine.ArmNodes) []string {
	var notes []string
	for _, a := range arms[min(1, len(arms)):] {
		if first := arms[0]; !slices.Equal(a.Nodes, first.Nodes) {
			notes = append(notes, fmt.Sprintf("arm %s ran on nodes %s, and %s on %s: "+
				"a difference between these nodes counts as one between the arms",
				a.Arm, strings.Join(a.Nodes, ", "), first.Arm, strings.Join(first.Nodes, ", ")))
		}
	}
	return notes
}

// Moved returns a note for each arm that is now on other nodes than it was in the first session.
func Moved(first, now []machine.Cluster) []string {
	was := map[string][]string{}
	for _, c := range first {
		for _, a := range c.Arms {
			was[a.Arm] = a.Nodes
		}
	}
	var notes []string
	for _, c := range now {
		for _, a := range c.Arms {
			if before, known := was[a.Arm]; known && !slices.Equal(before, a.Nodes) {
				notes = append(notes, fmt.Sprintf("arm %s is on nodes %s now, and was on %s",
					a.Arm, strings.Join(a.Nodes, ", "), strings.Join(before, ", ")))
			}
		}
	}
	return notes
}
