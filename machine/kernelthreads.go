package machine

import (
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"tare/machine/proc"
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
	root   string       // of the machine's files
	others map[int]bool // known not to be kernel threads
	serves map[int]bool // kernel threads seen last: whether it serves softirqs
}

const kthreadd = 2

// read gives the CPU time of each kernel thread by process id, but of those that
// serve softirqs. The map is empty where kernel threads cannot be seen.
func (k *kernelThreads) read() map[int]time.Duration {
	times := map[int]time.Duration{}
	if !seesKernelThreads(os.DirFS(k.root)) {
		return times
	}
	files := proc.Below(k.root)
	pids, listed := proc.Children(k.root, kthreadd)
	if !listed {
		pids = k.scan(files)
	}
	pids = append(pids, kthreadd)
	serves := make(map[int]bool, len(pids))
	for _, pid := range pids {
		p, err := files.Proc(pid)
		if err != nil {
			continue // gone
		}
		softirqs, known := k.serves[pid]
		if !known {
			name, _ := p.Comm()
			softirqs = strings.HasPrefix(name, "ksoftirqd/")
		}
		serves[pid] = softirqs
		if used, err := p.Schedstat(); err == nil && used.RunningNanoseconds <= math.MaxInt64 && !softirqs {
			times[pid] = time.Duration(used.RunningNanoseconds)
		}
	}
	k.serves = serves
	return times
}

// seesKernelThreads says whether process 2 is the parent of the kernel threads.
func seesKernelThreads(sys fs.FS) bool {
	return readText(sys, "proc/2/comm") == "kthreadd"
}

// scan goes through all processes, and gives the kernel threads but kthreadd.
func (k *kernelThreads) scan(files procfs.FS) []int {
	processes, _ := files.AllProcs()
	var pids []int
	others := map[int]bool{}
	for _, p := range processes {
		if !k.others[p.PID] {
			if stat, err := p.Stat(); err == nil && stat.PPID == kthreadd {
				pids = append(pids, p.PID)
				continue
			}
		}
		others[p.PID] = true
	}
	k.others = others
	return pids
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
