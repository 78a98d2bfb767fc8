package accounting

import (
	"slices"
	"time"

	"tare/testbed/kube/agent"
	"tare/testbed/kube/agent/cgroup"
)

// placed is a pod on a node. The UID is what its cgroups are named after, and
// what tells it from another of the same name.
type placed struct {
	uid, node string
	role      string    // of a site's pod: that of inventory.RoleLabel
	started   time.Time // by the clock of its node, to the second; zero: not yet
	// sidecars are the names, by id, of the containers of a site's pod in which no
	// programs run.
	sidecars map[string]string
	// waiting says that it may not have begun, and ending that it may be over: such
	// a pod may have no cgroups.
	waiting, ending bool
}

// reading is what the agents said at one moment.
type reading struct {
	at    time.Time                 // by Tare's own clock
	nodes map[string]agent.Counters // of the accounting pods, by node
	// own are cgroups that the agents of Tare's pods see of themselves, by the pods'
	// UIDs: with accounting: container, all there is.
	own    map[string]*cgroup.Usage
	server *serverProcess // the API server, where it is observed and has answered
}

// subjects is what a sample is about.
type subjects struct {
	site     []placed // the site's pods
	nodePods []placed // the pods that count
	// observed are the pods of each component as they were at the second reading.
	observed map[string][]placed
	server   string   // the name by which the API server is observed; "": it is not
	onNode   bool     // pods are read whole, from the node's cgroups
	sidecars []string // the names of the sidecars in the site's pods
}

// all lists every pod of the subjects.
func (s *subjects) all() []placed {
	list := slices.Concat(s.site, s.nodePods)
	for _, pods := range s.observed {
		list = append(list, pods...)
	}
	return list
}

// uidsOn lists the pods on a node, each once.
func uidsOn(node string, pods []placed) []string {
	var uids []string
	for _, p := range pods {
		if p.node == node && !slices.Contains(uids, p.uid) {
			uids = append(uids, p.uid)
		}
	}
	return uids
}

// cgroup finds what is known of a pod's cgroups.
func (r *reading) cgroup(p placed) *cgroup.Usage {
	for i := range r.nodes[p.node].Pods {
		if c := &r.nodes[p.node].Pods[i]; c.Pod == p.uid {
			return c
		}
	}
	return r.own[p.uid]
}

// used is the CPU time of a pod between two readings, and whether it is known. A
// counter that went back began anew in between, so that all it shows was used since.
func used(before, after *reading, p placed) (time.Duration, bool) {
	b, a := before.cgroup(p), after.cgroup(p)
	switch {
	case a == nil || b == nil:
		return 0, false
	case a.CPU < b.CPU:
		return a.CPU, true
	}
	return a.CPU - b.CPU, true
}

// kernelOf names the kernel that a node has: two nodes that share one are one
// machine, and each shows the counters of the whole.
func (r *reading) kernelOf(node string) string {
	if c, ok := r.nodes[node]; ok && c.BootID != "" {
		return c.BootID
	}
	return "node " + node
}

// clockTolerance is how much a node's clock may differ from Tare's over a sample
// before it counts as having been set.
const clockTolerance = time.Second

// wallOf is the time between two readings of a node, by the clock of that node, which
// is read together with the counters; by Tare's own clock if the node's was set in
// between.
func wallOf(before, after *reading, node string) time.Duration {
	here := after.at.Sub(before.at)
	there := after.nodes[node].Time.Sub(before.nodes[node].Time)
	if d := there - here; d < -clockTolerance || d > clockTolerance {
		return here
	}
	return there
}

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
