package runner

import (
	"context"
	"fmt"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
)

// clear repeats a failed clean-up after a pause that doubles each time. A cluster that is unreachable
// for a while must not end a run.
const (
	clearTries = 6
	clearPause = time.Second // pause before the second attempt
)

// clear removes everything that a trial has left in its site. Its time limit is equal to the trial's.
// The time counts as preparation of the next trial, not as cost of Tare itself.
func (r *run) clear(ctx context.Context, id trialID, clear func(context.Context) error) error {
	start := time.Now()
	defer func() { r.cleared += time.Since(start) }()
	cell, arm := r.plan.Cells[id.step.Cell], r.plan.Arms[id.step.Arm]
	limit := r.Expansion.Cells[id.step.Cell].Workload.Measures().Bound()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := clearPause
	for tries := 1; ; tries++ {
		err := clear(limited)
		if err == nil || ctx.Err() != nil {
			return nil // the next trial reports the interruption
		}
		if tries < clearTries && testbed.Pause(limited, pause) == nil {
			pause *= 2
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("clear up after %s in arm %s, round %d (%s in %v, the limit is %v): %w",
			cell.ID, arm.Name, id.round, attemptsText(tries), time.Since(start).Round(time.Millisecond), quantity.Duration(limit), err)
	}
}

func attemptsText(n int) string {
	if n == 1 {
		return "one attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}
