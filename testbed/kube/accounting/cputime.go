package accounting

import "time"

// cpuTime is CPU time, and what of it was spent in the kernel.
type cpuTime struct{ all, system time.Duration }

// since is what was used since an earlier moment. Counters that went back began
// anew. The kernel rounds the parts, so that they are kept from exceeding the whole.
func (t cpuTime) since(then cpuTime) cpuTime {
	if t.all < then.all {
		then = cpuTime{}
	}
	all := t.all - then.all
	return cpuTime{all: all, system: min(max(0, t.system-then.system), all)}
}
