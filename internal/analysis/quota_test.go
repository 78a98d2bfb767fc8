package analysis

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/journal"
	"tare/internal/testbed"
)

func TestQuotas(t *testing.T) {
	type quota = testbed.Quota
	limits := func(q quota) quota {
		q.CPU, q.Memory = 0.2, 100
		return q
	}
	before := &testbed.Throttled{Periods: 50, Throttled: 5}
	for name, c := range map[string]struct {
		trials []quota // of one cell, in order
		want   []string
	}{
		"within, throttled at the start": {[]quota{limits(quota{Periods: 10, Peak: 40, Before: before}), limits(quota{Periods: 30, Peak: 50})},
			[]string{"start: throttled 0.10, peak 40, 0 trials", "cell: within 0.00, peak 50, 2 trials"}},
		"throttled in some trials": {[]quota{limits(quota{Periods: 10, Throttled: 4}), limits(quota{Periods: 30})},
			[]string{"start: within 0.00, peak 0, 0 trials", "cell: throttled 0.10, peak 0, 2 trials"}},
		"full": {[]quota{limits(quota{Periods: 1, Peak: 99})},
			[]string{"start: full 0.00, peak 99, 0 trials", "cell: full 0.00, peak 99, 1 trials"}},
		"killed in a trial": {[]quota{limits(quota{}), limits(quota{Kills: 2, Periods: 10, Throttled: 9, Restarts: 1, Killed: true})},
			[]string{"start: within 0.00, peak 0, 0 trials", "cell: killed 0.90, peak 0, 2 trials"}},
		"killed at the start, within its quota later": {[]quota{limits(quota{Restarts: 1, Killed: true})},
			[]string{"start: killed 0.00, peak 0, 0 trials", "cell: within 0.00, peak 0, 1 trials"}},
		"no limit": {[]quota{{Peak: 7}}, []string{"start: no limit 0.00, peak 7, 0 trials", "cell: no limit 0.00, peak 7, 1 trials"}},
	} {
		var trials []journal.Trial
		for _, q := range c.trials {
			trials = append(trials, journal.Trial{Arm: "plain", Cell: "cell", Quotas: map[string]quota{"agent": q}})
		}
		var got []string
		for _, s := range quotas(append(trials, journal.Trial{Arm: "plain", Cell: "cell"})) {
			cell := s.Cell
			if cell == "" {
				cell = "start"
			}
			got = append(got, fmt.Sprintf("%s: %s %.2f, peak %d, %d trials", cell, s.Verdict, s.Throttled, s.Quota.Peak, s.Trials))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
