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

	"tare/internal/run/machine/proc"
)

// parseStat reads the CPU lines of /proc/stat. The parser of prometheus/procfs is not used: it is slow, and fails on
// unknown softirq lines.
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
		// A line of /proc/stat has the columns user nice system idle iowait irq softirq steal guest guest_nice. The
		// time user includes the time guest.
		var v [8]time.Duration
		for i := range v {
			if i+1 >= len(f) {
				break // kernels before 2.6.11 have fewer columns
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

// waitingTime is the total time in which some task waited for a CPU; -1 if the kernel does not report it.
func waitingTime(files procfs.FS) time.Duration {
	pressure, err := files.PSIStatsForResource("cpu")
	if err != nil || pressure.Some == nil || pressure.Some.Total > math.MaxInt64/uint64(time.Microsecond) {
		return -1
	}
	return time.Duration(pressure.Some.Total) * time.Microsecond
}

// thermalEvents counts how often heat has slowed down CPUs since boot. Only the largest count of a package is added,
// since its cores repeat it.
func thermalEvents(sys fs.FS) int {
	var cores, packages int
	dirs, _ := fs.Glob(sys, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle")
	for _, dir := range dirs {
		cores += readInt(sys, path.Join(dir, "core_throttle_count"))
		packages = max(packages, readInt(sys, path.Join(dir, "package_throttle_count")))
	}
	return cores + packages
}

// loadAverage returns the three load averages; zeros if unknown.
func loadAverage(files procfs.FS) (load [3]float64) {
	averages, err := files.LoadAvg()
	if err != nil {
		return load
	}
	for i, v := range []float64{averages.Load1, averages.Load5, averages.Load15} {
		if v >= 0 && !math.IsInf(v, 0) {
			load[i] = v
		}
	}
	return load
}

// maxText is the maximum size of a file that is read from /proc or /sys.
const maxText = 16 << 20

// readText reads a small file and trims white space; "" on an error.
func readText(sys fs.FS, name string) string {
	data, err := fs.ReadFile(sys, name)
	if err != nil || len(data) > maxText {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// readInt reads a file with one number; 0 on an error or if the number is negative.
func readInt(sys fs.FS, name string) int {
	n, err := strconv.Atoi(readText(sys, name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func exists(sys fs.FS, name string) bool {
	_, err := fs.Stat(sys, name)
	return err == nil
}

// Totals are the counters of a machine since boot. On a cluster, a pod reads the counters of its node.
type Totals struct {
	Time       time.Time     `json:"time"`
	CPUs       int           `json:"cpus"`    // online CPUs
	Busy       time.Duration `json:"busy"`    // CPU time of all tasks, guests and interrupts included
	Interrupts time.Duration `json:"kernel"`  // CPU time of irq and softirq
	Steal      time.Duration `json:"steal"`   // CPU time that the hypervisor has taken for other guests
	Waiting    time.Duration `json:"waiting"` // time in which at least one task waited for a CPU (pressure); -1: unknown
	Load       float64       `json:"load"`    // load average over 1 minute
}

// ReadTotals reads the counters below root, and the clock right after the CPU times. It prefers the scheduler's total,
// since ticks may miss work at regular intervals or count it too often.
func ReadTotals(root string, now func() time.Time) (Totals, error) {
	data, err := fs.ReadFile(os.DirFS(root), "proc/stat")
	if err != nil {
		return Totals{}, fmt.Errorf("cannot read the CPU times: %w", err)
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
	t.Time, t.Waiting, t.Load = at, waitingTime(files), loadAverage(files)[0]
	return t, nil
}

// Since returns the conditions since an earlier reading, but leaves ForeignCPU, KernelCPU and Throttled zero. The
// result share converts a CPU time to a share of the machine's capacity.
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
