package machine

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"tare/machine/proc"
)

// Totals are what a machine has counted since it was started. On a cluster, a pod reads
// them on its node.
type Totals struct {
	Time       time.Time     `json:"time"`
	CPUs       int           `json:"cpus"`    // online
	Busy       time.Duration `json:"busy"`    // user, nice and system, guests and interrupts included
	Interrupts time.Duration `json:"kernel"`  // irq and softirq
	Steal      time.Duration `json:"steal"`   // taken by the hypervisor
	Waiting    time.Duration `json:"waiting"` // pressure: in which some task waited for a CPU; -1: not told
	Load       float64       `json:"load"`    // 1 minute
}

// ReadTotals reads them below root. The clock is read right after the CPU times.
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
