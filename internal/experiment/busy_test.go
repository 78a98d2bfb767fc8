package experiment_test

import (
	"fmt"
	"testing"

	"tare/internal/catalog"
	"tare/internal/experiment"
)

// On a busy machine, Tare's default limits are lifted and the limits in the file stay in force.
func TestGoOnBusy(t *testing.T) {
	const text = `apiVersion: tare/v1alpha1
kind: Experiment
name: busy
arms: [{name: plain}]
workloads:
  - command: {run: ["true"], expect: 100ms}
  - network: {}
`
	for _, c := range []struct{ more, want string }{
		{"", "foreign false, steal false, throttling false, late false, slices 8 0, cpu true"},
		{"limits: {errors: 1%, foreignCPU: 30%}\n", "foreign true, steal false, throttling false, late false, slices 8 0, cpu true"},
		{"limits: {steal: 5%, throttling: 0, late: 50%}\n", "foreign false, steal true, throttling true, late true, slices 8 0, cpu true"},
		{"design: {slices: none}\n", "foreign false, steal false, throttling false, late false, slices 0 0, cpu true"},
		{"design: {rounds: 8}\n", "foreign false, steal false, throttling false, late false, slices 8 0, cpu true"},
	} {
		x, err := experiment.Load("busy.yaml", []byte(text+c.more), catalog.Kinds())
		if err != nil {
			t.Fatal(err)
		}
		family := expanded(t, x).HeadlineFamily()
		x.GoOnBusy("other programs")
		p := expanded(t, x)
		cpu := p.Cells[0].Metric("cpu").Headline && p.Cells[1].Metric("tcp-cpu").Headline
		got := fmt.Sprintf("foreign %t, steal %t, throttling %t, late %t, slices %d %d, cpu %t", p.Limits.ForeignCPU != nil, p.Limits.Steal != nil,
			p.Limits.Throttling != nil, p.Limits.Late != nil, p.Cells[0].Slices, p.Cells[1].Slices, cpu)
		if got != c.want || p.Busy != "other programs" || p.HeadlineFamily() != family {
			t.Errorf("%q: %s, by %q, family %d", c.more, got, p.Busy, p.HeadlineFamily())
		}
	}
}

func expanded(t *testing.T, x *experiment.Experiment) *experiment.Plan {
	t.Helper()
	e, err := experiment.Expand(x, "test")
	if err != nil {
		t.Fatal(err)
	}
	return &e.Plan
}
