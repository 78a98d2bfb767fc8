package machine

import (
	"errors"
	"os"
	"time"

	"tare/machine/proc"
)

// Sampler tells what else used the CPU while a trial ran. It looks at the
// machine once before the trial and once after, and does nothing in between.
//
// # Method
//
// Foreign CPU time, Conditions.ForeignCPU, is found in two ways, and the larger
// one counts, since each misses something.
//
//   - What remains of the CPU time of all tasks (see ReadTotals) after
//     taking away what Tare and everything it started used (the caller knows that,
//     from the resource usage of waited-for processes) and what kernel threads
//     used (their schedstat). This sees everything on the machine, also outside
//     of a container.
//   - The growth of the CPU time of all processes that are not Tare's, those that
//     began and ended in between included (see total). This sees what the
//     first hides: with tick accounting, time in softirqs that interrupt a
//     process is part of that process's own time and not of the machine's user
//     and system time, so that under network load too much is taken away there.
//     iperf3 sending small datagrams as fast as two processors allow hid a
//     quarter of the machine.
//
// Kernel threads, interrupts and softirqs cannot be attributed: they may work
// for the trial (network, storage, encryption) or for others. They are reported
// together as Conditions.KernelCPU and never counted as foreign.
//
// # Limits
//
// CPU time in /proc comes in ticks of 10 ms: within a trial under a second the
// shares are coarse. Where the machine's comes from /proc/stat, work at regular times
// may look like more or less of it than there was. A kernel thread that ends within the trial takes its time
// with it, and that time counts as foreign; so does the time of all kernel
// threads inside a container with process ids of its own, where they cannot be
// seen (Describe notes it). Under network load on a kernel with tick accounting,
// programs outside of such a container are underestimated.
type Sampler struct {
	root   string // of the machine's files
	now    func() time.Time
	self   int // process id of Tare
	kernel kernelThreads

	begun  bool
	before snapshot
	paths  cgroupPaths
}

// NewSampler makes a sampler for this machine.
func NewSampler() *Sampler { return newSampler("/") }

func newSampler(root string) *Sampler {
	return &Sampler{root: root, now: time.Now, self: os.Getpid(), kernel: kernelThreads{root: root}}
}

// snapshot is the state of the machine's counters at one moment.
type snapshot struct {
	Totals
	threads   map[int]time.Duration // CPU time of kernel threads, by process id
	others    map[int]process       // that are neither those nor Tare's, by process id
	throttled int
}

// Start takes the snapshot before a trial. Call it last, right before the trial.
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

// Stop takes the snapshot after the trial and gives what happened since Start.
// Own is the CPU time that Tare itself and everything that it started used in
// between. Call it first, right after the trial; own is to be complete,
// so wait for all processes before.
func (s *Sampler) Stop(own time.Duration) (Spent, error) {
	if !s.begun {
		return Spent{}, errors.New("machine: Stop without a Start")
	}
	s.begun = false
	totals, err := ReadTotals(s.root, s.now)
	if err != nil {
		return Spent{}, err
	}
	after := snapshot{Totals: totals}
	s.readSlow(&after)
	return spent(&s.before, &after, own), nil
}

// readSlow reads what takes longer: it is done outside the time between the two
// readings of the clock.
func (s *Sampler) readSlow(shot *snapshot) {
	shot.threads = s.kernel.read()
	shot.others = others(proc.All(proc.Below(s.root)), s.self)
	sys := os.DirFS(s.root)
	shot.throttled = thermalEvents(sys) + s.paths.throttled(sys)
}
