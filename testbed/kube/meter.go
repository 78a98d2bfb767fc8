package kube

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"tare/testbed"
	"tare/testbed/kube/agent"
)

// spent is CPU time, and what of it was spent in the kernel.
type spent struct{ cpu, system time.Duration }

// since is what was spent since an earlier moment. Counters that went back began
// anew. The kernel rounds the parts: they never exceed the whole.
func (s spent) since(then spent) spent {
	if s.cpu < then.cpu {
		then = spent{}
	}
	cpu := s.cpu - then.cpu
	return spent{cpu: cpu, system: min(max(0, s.system-then.system), cpu)}
}

// meter says what the programs in one pod use, from readings of the pod's cgroups
// on its node at the start and at the end of each. What the pod uses belongs to
// the program that runs, but for the other containers': the agent in the pod and
// a sandbox's own processes with it, in the same way in every arm. The node cannot
// tell programs of one pod apart that run at the same time: between two readings
// they share evenly, so that together they are never charged more than there was.
type meter struct {
	mu      sync.Mutex
	last    *agent.Cgroup // nil: not read yet
	running []*metered
}

// metered is one program.
type metered struct{ used spent }

// read takes a reading; beside are the names, by id, of the containers that are
// not the programs'.
func (m *meter) read(now agent.Cgroup, beside map[string]string) error {
	then := m.last
	m.last = &now
	if then == nil || len(m.running) == 0 {
		return nil
	}
	grown := spent{now.CPU, now.System}.since(spent{then.CPU, then.System})
	for _, c := range then.Containers {
		if name := beside[c.ID]; name != "" && within(&now, c.ID).ID == "" {
			return fmt.Errorf("the container %s ended while a program ran beside it: what each of them used is not known", told(name))
		}
	}
	for _, c := range now.Containers {
		if beside[c.ID] == "" {
			continue
		}
		before := within(then, c.ID)
		theirs := spent{c.CPU, c.System}.since(spent{before.CPU, before.System})
		grown.cpu -= theirs.cpu
		grown.system -= theirs.system
	}
	// The files are read one after the other, and the pod's first.
	grown.cpu = max(0, grown.cpu)
	grown.system = min(max(0, grown.system), grown.cpu)
	share := time.Duration(len(m.running))
	for _, one := range m.running {
		one.used.cpu += grown.cpu / share
		one.used.system += grown.system / share
	}
	return nil
}

// leave takes a program out.
func (m *meter) leave(one *metered) {
	m.running = slices.DeleteFunc(m.running, func(o *metered) bool { return o == one })
}

// usage is what a program used that has ended.
func (one *metered) usage(wall time.Duration, peak int64) testbed.Usage {
	return testbed.Usage{User: one.used.cpu - one.used.system, System: one.used.system, Wall: wall, MaxRSS: peak}
}

// ownMemory is the working set of a pod without the containers beside the programs.
func ownMemory(now *agent.Cgroup, beside map[string]string) int64 {
	own := now.WorkingSet
	for _, c := range now.Containers {
		if beside[c.ID] != "" {
			own -= c.WorkingSet
		}
	}
	return max(0, own)
}
