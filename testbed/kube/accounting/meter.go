package accounting

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/pods"
)

// meter finds out what the programs in one pod use, from readings of the pod's cgroups
// on its node at the start and at the end of each.
//
// What the pod used between two readings, less what its sidecars used, belongs to the
// program that ran. That counts the agent in the pod and a sandbox's own processes as
// the program's, in the same way in every arm. The node cannot tell programs apart
// that ran at the same time in one pod: they share evenly what was used meanwhile, so
// that together they are never charged more than there was.
type meter struct {
	mu      sync.Mutex
	last    *cgroup.Usage // nil: not read yet
	running []*programUse
	// unnamed are the cgroups in the pod, by id, that belong to none of its containers;
	// nil: not read yet.
	unnamed map[string]bool
}

// programUse is what one program has used so far.
type programUse struct{ cpu cpuTime }

// read takes a reading; sidecars are their names by id.
func (m *meter) read(now cgroup.Usage, sidecars map[string]string) error {
	then := m.last
	m.last = &now
	if then == nil || len(m.running) == 0 {
		return nil
	}
	grown := cpuTime{now.CPU, now.System}.since(cpuTime{then.CPU, then.System})
	for _, c := range then.Containers {
		if name := sidecars[c.ID]; name != "" && within(&now, c.ID).ID == "" {
			return fmt.Errorf("the container %s ended while a program ran beside it: what each of them used is not known", safetext.Head(name, cluster.LineLimit))
		}
	}
	for _, c := range now.Containers {
		if sidecars[c.ID] == "" {
			continue
		}
		before := within(then, c.ID)
		theirs := cpuTime{c.CPU, c.System}.since(cpuTime{before.CPU, before.System})
		grown.all -= theirs.all
		grown.system -= theirs.system
	}
	// The files are read one after the other, the pod's first: a sidecar's counter may
	// have gone on meanwhile.
	grown.all = max(0, grown.all)
	grown.system = min(max(0, grown.system), grown.all)
	share := time.Duration(len(m.running))
	for _, one := range m.running {
		one.cpu.all += grown.all / share
		one.cpu.system += grown.system / share
	}
	return nil
}

// leave takes a program out.
func (m *meter) leave(one *programUse) {
	m.running = slices.DeleteFunc(m.running, func(o *programUse) bool { return o == one })
}

// usage is what a program that has ended used.
func (one *programUse) usage(wall time.Duration, peak int64) testbed.Usage {
	return testbed.Usage{User: one.cpu.all - one.cpu.system, System: one.cpu.system, Wall: wall, MaxRSS: peak}
}

// ownMemory is the working set of a pod without its sidecars.
func ownMemory(now *cgroup.Usage, sidecars map[string]string) int64 {
	own := now.WorkingSet
	for _, c := range now.Containers {
		if sidecars[c.ID] != "" {
			own -= c.WorkingSet
		}
	}
	return max(0, own)
}

// meet makes sure that the meter can tell sidecars from programs: it takes notice of
// the cgroups in the pod. When the pod is read first it is ready, so that what has no
// name then is the container runtime's, which counts to the programs. What comes later
// without a name is a container that was made again: the API server is asked for it.
func (m *meter) meet(ctx context.Context, p *pods.Pod, there []cgroup.Container) error {
	names := p.Containers()
	first := m.unnamed == nil
	if first {
		m.unnamed = map[string]bool{}
	}
	unknown := false
	for _, c := range there {
		if names[c.ID] != "" || m.unnamed[c.ID] {
			continue
		}
		if first {
			m.unnamed[c.ID] = true
		} else {
			unknown = true
		}
	}
	if !unknown {
		return nil
	}
	return p.Refresh(ctx)
}
