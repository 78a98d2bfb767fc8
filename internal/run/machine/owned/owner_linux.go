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

// initial is the inode of the machine's first process id namespace (PROC_PID_INIT_INO), which contains all other
// namespaces.
const initial = 0xEFFFFFFC

// isEmpty reports whether this process sees no process in a process id namespace.
func isEmpty(space uint64) bool {
	all, err := procfs.AllProcs()
	return err == nil && !slices.ContainsFunc(all, func(p procfs.Proc) bool {
		var ns unix.Stat_t
		if unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", p.PID), &ns) == nil {
			return ns.Ino == space
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
		// If the process has two ids, it is in a namespace below this one. This may be the namespace that is looked
		// for.
		return len(strings.Fields(proc.Field(status, "NSpid"))) > 1
	})
}

func belongsToUser(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && int(st.Uid) == os.Geteuid()
}

// Bits of the fields of a mark, from the lowest. isMark tells a mark from a real limit. A later start time gives a
// smaller mark, since no process may raise a limit.
const (
	spaceBits, pidBits, startBits = 14, 22, 26
	isMark                        = 1 << (spaceBits + pidBits + startBits)
	never                         = 1<<startBits - 1
)

func (o Owner) mark() uint64 {
	return isMark | (never-o.start%(never+1))<<(spaceBits+pidBits) | uint64(o.pid)<<spaceBits | o.namespace%(1<<spaceBits)
}

// Mark marks this process and all programs that it starts from now on: RLIMIT_RTTIME gets a value of at least 146,000
// years, which programs cannot give up. If the system has set this limit, Mark does nothing.
func (o Owner) Mark() {
	var was unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &was) == nil && (was.Max == unix.RLIM_INFINITY || was.Max&isMark != 0) {
		_ = unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: o.mark(), Max: o.mark()}, nil)
	}
}

// Marked returns the owner whose mark a process has. ok is false without a mark, after the process has ended, or in
// another process id namespace.
func Marked(pid int, self Owner) (o Owner, ok bool) {
	if stat, err := proc.Read(pid); err != nil || stat.Gone() {
		return o, false
	}
	var limit unix.Rlimit
	var ns unix.Stat_t
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) != nil || limit.Max == unix.RLIM_INFINITY || limit.Max&isMark == 0 ||
		unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", pid), &ns) != nil || ns.Ino != self.namespace || limit.Max%(1<<spaceBits) != self.namespace%(1<<spaceBits) {
		return o, false
	}
	o = Owner{pid: int(limit.Max >> spaceBits % (1 << pidBits)), start: never - limit.Max>>(spaceBits+pidBits)%(never+1), namespace: self.namespace}
	if stat, err := proc.Read(o.pid); err == nil && stat.Starttime%(never+1) == o.start {
		o.start = stat.Starttime // the mark has only the lower bits of the start time; /proc has the whole start time
	}
	return o, true
}
