package owned

import (
	"fmt"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// What a mark has of an owner, in bits, the lowest first. The start counts down, so that a Tare which a program of another
// one starts has a smaller mark: nobody may raise a limit. Bit 62 says that it is one.
const (
	spaceBits, pidBits, startBits = 14, 22, 26
	isMark                        = 1 << (spaceBits + pidBits + startBits)
	never                         = 1<<startBits - 1
)

// mark is a number that names the owner.
func (o Owner) mark() uint64 {
	return isMark | (never-o.start%(never+1))<<(spaceBits+pidBits) | uint64(o.pid)<<spaceBits | o.space%(1<<spaceBits)
}

// Mark has all that this process starts from now on bear its name, and all their descendants: as the limit of the CPU time of
// real-time programs (RLIMIT_RTTIME), which is unlimited otherwise, and is at least 146,000 years with it. A program keeps it that
// clears its environment, leaves its session and its cgroup, and has lost its parents. Where the system has set a smaller limit,
// that stays, and there is no mark.
func (o Owner) Mark() {
	var was unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &was) == nil && (was.Max == unix.RLIM_INFINITY || was.Max&isMark != 0) {
		_ = unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: o.mark(), Max: o.mark()}, nil)
	}
}

// Marked gives the owner whose mark a process bears that lives. One in another process id namespace is nobody's
// here.
func Marked(pid int, self Owner) (o Owner, ok bool) {
	if stat, err := proc.Read(pid); err != nil || stat.Gone() {
		return o, false
	}
	var limit unix.Rlimit
	var ns unix.Stat_t
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) != nil || limit.Max == unix.RLIM_INFINITY || limit.Max&isMark == 0 ||
		unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", pid), &ns) != nil || ns.Ino != self.space || limit.Max%(1<<spaceBits) != self.space%(1<<spaceBits) {
		return o, false
	}
	o = Owner{pid: int(limit.Max >> spaceBits % (1 << pidBits)), start: never - limit.Max>>(spaceBits+pidBits)%(never+1), space: self.space}
	if stat, err := proc.Read(o.pid); err == nil && stat.Starttime%(never+1) == o.start {
		o.start = stat.Starttime // the rest of it
	}
	return o, true
}
