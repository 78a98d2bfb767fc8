package analysis

import (
	"slices"

	"tare/internal/experiment"
)

// MoreRepeats is the finding that an arm's trials were spoilt more or less often than the trials of baseline and
// control. A trial is spoilt by the machine's condition or a failed proof; it is then repeated or lost. A rule about
// the machine may discard just the slow trials of an arm that makes trials slow. The arm's values are then not
// missing at random.
type MoreRepeats struct {
	Arm       Frequency `json:"arm"` // executions of the arm that were spoilt
	Reference Frequency `json:"reference"`
	P         float64   `json:"p"` // two-sided p-value of "no difference", by Fisher's exact test
}

// Kind returns the name of this kind of finding.
func (MoreRepeats) Kind() string { return "more-repeats" }

// spoilt counts the executions of an arm in a cell. The field failed of the result counts the spoilt executions.
func (t *table) spoilt(c, a int) (n failureCount) {
	for _, s := range t.slots[c][a] {
		n.executions, n.failed = n.executions+s.attempts, n.failed+s.attempts-s.failed
		if s.valid != nil {
			n.failed--
		}
	}
	return n
}

// moreRepeats compares the frequency of spoilt trials in each treatment with the frequency in baseline and control
// together. The significance level of each test is alpha divided by the number of comparisons that could show a
// difference at all.
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
