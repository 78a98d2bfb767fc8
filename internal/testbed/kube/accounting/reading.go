package accounting

import (
	"slices"
	"time"

	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
)

// podRef identifies a pod on a node. The pod's cgroups are named after its UID. If another pod gets the same
// name later, it has another UID.
type podRef struct {
	uid, node string
	role      string    // role of a site's pod (value of inventory.RoleLabel)
	started   time.Time // start time by the node's clock, to the second; zero if it has not started
	// sidecars holds the names of the sidecars in a site's pod, by container id.
	sidecars map[string]string
	// waiting is set for a pod that may not have started. ending is set for a pod that is being deleted. Such
	// pods may have no cgroups.
	waiting, ending bool
}

// reading holds the counters of all agents at one moment.
type reading struct {
	at    time.Time                 // time of the reading by Tare's clock
	nodes map[string]agent.Counters // counters of the accounting pods, by node
	// own holds the usage that agents read from the cgroups of their own containers, by pod UID. With
	// "accounting: container" the usage of pods is known from nowhere else.
	own    map[string]*cgroup.Usage
	server *serverProcess // usage of the API server; nil if it is not observed or did not answer
}

type sampledPods struct {
	site     []podRef // pods of the site
	nodePods []podRef // accounting pods
	// observed lists the pods of each observed component, as they are at the second reading.
	observed map[string][]podRef
	server   string   // name under which the API server is observed; "" if it is not
	onNode   bool     // set if pods are read from the node's cgroups
	sidecars []string // names of the sidecars in the site's pods
}

func (s *sampledPods) all() []podRef {
	list := slices.Concat(s.site, s.nodePods)
	for _, pods := range s.observed {
		list = append(list, pods...)
	}
	return list
}

// uidsOn lists the UIDs of the pods on a node, each once.
func uidsOn(node string, pods []podRef) []string {
	var uids []string
	for _, p := range pods {
		if p.node == node && !slices.Contains(uids, p.uid) {
			uids = append(uids, p.uid)
		}
	}
	return uids
}

// cgroup returns the usage of a pod; nil if it is unknown.
func (r *reading) cgroup(p podRef) *cgroup.Usage {
	for i := range r.nodes[p.node].Pods {
		if c := &r.nodes[p.node].Pods[i]; c.Pod == p.uid {
			return c
		}
	}
	return r.own[p.uid]
}

// used returns the CPU time of a pod between two readings, and false if the time is unknown. If a counter is
// smaller than before, it was reset between the readings, and its whole value counts.
func used(before, after *reading, p podRef) (time.Duration, bool) {
	b, a := before.cgroup(p), after.cgroup(p)
	switch {
	case a == nil || b == nil:
		return 0, false
	case a.CPU < b.CPU:
		return a.CPU, true
	}
	return a.CPU - b.CPU, true
}

// kernelOf identifies the kernel of a node. Two nodes with the same kernel are one machine. Both then have
// the counters of the whole machine.
func (r *reading) kernelOf(node string) string {
	if c, ok := r.nodes[node]; ok && c.BootID != "" {
		return c.BootID
	}
	return "node " + node
}

// clockTolerance is the largest allowed difference between the duration of a sample by the node's clock and
// its duration by Tare's clock. If the difference is larger, the node's clock was set during the sample.
const clockTolerance = time.Second

// wallTime returns the time between two readings of a node. It uses the node's clock, which is read together
// with the counters. If that clock was set between the readings, it uses Tare's clock.
func wallTime(before, after *reading, node string) time.Duration {
	here := after.at.Sub(before.at)
	there := after.nodes[node].Time.Sub(before.nodes[node].Time)
	if d := there - here; d < -clockTolerance || d > clockTolerance {
		return here
	}
	return there
}

// cpuTime is a CPU time: all of it, and the part that was spent in the kernel.
type cpuTime struct{ all, system time.Duration }

// since returns the CPU time that was used since an earlier reading. If a counter is smaller than before, it
// was reset. The kernel rounds both numbers, and so system is cut to at most all.
func (t cpuTime) since(then cpuTime) cpuTime {
	if t.all < then.all {
		then = cpuTime{}
	}
	all := t.all - then.all
	return cpuTime{all: all, system: min(max(0, t.system-then.system), all)}
}
