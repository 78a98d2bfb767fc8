//go:build !linux

package runner

import (
	"fmt"
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// asleep is not known: a suspended machine shows in the connections to its
// cluster only.
func asleep() time.Duration { return 0 }

// notifyContinued sends nothing: not every system has the signal.
func notifyContinued(chan<- os.Signal) {}

// processTimes is the CPU time that this process has used. That of its children
// is not known; trials run on a cluster, where the agent counts.
func processTimes() (own, children time.Duration, err error) {
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0, 0, fmt.Errorf("CPU time of Tare: %w", err)
	}
	t, err := self.Times()
	if err != nil {
		return 0, 0, fmt.Errorf("CPU time of Tare: %w", err)
	}
	return time.Duration((t.User + t.System) * float64(time.Second)), 0, nil
}
