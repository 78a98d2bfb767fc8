package machine

import (
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/run/machine/proc"
)

// kernelThreads reads the CPU time of the kernel's own threads, which are children of process 2, kthreadd. If
// the kernel does not list children in a file, all processes are scanned, except those known not to be kernel
// threads.
//
// Threads for softirqs, such as ksoftirqd/0, are excluded. Their work is part of the machine's softirq time,
// not its system time (account_system_time in the kernel's sched/cputime.c), and would count twice.
type kernelThreads struct {
	root   string       // root directory of the machine's files
	others map[int]bool // processes known not to be kernel threads
	serves map[int]bool // kernel threads of the last reading, with whether they serve softirqs
}

const kthreadd = 2

// read returns the CPU time of each kernel thread by process id, except those for softirqs. The map is
// empty if kernel threads are not visible.
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
			continue // the thread has ended
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

func seesKernelThreads(sys fs.FS) bool {
	return readText(sys, "proc/2/comm") == "kthreadd"
}

// scan searches all processes for kernel threads and returns them without kthreadd.
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

// threadTime returns the CPU time used by kernel threads between two readings. A new thread counts in
// full. A thread that has ended, or whose process id was reused, does not count.
func threadTime(before, after map[int]time.Duration) time.Duration {
	var sum time.Duration
	for pid, t := range after {
		sum += max(0, t-before[pid])
	}
	return sum
}
