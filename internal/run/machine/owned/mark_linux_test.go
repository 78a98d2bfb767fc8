package owned

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The mark identifies a program that has cleared its environment and left its session, also if a Tare runs within
// another Tare.
func TestMark(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &was); err != nil || was.Max != unix.RLIM_INFINITY {
		t.Skipf("limit %v, %v", was.Max, err)
	}
	self, err := This()
	if err != nil {
		t.Fatal(err)
	}
	marked := func(o Owner) Owner {
		cmd := exec.Command("setsid", "env", "-i", "sleep", "100")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		if o != (Owner{}) {
			o.Mark()
			if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: o.mark(), Max: o.mark()}, nil); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := Marked(cmd.Process.Pid, self)
		return got
	}
	if got := marked(Owner{}); got != (Owner{}) {
		t.Errorf("nobody has marked it: %v", got)
	}
	if got := marked(self); got != self {
		t.Errorf("owner %v, want %v", got, self)
	}
	later := Owner{pid: 1<<22 - 1, start: self.start + 1, namespace: self.namespace}
	if got := marked(later); got.pid != later.pid || got.start != later.start%(never+1) || !got.Orphaned(self) {
		t.Errorf("owner %v, want %v", got, later)
	}
	elsewhere := Owner{pid: 1, start: self.start + 2, namespace: self.namespace + 1}
	if got := marked(elsewhere); got != (Owner{}) {
		t.Errorf("of another namespace: %v", got)
	}
}
