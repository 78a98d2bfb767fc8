package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"tare/machine/proc"
)

// parseStat reads the lines of the CPUs in /proc/stat (proc_stat(5)): the totals but
// for Time, Waiting and Load. The reader of prometheus/procfs goes through the counters of
// all interrupts as well, gives up where the line of the softirqs is another than it
// knows, and returns after that: but the clock is to be read right after the file.
func parseStat(data []byte) (Totals, error) {
	var t Totals
	total := false
	for line := range bytes.Lines(data) {
		f := strings.Fields(string(line))
		if len(f) == 0 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		if f[0] != "cpu" {
			t.CPUs++
			continue
		}
		// user nice system idle iowait irq softirq steal guest guest_nice;
		// guest time is part of user time.
		var v [8]time.Duration
		for i := range v {
			if i+1 >= len(f) {
				break // kernels before 2.6.11 told less
			}
			ticks, err := strconv.ParseUint(f[i+1], 10, 64)
			if err != nil || ticks > math.MaxInt64/uint64(4*proc.Tick) {
				return Totals{}, fmt.Errorf("/proc/stat: %q is not a number of ticks", f[i+1])
			}
			v[i] = time.Duration(ticks) * proc.Tick
		}
		t.Interrupts, t.Steal = v[5]+v[6], v[7]
		t.Busy = v[0] + v[1] + v[2] + t.Interrupts
		total = true
	}
	if !total {
		return Totals{}, errors.New("/proc/stat: no line that begins with cpu")
	}
	return t, nil
}

// waiting is the time in which some task waited for a CPU; -1 where the kernel does not
// tell.
func waiting(files procfs.FS) time.Duration {
	pressure, err := files.PSIStatsForResource("cpu")
	if err != nil || pressure.Some == nil || pressure.Some.Total > math.MaxInt64/uint64(time.Microsecond) {
		return -1
	}
	return time.Duration(pressure.Some.Total) * time.Microsecond
}

// thermalEvents counts how often a CPU was slowed for its temperature since the
// machine was started: once per core, and the most that any core tells of its
// package, which all cores of a package tell alike.
func thermalEvents(sys fs.FS) int {
	var cores, packages int
	dirs, err := fs.Glob(sys, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle")
	if err != nil {
		return 0
	}
	for _, dir := range dirs {
		cores += readInt(sys, path.Join(dir, "core_throttle_count"))
		packages = max(packages, readInt(sys, path.Join(dir, "package_throttle_count")))
	}
	return cores + packages
}

// loadAverage gives the three load averages, or zeros.
func loadAverage(files procfs.FS) (load [3]float64) {
	told, err := files.LoadAvg()
	if err != nil {
		return load
	}
	for i, v := range []float64{told.Load1, told.Load5, told.Load15} {
		if v >= 0 && !math.IsInf(v, 0) {
			load[i] = v
		}
	}
	return load
}

// maxText bounds what is taken from a file of /proc or /sys.
const maxText = 16 << 20

// readText reads a small file without surrounding white space; "" if it cannot.
func readText(sys fs.FS, name string) string {
	data, err := fs.ReadFile(sys, name)
	if err != nil || len(data) > maxText {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// readInt reads a file with one number that is not negative; 0 if it cannot.
func readInt(sys fs.FS, name string) int {
	n, err := strconv.Atoi(readText(sys, name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// exists says whether there is a file of that name.
func exists(sys fs.FS, name string) bool {
	_, err := fs.Stat(sys, name)
	return err == nil
}

// Totals are what a machine has counted since it was started. On a cluster, a pod reads
// them on its node.
type Totals struct {
	Time       time.Time     `json:"time"`
	CPUs       int           `json:"cpus"`    // online
	Busy       time.Duration `json:"busy"`    // of all tasks, guests and interrupts included
	Interrupts time.Duration `json:"kernel"`  // irq and softirq
	Steal      time.Duration `json:"steal"`   // taken by the hypervisor
	Waiting    time.Duration `json:"waiting"` // pressure: in which some task waited for a CPU; -1: not told
	Load       float64       `json:"load"`    // 1 minute
}

// ReadTotals reads them below root. The clock is read right after the CPU times.
//
// Most kernels count the times in /proc/stat by what runs at each tick. Work that begins at regular times, as requests at a
// constant rate do, may fall on every tick or on none. Where the scheduler tells the time of all tasks, that is taken.
func ReadTotals(root string, now func() time.Time) (Totals, error) {
	data, err := fs.ReadFile(os.DirFS(root), "proc/stat")
	if err != nil {
		return Totals{}, fmt.Errorf("cannot tell what the CPUs do: %w", err)
	}
	at := now()
	t, err := parseStat(data)
	if err != nil {
		return Totals{}, err
	}
	if used, ok := taskTime(os.DirFS(root)); ok {
		t.Busy = used + t.Interrupts
	}
	files := proc.Below(root)
	t.Time, t.Waiting, t.Load = at, waiting(files), loadAverage(files)[0]
	return t, nil
}

// Since says how the machine did since an earlier reading, over a time that is the
// caller's to tell, but for ForeignCPU, KernelCPU and Throttled. It gives as well what
// makes a CPU time a share of the machine's.
func (t Totals) Since(before Totals, wall time.Duration) (c Conditions, share func(time.Duration) float64) {
	capacity := wall.Seconds() * float64(max(1, t.CPUs))
	share = func(d time.Duration) float64 {
		if capacity <= 0 {
			return 0
		}
		return min(1, max(0, d.Seconds()/capacity))
	}
	c = Conditions{
		Steal:       share(t.Steal - before.Steal),
		Busy:        min(max(0, t.Busy-before.Busy), time.Duration(capacity*float64(time.Second))),
		CPUPressure: -1,
		Load:        t.Load,
	}
	if t.Waiting >= 0 && before.Waiting >= 0 && wall > 0 {
		c.CPUPressure = min(1, max(0, (t.Waiting-before.Waiting).Seconds()/wall.Seconds()))
	}
	return c, share
}
