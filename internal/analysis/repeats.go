package analysis

import (
	"slices"

	"tare/internal/experiment"
)

// MoreRepeats is the finding that an arm's trials were spoilt by the machine's condition or a
// failed proof, and then repeated or lost, more or less often than those of the baseline and the
// control. A rule about the machine discards slow trials from the arm that makes them slow: its
// missing values are then not missing at random.
type MoreRepeats struct {
	Arm       Frequency `json:"arm"` // executions of the arm that were spoilt
	Reference Frequency `json:"reference"`
	P         float64   `json:"p"` // p of no difference by Fisher's exact test, two-sided
}

// Kind returns the kind's name.
func (MoreRepeats) Kind() string { return "more-repeats" }

// spoilt counts the executions of an arm in a cell; its failures are the spoilt ones.
func (t *table) spoilt(c, a int) (n failureCount) {
	for _, s := range t.slots[c][a] {
		n.executions, n.failed = n.executions+s.attempts, n.failed+s.attempts-s.failed
		if s.valid != nil {
			n.failed--
		}
	}
	return n
}

// moreRepeats compares the frequency of spoilt trials in each arm with the reference. Each test has
// the level divided by the number of comparisons that could show a difference at all.
func moreRepeats(t *table) (list []Warning) {
	alpha, ables := 1-float64(t.plan.Judged()), 0
	for c, cell := range t.plan.Cells {
		var arms, references []failureCount
		for a, arm := range t.plan.Arms {
			arms = append(arms, t.spoilt(c, a))
			if arm.Role != experiment.Treatment {
				references = append(references, arms[a])
			}
		}
		for a, arm := range t.plan.Arms {
			if of := sum(references); arm.Role == experiment.Treatment && arms[a].testable(references, arms, alpha) {
				ables++
				list = append(list, Warning{Cell: cell.ID, Arm: arm.Name, Finding: MoreRepeats{P: fisher(arms[a].executed, of.executed),
					Arm: frequency(arms[a].failed, arms[a].executions, 1-alpha), Reference: frequency(of.failed, of.executions, 1-alpha)}})
			}
		}
	}
	return slices.DeleteFunc(list, func(w Warning) bool { return w.Finding.(MoreRepeats).P > alpha/float64(ables) })
}
