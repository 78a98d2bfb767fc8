//go:build unix

package machine

import (
	"os"

	"golang.org/x/sys/unix"
)

// allowed returns the present limit; false if there is none.
func (l limit) allowed() (uint64, bool) {
	resource, known := map[limit]int{OpenFiles: unix.RLIMIT_NOFILE, Processes: unix.RLIMIT_NPROC, VirtualMemory: unix.RLIMIT_AS, FileSize: unix.RLIMIT_FSIZE}[l]
	if !known || l == Processes && os.Geteuid() == 0 { // a limit on processes does not apply to root
		return 0, false
	}
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return r.Cur, true
}
