package analysis

import (
	"math"
	"slices"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// TestParts: the use by each part is reported if layers have processes of their own, per unit of
// work by the part's metric or by the sum of the layers.
func TestParts(t *testing.T) {
	layers := experiment.Metric{Name: "request-cpu-layer", Unit: "s/request", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true}
	plan := testPlan(6, []experiment.Metric{headline("latency", experiment.Lower), layers}, "mesh")
	trials := testTrials(plan, 6, noisy(1, 0.01, nil))
	run := Analyze(plan, trials, nil)
	if got := run.Cells[0].Parts; got != nil {
		t.Errorf("without any part: %+v", got)
	}
	for i := range trials {
		one := &trials[i]
		one.Used = map[string]testbed.Usage{"client": {User: time.Second, System: 500 * time.Millisecond, MaxRSS: 1 << 20}, "gone": {Unavailable: true}}
		delete(one.Values, layers.Name)
		one.Values["request-cpu-client"] = 1.5 / 300
		if one.Arm == "mesh" {
			one.Values[layers.Name] = 0.75 / 300 // 300 requests
			one.Used["mtls:proxy"], one.Used["layer"] = testbed.Usage{User: 750 * time.Millisecond, MaxRSS: 2 << 20}, testbed.Usage{User: 750 * time.Millisecond}
		}
	}
	run = Analyze(plan, trials, nil)
	var got []string
	for _, p := range run.Cells[0].Parts {
		got = append(got, p.Arm+" "+p.Part)
		cpus, work := 0.5, 1.5/300
		if p.Part == "mtls:proxy" {
			cpus, work = 0.25, 0.75/300
		}
		if math.Abs(p.CPUs.Median-cpus) > 1e-12 || p.CPUs.N != 6 || math.Abs(p.PerWork.Median-work) > 1e-12 || p.Unit != "s/request" || p.Memory.Median < 1<<20 {
			t.Errorf("%s %s: %+v", p.Arm, p.Part, p)
		}
	}
	if want := []string{"plain client", "control client", "mesh client", "mesh mtls:proxy"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
