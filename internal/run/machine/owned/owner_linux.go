package owned

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tare/internal/run/machine/proc"
)

// This returns the owner for this process.
func This() (Owner, error) {
	stat, err := proc.Read(os.Getpid())
	if err != nil {
		return Owner{}, fmt.Errorf("read own start time (is /proc mounted for this process id namespace?): %w", err)
	}
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return Owner{}, fmt.Errorf("read own process id namespace: %w", err)
	}
	return Owner{pid: os.Getpid(), start: stat.Starttime, namespace: ns.Ino}, nil
}

// alive reports whether the owner still runs. The owner must be in the process id namespace of this process.
func (o Owner) alive() bool {
	stat, err := proc.Read(o.pid)
	return err == nil && stat.Starttime == o.start && !stat.Gone()
}

// initial is the inode of the process id namespace that contains all others (PROC_PID_INIT_INO).
const initial = 0xEFFFFFFC

// isEmpty reports whether a process id namespace has no process left that this process can see.
func isEmpty(space uint64) bool {
	all, err := procfs.AllProcs()
	return err == nil && !slices.ContainsFunc(all, func(p procfs.Proc) bool {
		var ns unix.Stat_t
		if unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", p.PID), &ns) == nil {
			return ns.Ino == space
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
		// the process is in a namespace below that this process may not inspect
		return len(strings.Fields(proc.Field(status, "NSpid"))) > 1
	})
}

func belongsToUser(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && int(st.Uid) == os.Geteuid()
}
