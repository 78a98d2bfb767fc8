package wrapper

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
)

// starts is how often a program is started to measure the start-up time of its wrapper.
const starts = 5

// startUp measures how long a program that ends at once runs, inside and outside the wrapper. Every run of a
// program contains the difference, however short the run is. It does not predict the overhead of a longer
// run. If no wrapper program is started, there is no check.
func (a *active) startUp(ctx context.Context, behind testbed.Site) []layer.Check {
	var checks []layer.Check
	for _, where := range a.places {
		program := a.Starts
		if args := a.Args(testbed.Command{}); program == "" && launcher.Count(args) == 0 {
			program = filepath.Base(args[0])
		}
		if program == "" {
			continue
		}
		with, ok := typical(ctx, behind, where, true)
		without, also := typical(ctx, a.session.Site, where, false)
		if !ok || !also {
			continue
		}
		checks = append(checks, layer.Check{Layer: a.Layer, Name: "start of " + program, Expected: "measured", OK: true, Once: true,
			Observed: fmt.Sprintf("%v; without it %v", with.Round(10*time.Microsecond), without.Round(10*time.Microsecond)),
			StartUp:  max(with-without, 0), Program: program})
	}
	return checks
}

// typical returns the median run time of several starts.
func typical(ctx context.Context, site testbed.Site, where testbed.Place, subject bool) (time.Duration, bool) {
	ctx, cancel := context.WithTimeout(ctx, evidence.Limit)
	defer cancel()
	var took []time.Duration
	for range starts {
		used, err := testbed.Run(ctx, site, where, testbed.Command{Args: []string{"true"}, Subject: subject})
		if err != nil {
			return 0, false
		}
		took = append(took, used.Wall)
	}
	slices.Sort(took)
	return took[starts/2], true
}
