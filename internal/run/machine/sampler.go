package machine

import (
	"errors"
	"os"
	"time"

	"tare/internal/run/machine/proc"
)

// Sampler measures the CPU use of other programs during a trial. It reads the machine's counters before and after the
// trial, and does nothing in between.
//
// # Method
//
// Foreign CPU time (Conditions.ForeignCPU) is determined in two ways. The larger value counts, since each method misses
// something.
//
//   - The CPU time of all tasks (ReadTotals), minus the time of Tare, its programs and kernel threads. This covers
//     the whole machine, even if Tare is in a container.
//   - The growth of the CPU time of all processes that are not Tare's (total). With tick accounting, a softirq counts
//     as time of the process that it interrupts. Under network load, the first method then subtracts too much. With
//     small datagrams of iperf3 on two processors, it missed a quarter of the machine's CPU time.
//
// Kernel threads, interrupts and softirqs may work for the trial or for other programs. Conditions.KernelCPU is their
// sum. Apart from the limits below, none of the three counts as foreign.
//
// # Limits
//
// CPU time in /proc is in ticks of 10 ms: the shares of a trial under a second are coarse. With /proc/stat, work at
// regular intervals may appear as more or less than it was. A kernel thread that ends within the trial counts as
// foreign. In a container with its own process ids, all kernel threads count as foreign (Describe notes it). Under
// network load with tick accounting, programs outside of such a container are underestimated.
type Sampler struct {
	root string // root directory of the machine's files
	now  func() time.Time
	self int // process id of Tare

	begun  bool
	before snapshot
	paths  cgroupPaths
}

// NewSampler makes a sampler for this machine.
func NewSampler() *Sampler { return newSampler("/") }

func newSampler(root string) *Sampler {
	return &Sampler{root: root, now: time.Now, self: os.Getpid()}
}

type snapshot struct {
	Totals
	threads   map[int]time.Duration // CPU time of kernel threads, by process id
	others    map[int]process       // processes by id, other than kernel threads and processes of Tare
	throttled int
}

// Start takes the snapshot before a trial. It must be the last call before the trial.
func (s *Sampler) Start() error {
	s.begun = false
	s.paths = ownCgroup(os.DirFS(s.root), proc.Groups(proc.Below(s.root)))
	var shot snapshot
	s.readSlow(&shot)
	var err error
	if shot.Totals, err = ReadTotals(s.root, s.now); err != nil {
		return err
	}
	s.before, s.begun = shot, true
	return nil
}

// Stop returns the machine's activity since Start, and must be the first call after the trial. own is the CPU time of
// Tare and its programs since Start.
func (s *Sampler) Stop(own time.Duration) (Activity, error) {
	if !s.begun {
		return Activity{}, errors.New("machine: Stop without a Start")
	}
	s.begun = false
	totals, err := ReadTotals(s.root, s.now)
	if err != nil {
		return Activity{}, err
	}
	after := snapshot{Totals: totals}
	s.readSlow(&after)
	return between(&s.before, &after, own), nil
}

// readSlow reads the counters that take long to read. It is called before and after the measured time.
func (s *Sampler) readSlow(shot *snapshot) {
	files, sys := proc.Below(s.root), os.DirFS(s.root)
	all := proc.All(files)
	shot.threads, shot.others = kernelTimes(files, all), others(all, s.self)
	shot.throttled = thermalEvents(sys) + s.paths.throttled(sys)
}

// Activity is the CPU use of a machine over a period, from which Conditions are computed. To join periods of a trial,
// add Activities (Plus): joined Conditions are less exact.
type Activity struct {
	Totals                             // growth of the totals; but Time is zero, and Load is the load at the end
	Wall      time.Duration            // duration between the two readings of the clock
	Threads   time.Duration            // CPU time of kernel threads
	Others    time.Duration            // CPU time of all processes that are not Tare's
	Own       time.Duration            // CPU time of Tare and of all programs that it started
	Throttled int                      // number of thermal and cgroup throttling events
	Programs  map[string]time.Duration // CPU time of the processes that Others counts, by program name
}

func between(before, after *snapshot, own time.Duration) Activity {
	return Activity{
		Totals: after.plus(before.Totals, -1, after.CPUs), Wall: after.Time.Sub(before.Time), Threads: threadTime(before.threads, after.threads),
		Others: total(after.others) - total(before.others), Programs: byName(before.others, after.others), Own: own, Throttled: max(0, after.throttled-before.throttled),
	}
}

// Plus adds the activities of two periods. The argument o is the activity of the later period.
func (s Activity) Plus(o Activity) Activity {
	return Activity{
		Totals: o.plus(s.Totals, 1, max(s.CPUs, o.CPUs)), Wall: s.Wall + o.Wall, Threads: s.Threads + o.Threads, Others: s.Others + o.Others,
		Programs: addTimes(s.Programs, o.Programs), Own: s.Own + o.Own, Throttled: s.Throttled + o.Throttled,
	}
}

// plus adds the totals of an earlier reading or period to the totals t. With sign = -1, it subtracts the earlier totals
// from t.
func (t Totals) plus(earlier Totals, sign time.Duration, cpus int) Totals {
	sum := Totals{CPUs: cpus, Busy: t.Busy + sign*earlier.Busy, Interrupts: t.Interrupts + sign*earlier.Interrupts,
		Steal: t.Steal + sign*earlier.Steal, Waiting: -1, Load: t.Load}
	if t.Waiting >= 0 && earlier.Waiting >= 0 {
		sum.Waiting = max(0, t.Waiting+sign*earlier.Waiting)
	}
	return sum
}

// Conditions converts the activity to shares. Sampler describes the method.
func (s Activity) Conditions() Conditions {
	c, share := s.Since(Totals{}, s.Wall)
	c.ForeignCPU = share(max(s.Busy-s.Interrupts-s.Own-s.Threads, s.Others))
	c.KernelCPU = share(s.Threads + s.Interrupts)
	c.Throttled, c.Programs = s.Throttled, busiest(s.Programs, share)
	return c
}
