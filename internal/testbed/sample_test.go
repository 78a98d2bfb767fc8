package testbed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/machine"
)

func TestSamplesJoin(t *testing.T) {
	a := Sample{Conditions: machine.Conditions{ForeignCPU: 0.3, CPUPressure: -1}, Observed: map[string]Observed{"istiod": {CPU: time.Second, Wall: time.Second, Memory: 5}},
		Sidecars: map[string]Usage{"proxy": {User: time.Second, MaxRSS: 9}}}
	b := Sample{Conditions: machine.Conditions{ForeignCPU: 0.6, CPUPressure: -1}, Observed: map[string]Observed{"istiod": {CPU: time.Second, Wall: 3 * time.Second, Memory: 4}},
		Sidecars: map[string]Usage{"proxy": {User: time.Second, System: time.Second, MaxRSS: 8}, "late": {User: time.Second}}}
	want := Sample{Conditions: machine.Conditions{ForeignCPU: 0.5, CPUPressure: -1}, Observed: map[string]Observed{"istiod": {CPU: 2 * time.Second, Wall: 4 * time.Second, Memory: 4}},
		Sidecars: map[string]Usage{"proxy": {User: 2 * time.Second, System: time.Second, MaxRSS: 8}, "late": {User: time.Second}}}
	got := a.Joined(b, time.Second, 2*time.Second)
	got.Conditions.ForeignCPU = float64(int(got.Conditions.ForeignCPU*1000+0.5)) / 1000
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if a.Sidecars["proxy"].User != time.Second {
		t.Error("the earlier sample was changed")
	}
	a.SidecarsUnavailable = true
	if !a.Joined(b, 1, 1).SidecarsUnavailable {
		t.Error("what the sidecars used in one of two stretches is not known, and passes for known")
	}
	// On one machine, amounts are added, and the shares are computed from the sums.
	a.Machine = &machine.Activity{Wall: time.Second, Totals: machine.Totals{CPUs: 1, Busy: time.Second, Waiting: -1}}
	b.Machine = &machine.Activity{Wall: time.Second, Totals: machine.Totals{CPUs: 1, Waiting: -1}}
	if got := a.Joined(b, time.Second, time.Second); got.Conditions.ForeignCPU != 0.5 || got.Machine.Wall != 2*time.Second {
		t.Errorf("%+v", got)
	}
}
