package runner

import (
	"context"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/testbed"
)

// lookDurations are the durations for which Look samples the machine: a moment first, and longer twice if it
// is busy. A brief load, such as the build of Tare, is thus ignored.
var lookDurations = []time.Duration{300 * time.Millisecond, 2 * time.Second, 2 * time.Second}

// Look samples the machine before the first trial, while nothing of Tare's is running. busy describes the
// limit that the machine exceeds all the time; "" if it exceeds none. still describes the same for the second
// set of limits, fewer.
func Look(ctx context.Context, s Sampler, site testbed.Site, limits, fewer experiment.Limits) (busy, still string, err error) {
	by := func(look testbed.Sample, limits experiment.Limits) string {
		var t journal.Trial
		if conditions(&t, look.Conditions, limits, ""); t.Valid() {
			return ""
		}
		return t.Invalid[0].Detail
	}
	for _, d := range lookDurations {
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
