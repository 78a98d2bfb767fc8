package analysis

import (
	"slices"

	"tare/experiment"
)

// MoreRepeats is the finding that trials of an arm were spoilt by the machine's condition or a failed proof, and
// repeated or lost, more often than those of the baseline and the control, or less often. A rule that looks at the machine takes slow
// trials from the arm that makes them slow: what is missing there is not missing by chance.
type MoreRepeats struct {
	Arm       Frequency `json:"arm"` // executions that were spoilt
	Reference Frequency `json:"reference"`
	P         float64   `json:"p"` // Fisher's exact test, two-sided
}

// Kind is its name.
func (MoreRepeats) Kind() string { return "more-repeats" }

// spoilt counts the executions of an arm in a cell, and as failed those that say nothing of it.
func (t *table) spoilt(c, a int) (n tally) {
	for _, s := range t.slots[c][a] {
		n.executions, n.failed = n.executions+s.attempts, n.failed+s.attempts-s.failed
		if s.valid != nil {
			n.failed--
		}
	}
	return n
}

// moreRepeats compares how often trials were spoilt in each arm, each at the level over the number of comparisons
// in which a difference could show at all.
func moreRepeats(t *table) (list []Warning) {
	alpha, ables := 1-float64(t.plan.Judged()), 0
	for c, cell := range t.plan.Cells {
		var arms, references []tally
		for a, arm := range t.plan.Arms {
			arms = append(arms, t.spoilt(c, a))
			if arm.Role != experiment.Treatment {
				references = append(references, arms[a])
			}
		}
		for a, arm := range t.plan.Arms {
			if of := sum(references); arm.Role == experiment.Treatment && arms[a].able(references, arms, alpha) {
				ables++
				list = append(list, Warning{Cell: cell.ID, Arm: arm.Name, Finding: MoreRepeats{P: fisher(arms[a].executed, of.executed),
					Arm: frequency(arms[a].failed, arms[a].executions, 1-alpha), Reference: frequency(of.failed, of.executions, 1-alpha)}})
			}
		}
	}
	return slices.DeleteFunc(list, func(w Warning) bool { return w.Finding.(MoreRepeats).P > alpha/float64(ables) })
}
