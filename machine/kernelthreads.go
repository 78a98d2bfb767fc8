package machine

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// kernelThreads reads the CPU time of the kernel's own threads. They are the
// children of process 2, kthreadd, which the kernel lists in one file; where it
// does not, the list of processes is gone through, and what once was no kernel
// thread is not looked at again.
//
// The threads that serve softirqs, ksoftirqd/0 and so on, are left out: what they
// do there is in the machine's softirq time and not in its system time
// (account_system_time in the kernel's sched/cputime.c), and would be counted
// twice.
type kernelThreads struct {
	sys    fs.FS
	others map[int]bool // known not to be kernel threads
	serves map[int]bool // kernel threads seen last: whether it serves softirqs
}

const kthreadd = 2

// read gives the CPU time of each kernel thread by process id, but of those that
// serve softirqs. The map is empty where kernel threads cannot be seen.
func (k *kernelThreads) read() map[int]time.Duration {
	times := map[int]time.Duration{}
	if !seesKernelThreads(k.sys) {
		return times
	}
	pids := append(k.list(), kthreadd)
	serves := make(map[int]bool, len(pids))
	for _, pid := range pids {
		softirqs, known := k.serves[pid]
		if !known {
			softirqs = strings.HasPrefix(readText(k.sys, path.Join("proc", strconv.Itoa(pid), "comm")), "ksoftirqd/")
		}
		serves[pid] = softirqs
		if t, ok := k.cpu(pid); ok && !softirqs {
			times[pid] = t
		}
	}
	k.serves = serves
	return times
}

// seesKernelThreads says whether process 2 is the parent of the kernel threads.
func seesKernelThreads(sys fs.FS) bool {
	return readText(sys, "proc/2/comm") == "kthreadd"
}

// list gives the process ids of the kernel threads but kthreadd.
func (k *kernelThreads) list() []int {
	data, err := fs.ReadFile(k.sys, "proc/2/task/2/children")
	if err != nil {
		return k.scan()
	}
	var pids []int
	for _, f := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// scan goes through all processes.
func (k *kernelThreads) scan() []int {
	entries, err := fs.ReadDir(k.sys, "proc")
	if err != nil {
		return nil
	}
	var pids []int
	others := map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if !k.others[pid] && k.parent(pid) == kthreadd {
			pids = append(pids, pid)
			continue
		}
		others[pid] = true
	}
	k.others = others
	return pids
}

// parent gives the parent of a process, 0 if it is gone.
func (k *kernelThreads) parent(pid int) int {
	data, err := fs.ReadFile(k.sys, path.Join("proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	p, _ := parseProcess(string(data))
	return p.parent
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// cpu gives the CPU time of a thread from its schedstat, whose first field is
// in nanoseconds.
func (k *kernelThreads) cpu(pid int) (time.Duration, bool) {
	data, err := fs.ReadFile(k.sys, path.Join("proc", strconv.Itoa(pid), "schedstat"))
	if err != nil {
		return 0, false
	}
	return parseSchedstat(string(data))
}

func parseSchedstat(text string) (time.Duration, bool) {
	f := strings.Fields(text)
	if len(f) == 0 {
		return 0, false
	}
	ns, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil || ns < 0 {
		return 0, false
	}
	return time.Duration(ns), true
}

// threadTime gives the CPU time of kernel threads between two readings. One that
// is new counts in full; one that is gone does not count, nor does one whose
// process id was given to another in between.
func threadTime(before, after map[int]time.Duration) time.Duration {
	var sum time.Duration
	for pid, t := range after {
		sum += max(0, t-before[pid])
	}
	return sum
}
