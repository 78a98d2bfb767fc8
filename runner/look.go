package runner

import (
	"context"
	"time"

	"tare/experiment"
	"tare/journal"
	"tare/testbed"
)

// looks is how long the machine is looked at before a run: a moment, and where it is busy then, twice
// for longer. What is over by then, such as the build of Tare, is no reason.
var looks = []time.Duration{300 * time.Millisecond, 2 * time.Second, 2 * time.Second}

// Look looks at the machine before the first trial, with nothing of Tare's running, and says by what it is
// too busy all the time for the limits, and for fewer limits; "" where it is not.
func Look(ctx context.Context, s Sampler, site testbed.Site, limits, fewer experiment.Limits) (busy, still string, err error) {
	by := func(look testbed.Sample, limits experiment.Limits) string {
		var t journal.Trial
		if conditions(&t, look.Conditions, limits, ""); t.Valid() {
			return ""
		}
		return t.Invalid[0].Detail
	}
	for _, d := range looks {
		if err := s.Start(ctx, site); err != nil {
			return "", "", err
		}
		if err := testbed.Pause(ctx, d); err != nil {
			return "", "", err
		}
		look, err := s.Stop(ctx, 0)
		if err != nil {
			return "", "", err
		}
		if busy, still = by(look, limits), by(look, fewer); busy == "" {
			break
		}
	}
	return busy, still, nil
}
