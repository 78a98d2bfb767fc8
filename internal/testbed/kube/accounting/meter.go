package accounting

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// meter measures the CPU time of the programs in one pod. It reads the pod's cgroups on the
// node at the start and at the end of each program.
//
// The program is charged with the usage of the pod between the two readings, without the usage of the
// sidecars. The usage of the agent in the pod and of a sandbox's own processes is included, in the same way
// in every arm. Programs that run at the same time in one pod cannot be distinguished from the node. They
// share the pod's usage of that time evenly, and so their sum is never too large.
type meter struct {
	mu      sync.Mutex
	last    *cgroup.Usage // latest reading; nil before the first
	running []*programUse
	// unnamed has the ids of those cgroups in the pod that belong to none of the pod's containers; nil before
	// the first reading.
	unnamed map[string]bool
}

// programUse is the CPU time of one program so far.
type programUse struct{ cpu cpuTime }

// read processes a reading. sidecars holds the names of the pod's sidecars, by container id.
func (m *meter) read(now cgroup.Usage, sidecars map[string]string) error {
	then := m.last
	m.last = &now
	if then == nil || len(m.running) == 0 {
		return nil
	}
	grown := cpuTime{now.CPU, now.System}.since(cpuTime{then.CPU, then.System})
	for _, c := range then.Containers {
		if name := sidecars[c.ID]; name != "" && containerOf(&now, c.ID).ID == "" {
			return fmt.Errorf("the container %s ended while a program ran beside it: "+
				"their shares of the pod's CPU time are unknown", safetext.Head(name, cluster.LineLimit))
		}
	}
	for _, c := range now.Containers {
		if sidecars[c.ID] == "" {
			continue
		}
		before := containerOf(then, c.ID)
		theirs := cpuTime{c.CPU, c.System}.since(cpuTime{before.CPU, before.System})
		grown.all -= theirs.all
		grown.system -= theirs.system
	}
	// The agent reads the counters of the pod before those of the sidecars. The sidecars' counters may have
	// grown meanwhile, and the difference may be negative.
	grown.all = max(0, grown.all)
	grown.system = min(max(0, grown.system), grown.all)
	share := time.Duration(len(m.running))
	for _, p := range m.running {
		p.cpu.all += grown.all / share
		p.cpu.system += grown.system / share
	}
	return nil
}

// remove stops charging a program with usage.
func (m *meter) remove(p *programUse) {
	m.running = slices.DeleteFunc(m.running, func(o *programUse) bool { return o == p })
}

func (p *programUse) usage(wall time.Duration, peak int64) testbed.Usage {
	return testbed.Usage{User: p.cpu.all - p.cpu.system, System: p.cpu.system, Wall: wall, MaxRSS: peak}
}

// ownMemory returns the working set of a pod without its sidecars, in bytes.
func ownMemory(now *cgroup.Usage, sidecars map[string]string) int64 {
	own := now.WorkingSet
	for _, c := range now.Containers {
		if sidecars[c.ID] != "" {
			own -= c.WorkingSet
		}
	}
	return max(0, own)
}

// identify makes sure that the meter knows every container in the pod, so that it can distinguish sidecars
// from programs. If a cgroup belongs to no known container at the first reading, when the pod is ready, it is
// the container runtime's and counts as the program's. If such a cgroup appears later, it is that of a
// restarted container: the pod is then read from the API server again.
func (m *meter) identify(ctx context.Context, p *pods.Pod, found []cgroup.Container) error {
	names := p.Containers()
	first := m.unnamed == nil
	if first {
		m.unnamed = map[string]bool{}
	}
	for _, c := range found {
		if names[c.ID] != "" || m.unnamed[c.ID] {
			continue
		}
		if !first {
			return p.Refresh(ctx)
		}
		m.unnamed[c.ID] = true
	}
	return nil
}
