package contrast

import (
	"testing"

	"tare/internal/experiment"
)

// At an early look the interval's confidence is far above the plan's, and at the last look a little
// above it.
func TestAtLook(t *testing.T) {
	plan := &experiment.Plan{Rounds: 20, Confidence: 0.95}
	if got := RulesOf(plan).AtLook(); got != 0.95 {
		t.Errorf("fixed rounds: %v", got)
	}
	plan.DecideAt = []int{6, 9, 13, 20}
	last := RulesOf(plan).AtLook()
	plan.Decided = 6
	if first := RulesOf(plan).AtLook(); !(0.95 < last && last < 0.975 && 0.99 < first && first < 0.995) {
		t.Errorf("at the first look %v, at the last %v", first, last)
	}
}
