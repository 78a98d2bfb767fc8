//go:build !linux

package runner

import (
	"fmt"
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// asleep returns 0: on this system, nothing tells how long the machine was suspended. A suspension only shows as failed
// connections to the cluster.
func asleep() time.Duration { return 0 }

// notifyContinued does nothing, since not every system has a signal for a process that continues.
func notifyContinued(chan<- os.Signal) {}

// processTimes returns the CPU time of this process, without its children: trials run on a cluster, where the agent
// measures CPU time.
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
