package runner

import (
	"os"
	"os/signal"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tare/internal/workload"
)

// stand continues this process with a signal, as after a stop. When stand returns, all listeners in the process have
// received the signal.
func stand(t *testing.T) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGCONT)
	if err := unix.Kill(unix.Getpid(), unix.SIGCONT); err != nil {
		t.Error(err)
	}
	<-told
	signal.Stop(told) // waits until the signal has reached every channel
}

// If Tare was stopped during a trial, it saw the trial's end too late.
func TestStoppedTrialIsRepeated(t *testing.T) {
	w := &fakeWorkload{}
	w.run = func(n int) (workload.Result, error) {
		if n == 2 {
			stand(t)
		}
		return good(), nil
	}
	x := expand(w)
	x.Plan.Rounds = 1
	j := finished(t, x)
	arm := func(i int) string { return x.Plan.Arms[x.Plan.Order(1)[i].Arm].Name }
	want := []string{"1 " + arm(0) + " 1", "1 " + arm(1) + " 1 stopped", "1 " + arm(2) + " 1", "1 " + arm(1) + " 2"}
	if diff := cmp.Diff(want, sequence(j.Trials())); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
}
