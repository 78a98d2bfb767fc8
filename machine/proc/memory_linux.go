package proc

import "github.com/prometheus/procfs"

// Proportional is what is resident of a process of this machine, in bytes, a page that several
// processes share counted for each of them in equal parts (PSS). It takes the right to trace it.
func Proportional(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	rollup, err := p.ProcSMapsRollup()
	return int64(rollup.Pss), err
}
