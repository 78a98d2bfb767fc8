package agent

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// peak finds the peak resident memory of a program, the largest of any one
// process of it.
//
// The kernel's own figure (ru_maxrss) starts not at zero but at the peak of the
// process that forked the program, which is the agent's. It is exact when it is
// larger than that, and says nothing otherwise. The high-water mark of the leader
// has no such floor, but is gone when it ends; so it is looked at a few times
// while it runs. That is a lower bound for small programs.
type peak struct {
	exact  int64 // largest ru_maxrss that was above the floor, bytes
	marked int64 // largest high-water mark seen, bytes
}

// looks are the times after a program's start at which its memory is looked at;
// then every 30 s, so that a trial is not disturbed.
var looks = []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second}

// watchPeak looks until the leader has ended.
func (p *program) watchPeak(exited <-chan struct{}) {
	timer := time.NewTimer(looks[0])
	defer timer.Stop()
	for i := 0; ; i++ {
		select {
		case <-exited:
			return
		case <-timer.C:
		}
		p.server.processes.Lock()
		if !p.exited {
			p.peak.marked = max(p.peak.marked, highWater(p.pid))
		}
		p.server.processes.Unlock()
		wait := looks[len(looks)-1]
		if i+1 < len(looks) {
			wait = looks[i+1] - looks[i]
		}
		timer.Reset(wait)
	}
}

// ended takes the ru_maxrss of a process that was reaped, and the floor at or
// below which it says nothing, in bytes.
func (k *peak) ended(maxrss, floor int64) {
	if maxrss > floor {
		k.exact = max(k.exact, maxrss)
	}
}

func (k *peak) bytes() int64 { return max(k.exact, k.marked) }

// ownPeak is the peak resident memory of the agent, as much as exec can have
// taken it for. The kernel counts pages per CPU and adds the counts up roughly
// there, to within a batch (percpu_counter_batch) per CPU for each of the three
// kinds of pages.
func ownPeak() int64 {
	own := highWater(os.Getpid())
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		own = max(own, ru.Maxrss*1024)
	}
	cpus := int64(runtime.NumCPU())
	return own + 3*max(32, 2*cpus)*cpus*int64(os.Getpagesize())
}
