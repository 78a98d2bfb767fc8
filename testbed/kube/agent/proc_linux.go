package agent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of CPU times in /proc/PID/stat (USER_HZ, 100 on every
// architecture that Tare is built for).
const tick = 10 * time.Millisecond

// procStat is what this package needs of /proc/PID/stat.
type procStat struct {
	state   byte
	parent  int
	group   int
	session int
	own     uint64 // user and system time, ticks
	reaped  uint64 // of the children that it has waited for, ticks
}

// dead says that it has ended and waits to be reaped.
func (s procStat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// parseStat reads a line of /proc/PID/stat. The second field is the program's
// name in parentheses and may itself hold spaces and parentheses.
func parseStat(text []byte) (procStat, error) {
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 15 || len(fields[0]) != 1 {
		return procStat{}, fmt.Errorf("unexpected /proc/PID/stat: %.200q", text)
	}
	s := procStat{state: fields[0][0]}
	var err error
	number := func(i int) uint64 {
		n, e := strconv.ParseUint(fields[i], 10, 62)
		if e != nil && err == nil {
			err = fmt.Errorf("unexpected /proc/PID/stat: %.200q: %w", text, e)
		}
		return n
	}
	s.parent, s.group, s.session = int(number(1)), int(number(2)), int(number(3))
	s.own = number(11) + number(12)
	s.reaped = number(13) + number(14)
	if err != nil {
		return procStat{}, err
	}
	return s, nil
}

// processes reads the state of all processes that this one sees.
func processes() map[int]procStat {
	all := map[int]procStat{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended since
		}
		if s, err := parseStat(text); err == nil {
			all[pid] = s
		}
	}
	return all
}

// processClock is the CPU time of all threads of a process: the kernel's own
// clock in nanoseconds (clock_getcpuclockid(3)), or ticks where it is not to be
// had, as in gVisor.
func processClock(pid int, s procStat) time.Duration {
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano())
	}
	return time.Duration(s.own) * tick
}

// statusField reads a field of /proc/PID/status; "" if it isn't there.
func statusField(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

// highWater is the peak resident memory of a living process in bytes; what it has
// now where the kernel keeps no peak (gVisor); 0 if it cannot be told.
func highWater(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	value := statusField(text, "VmHWM")
	if value == "" {
		value = statusField(text, "VmRSS")
	}
	kB, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 50)
	if err != nil || kB < 0 {
		return 0
	}
	return kB * 1024
}
