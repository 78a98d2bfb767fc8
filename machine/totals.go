package machine

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"tare/machine/proc"
)

// Totals are what a machine has counted since it was started, for those who
// compute their differences elsewhere: on a cluster, a pod reads them on its node.
type Totals struct {
	CPUs       int           // online
	Busy       time.Duration // user, nice and system, guests included
	Interrupts time.Duration // irq and softirq
	Steal      time.Duration // taken by the hypervisor
	Waiting    time.Duration // in which some task waited for a CPU; -1: not told
	Load       float64       // 1 minute
}

// ReadTotals reads them below root.
func ReadTotals(root string) (Totals, error) {
	sys := os.DirFS(root)
	data, err := fs.ReadFile(sys, "proc/stat")
	if err != nil {
		return Totals{}, fmt.Errorf("cannot tell what the CPUs do: %w", err)
	}
	t, err := parseStat(data)
	if err != nil {
		return Totals{}, err
	}
	t.Waiting, t.Load = -1, loadAverage(sys)[0]
	if d, ok := waiting(proc.Below(root)); ok {
		t.Waiting = d
	}
	return t, nil
}
