package owned

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// This names this process.
func This() (Owner, error) {
	stat, err := proc.Read(os.Getpid())
	if err != nil {
		return Owner{}, fmt.Errorf("read own start time (is /proc mounted for this process id namespace?): %w", err)
	}
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return Owner{}, fmt.Errorf("read own process id namespace: %w", err)
	}
	return Owner{pid: os.Getpid(), start: stat.Starttime, space: ns.Ino}, nil
}

// alive says whether that process still runs. It must be in our process id namespace.
func (o Owner) alive() bool {
	stat, err := proc.Read(o.pid)
	return err == nil && stat.Starttime == o.start && !stat.Gone()
}

// mine says whether a file or directory belongs to this user.
func mine(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && int(st.Uid) == os.Geteuid()
}
