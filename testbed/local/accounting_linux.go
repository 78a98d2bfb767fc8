package local

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// processClock is the CPU time that all threads of a process have used so far.
func processClock(pid int) (time.Duration, error) {
	stat, err := proc.Read(pid)
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return stat.Clock(), nil
}

// watchMemory looks at the memory of a process and of its descendants until it ends, in
// growing intervals, so that a long trial is not disturbed.
func watchMemory(peak *proc.Peak, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		lookAtMemory(peak, pid, 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait.Milliseconds()))
		if n > 0 || (err != nil && err != unix.EINTR) {
			return
		}
	}
}

// lookAtMemory takes the high-water marks of a process and its living descendants.
func lookAtMemory(peak *proc.Peak, pid, depth int) {
	peak.Look(pid)
	if depth > 8 {
		return
	}
	children, _ := proc.Children("/", pid)
	for _, child := range children {
		lookAtMemory(peak, child, depth+1)
	}
}
