package local

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procStat is what this package needs of /proc/PID/stat.
type procStat struct {
	state  byte
	parent int
	group  int
	kernel bool   // a thread of the kernel
	ending bool   // has begun to exit: its memory and files may be gone already
	ticks  uint64 // user and system time
	start  uint64 // start time in ticks since boot: with the id, unique
}

// Two of the flags in /proc/PID/stat: PF_KTHREAD and PF_EXITING.
const (
	kernelThread = 0x00200000
	exiting      = 0x00000004
)

// dead says that the process has ended and only waits to be reaped. Its
// children are its parent's now.
func (s procStat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// gone says that the process is dead or about to be.
func (s procStat) gone() bool { return s.dead() || s.ending }

func readStat(pid int) (procStat, error) {
	text, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(text)
}

// parseStat reads a line of /proc/PID/stat. The second field is the program's
// name in parentheses and may itself hold spaces and parentheses.
func parseStat(text []byte) (procStat, error) {
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 20 || len(fields[0]) != 1 || fields[0][0] < 'A' {
		return procStat{}, fmt.Errorf("unexpected /proc/PID/stat: %q", text)
	}
	var s procStat
	var errs [6]error
	var flags, user, system uint64
	s.state = fields[0][0]
	s.parent, errs[0] = strconv.Atoi(fields[1])
	s.group, errs[1] = strconv.Atoi(fields[2])
	user, errs[2] = strconv.ParseUint(fields[11], 10, 64)
	system, errs[3] = strconv.ParseUint(fields[12], 10, 64)
	flags, errs[5] = strconv.ParseUint(fields[6], 10, 64)
	s.start, errs[4] = strconv.ParseUint(fields[19], 10, 64)
	s.kernel, s.ending = flags&kernelThread != 0, flags&exiting != 0
	s.ticks = user + system
	for _, err := range errs {
		if err != nil {
			return procStat{}, fmt.Errorf("unexpected /proc/PID/stat: %q: %w", text, err)
		}
	}
	return s, nil
}

// statusBytes reads a size from /proc/PID/status; 0 if it isn't there.
func statusBytes(pid int, field string) int64 {
	text, err := readProc(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), "\n"+field)
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kB * 1024
}

// childrenOf lists the children of a process from /proc/PID/task/TID/children.
// Kernels without CONFIG_PROC_CHILDREN don't have these: then listed is false.
func childrenOf(pid int) (children []int, listed bool) {
	for _, thread := range numbered(fmt.Sprintf("/proc/%d/task", pid)) {
		text, err := readProc(fmt.Sprintf("/proc/%d/task/%d/children", pid, thread))
		if err != nil {
			continue
		}
		listed = true
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, listed
}

// allProcesses lists the process ids that /proc shows.
func allProcesses() []int { return numbered("/proc") }

// numbered lists the entries of a directory whose names are numbers.
func numbered(directory string) []int {
	fd, err := unix.Open(directory, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	var numbers []int
	buffer := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		if n <= 0 || err != nil {
			return numbers
		}
		_, _, names := unix.ParseDirent(buffer[:n], -1, nil)
		for _, name := range names {
			if number, err := strconv.Atoi(name); err == nil {
				numbers = append(numbers, number)
			}
		}
	}
}

// readProc reads a file of /proc. The os package would first try to have the
// runtime's poller watch it, which costs more than reading, and this is done
// during trials.
func readProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	text := make([]byte, 0, 2048)
	for {
		if len(text) == cap(text) {
			text = slices.Grow(text, cap(text))
		}
		n, err := unix.Read(fd, text[len(text):cap(text)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return text, nil
		default:
			text = text[:len(text)+n]
		}
	}
}
