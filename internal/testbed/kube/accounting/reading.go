package accounting

import (
	"slices"
	"time"

	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
)

// podRef identifies a pod on a node. Its cgroups are named after the UID. A later pod of
// the same name has another UID.
type podRef struct {
	uid, node string
	role      string    // value of inventory.RoleLabel, for a site's pod
	started   time.Time // start time by the node's clock, to the second; zero if it has not started
	// sidecars has the names of a site's pod's sidecars, by container id.
	sidecars map[string]string
	// waiting is set for a pod that may not have started, ending for one that is being
	// deleted. Both may have no cgroups.
	waiting, ending bool
}

// reading holds the counters of all agents at one moment.
type reading struct {
	at    time.Time                 // time of the reading by Tare's clock
	nodes map[string]agent.Counters // counters of the accounting pods, by node
	// own has the usage that agents read from their own containers' cgroups, by pod UID.
	// With "accounting: container" there is no other usage of pods.
	own    map[string]*cgroup.Usage
	server *serverProcess // usage of the API server; nil if it is not observed or did not answer
}

type sampledPods struct {
	site     []podRef // pods of the site
	nodePods []podRef // accounting pods
	// observed lists the pods of each observed component, at the second reading.
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

// used returns the CPU time of a pod between two readings, and false if it is unknown. A
// counter that is smaller than before was reset in between, and its whole value counts.
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

// kernelOf identifies the kernel of a node. Two nodes with the same kernel are one machine,
// and both have the counters of the whole machine.
func (r *reading) kernelOf(node string) string {
	if c, ok := r.nodes[node]; ok && c.BootID != "" {
		return c.BootID
	}
	return "node " + node
}

// clockTolerance is the maximum difference between the durations of a sample by the node's
// and by Tare's clock. If it is larger, the node's clock was set during the sample.
const clockTolerance = time.Second

// wallTime returns the time between two readings of a node. It uses the node's clock, which
// is read together with the counters, or Tare's clock if the node's was set in between.
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

// since returns the CPU time since an earlier reading. Counters that are smaller than before
// were reset. The kernel rounds both numbers, so system is cut to at most all.
func (t cpuTime) since(then cpuTime) cpuTime {
	if t.all < then.all {
		then = cpuTime{}
	}
	all := t.all - then.all
	return cpuTime{all: all, system: min(max(0, t.system-then.system), all)}
}
