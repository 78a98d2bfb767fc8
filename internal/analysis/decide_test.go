package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// A large cost is decided at the first look, a small one later. Intervals are wider than with a
// fixed number of rounds.
func TestDecided(t *testing.T) {
	plan := testPlan(20, timeOnly, "layer")
	plan.DecideAt = []int{6, 9, 13, 20}
	for _, c := range []struct {
		centre, noise float64
		at            int
	}{{0.2, 1, 6}, {0.05, 1, 9}, {0, 8, 0}} {
		trials := testTrials(plan, 20, noisy(5, 0.004*c.noise, map[string]float64{"layer": 1 + c.centre}))
		at := 0
		for _, look := range plan.DecideAt[:3] {
			if at == 0 && Decided(plan, trials, look) {
				at = look
			}
		}
		if at != c.at && (c.at == 0 || at == 0) {
			t.Errorf("a cost of %v: decided after %d rounds, want %d", c.centre, at, c.at)
		}
	}
	trials := testTrials(plan, 20, noisy(5, 0.01, map[string]float64{"layer": 1.1}))
	fixed, stopped := *plan, *plan
	fixed.Rounds, fixed.DecideAt, stopped.Decided = 9, nil, 9
	alone, then := Analyze(&fixed, trials[:27], nil).Comparisons[0], Analyze(&stopped, trials, nil).Comparisons[0]
	if then.Verdict != Costs || then.Rounds != 9 || then.Overhead.Lo >= alone.Overhead.Lo || then.Overhead.Hi <= alone.Overhead.Hi || then.P <= alone.P {
		t.Errorf("%s, p %v, of a fixed number of rounds %s, p %v", said(then), then.P, said(alone), alone.P)
	}
	if text := fmt.Sprint(warningTexts(Analyze(&stopped, trials, nil))); strings.Contains(text, "rounds-missing") {
		t.Errorf("a run that is decided lacks rounds: %s", text)
	}
}
