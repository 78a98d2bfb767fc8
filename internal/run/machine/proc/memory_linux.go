package proc

import "github.com/prometheus/procfs"

// Proportional returns the resident memory of a process in bytes (PSS). A page shared by several
// processes counts for each of them in equal parts. The caller needs the right to trace the process.
func Proportional(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	rollup, err := p.ProcSMapsRollup()
	return int64(rollup.Pss), err
}
