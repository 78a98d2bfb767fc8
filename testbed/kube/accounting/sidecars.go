package accounting

import (
	"tare/testbed"
	"tare/testbed/kube/agent/cgroup"
)

// sidecarUsage is what the sidecars used, by name, summed over the pods. A sidecar that
// is new at the second reading began in between. When one pod cannot be read, nothing
// is known at all: the sum over the other pods would look like the sum over all.
func sidecarUsage(before, after *reading, site []placed) (all map[string]testbed.Usage, known bool) {
	for _, p := range site {
		b, a := before.cgroup(p), after.cgroup(p)
		if a == nil || b == nil {
			return nil, false
		}
		for _, now := range a.Containers {
			name := p.sidecars[now.ID]
			if name == "" {
				continue
			}
			then := within(b, now.ID)
			grown := cpuTime{now.CPU, now.System}.since(cpuTime{then.CPU, then.System})
			u := all[name]
			u.User += grown.all - grown.system
			u.System += grown.system
			u.Wall = max(u.Wall, wallOf(before, after, p.node))
			u.MaxRSS += now.WorkingSet
			if all == nil {
				all = map[string]testbed.Usage{}
			}
			all[name] = u
		}
	}
	return all, true
}

// within finds one container in a pod; zero: it is not there.
func within(pod *cgroup.Usage, id string) cgroup.Container {
	for _, c := range pod.Containers {
		if c.ID == id {
			return c
		}
	}
	return cgroup.Container{}
}
