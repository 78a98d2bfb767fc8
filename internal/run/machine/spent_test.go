package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// These are two periods of a second on two CPUs. In the first, the ticks give other programs a negative time, which
// would become zero. Over both periods, other programs used 0.2 of 4 s.
func TestStretchesAddUp(t *testing.T) {
	one := Activity{Wall: time.Second, Throttled: 1, Threads: 100 * time.Millisecond, Own: 800 * time.Millisecond,
		Totals: Totals{CPUs: 2, Busy: time.Second, Interrupts: 200 * time.Millisecond, Steal: 40 * time.Millisecond, Waiting: 300 * time.Millisecond, Load: 1}}
	two := one
	two.Busy, two.Load = 1400*time.Millisecond, 3
	want := Conditions{ForeignCPU: 0.2 / 4, Steal: 0.08 / 4, KernelCPU: 0.6 / 4, Busy: 2400 * time.Millisecond, CPUPressure: 0.3, Throttled: 2, Load: 3}
	about := cmpopts.EquateApprox(0, 1e-12)
	if diff := cmp.Diff(want, one.Plus(two).Conditions(), about); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	one.Waiting = -1
	if got := one.Plus(two).Conditions().CPUPressure; got != -1 {
		t.Errorf("pressure %v where one stretch does not tell it", got)
	}
	a := Conditions{ForeignCPU: 0.1, Steal: 0.2, CPUPressure: -1, Busy: time.Second, Throttled: 1, Load: 5}
	b := Conditions{ForeignCPU: 0.4, Steal: 0.2, CPUPressure: 0.5, Busy: time.Second, Throttled: -1, Load: 6}
	want = Conditions{ForeignCPU: 0.2, Steal: 0.2, CPUPressure: -1, Busy: 2 * time.Second, Throttled: -1, Load: 6}
	if diff := cmp.Diff(want, a.Joined(b, 2*time.Second, time.Second), about); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
