package analysis

import (
	"fmt"
	"strings"
)

// switching warns of layers that were turned on and off for everyone between
// trials: a trial that follows finds a cluster that has just been changed. Trials
// of the arm that has such a layer nearly always do, others only sometimes.
func (t *table) switching() []Warning {
	after, valid, turned := make([]int, len(t.plan.Arms)), make([]int, len(t.plan.Arms)), false
	for c := range t.slots {
		for a := range t.slots[c] {
			for _, s := range t.slots[c][a] {
				if s.valid == nil {
					continue
				}
				valid[a]++
				if s.valid.Switched {
					after[a]++
					turned = true
				}
			}
		}
	}
	if !turned {
		return nil
	}
	var each []string
	for a, arm := range t.plan.Arms {
		each = append(each, fmt.Sprintf("%d of %d trials of %s", after[a], valid[a], arm.Name))
	}
	return []Warning{{Text: fmt.Sprintf("a layer is turned on and off for all arms, and followed by a trial that may still feel the change: %s; "+
		"a difference between arms may be partly that, unless the layer's settle is long enough", strings.Join(each, ", "))}}
}
