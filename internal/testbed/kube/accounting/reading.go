package accounting

import (
	"slices"
	"time"

	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
)

type podRef struct {
	uid, node       string
	role            string    // role of a site's pod (value of inventory.RoleLabel)
	started         time.Time // start time by the node's clock, to the second; zero if the pod has not started
	sidecars        map[string]string
	restarts        int  // restarts of the pod's containers; only of an observed pod
	killed          bool // a container's last end was for lack of memory; only of an observed pod
	waiting, ending bool // waiting: the pod may not have started; ending: the pod is being deleted
}

type reading struct {
	at    time.Time
	nodes map[string]agent.Counters
	// own holds the usage of the containers in which agents run, by pod UID. With "accounting: container", Tare knows
	// only this part of a pod's usage.
	own    map[string]*cgroup.Usage
	server *serverProcess // usage of the API server; nil if it is not observed or did not answer
}

type sampledPods struct {
	site     []podRef
	nodePods []podRef
	observed map[string][]podRef // pods of each observed component at the second reading
	server   string              // name under which the API server is observed; "": it is not observed
	onNode   bool                // set if the usage of pods is read from the node's cgroups
	sidecars []string            // names of the sidecars in the site's pods
}

func (s *sampledPods) all() []podRef {
	list := slices.Concat(s.site, s.nodePods)
	return append(list, s.components()...)
}

// components returns the pods of all observed components.
func (s *sampledPods) components() (list []podRef) {
	for _, pods := range s.observed {
		list = append(list, pods...)
	}
	return list
}

func uidsOn(node string, pods []podRef) []string {
	var uids []string
	for _, p := range pods {
		if p.node == node && !slices.Contains(uids, p.uid) {
			uids = append(uids, p.uid)
		}
	}
	return uids
}

func (r *reading) cgroup(p podRef) *cgroup.Usage {
	for i := range r.nodes[p.node].Pods {
		if c := &r.nodes[p.node].Pods[i]; c.Pod == p.uid {
			return c
		}
	}
	return r.own[p.uid]
}

func used(before, after *reading, p podRef) (time.Duration, bool) {
	b, a := before.cgroup(p), after.cgroup(p)
	if a == nil || b == nil {
		return 0, false
	}
	return growth(b.CPU, a.CPU), true
}

// kernelOf identifies the kernel of a node. Nodes with the same kernel are one machine, with the same counters.
func (r *reading) kernelOf(node string) string {
	if c, ok := r.nodes[node]; ok && c.BootID != "" {
		return c.BootID
	}
	return "node " + node
}

// wallTime returns the time between two readings by the node's clock. If that clock was set in between, Tare's clock
// counts.
func wallTime(before, after *reading, node string) time.Duration {
	here := after.at.Sub(before.at)
	there := after.nodes[node].Time.Sub(before.nodes[node].Time)
	if (there - here).Abs() > time.Second {
		return here
	}
	return there
}

// since returns the CPU time since an earlier reading of a cgroup. The system time is at most the total, since the
// kernel rounds both separately.
func since(now, then cgroup.Usage) testbed.Usage {
	if now.CPU < then.CPU {
		then = cgroup.Usage{}
	}
	all := now.CPU - then.CPU
	system := min(max(0, now.System-then.System), all)
	return testbed.Usage{User: all - system, System: system}
}

// conditions returns the load of the site's machines between two readings. Shares are the largest of any machine. Times
// are sums over all machines.
func conditions(before, after *reading, s sampledPods) machine.Conditions {
	var c machine.Conditions
	seen := map[string]bool{}
	for _, p := range s.site {
		kernel := after.kernelOf(p.node)
		if seen[kernel] {
			continue
		}
		seen[kernel] = true
		m := onMachine(before, after, s, p.node)
		c.ForeignCPU, c.CPUPressure = worst(c.ForeignCPU, m.ForeignCPU), worst(c.CPUPressure, m.CPUPressure)
		c.Steal, c.KernelCPU, c.Load = max(c.Steal, m.Steal), max(c.KernelCPU, m.KernelCPU), max(c.Load, m.Load)
		c.Busy += m.Busy
	}
	if len(seen) == 0 {
		c.ForeignCPU, c.CPUPressure = -1, -1
	}
	c.Throttled = throttled(before, after, s.site)
	return c
}

func worst(a, b float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return max(a, b)
}

// onMachine computes the load of a node's machine. Several nodes may share a machine.
func onMachine(before, after *reading, s sampledPods, node string) machine.Conditions {
	b, a := before.nodes[node], after.nodes[node]
	c, share := a.Since(b.Totals, wallTime(before, after, node))
	busy, interrupts := a.Busy-b.Busy, a.Interrupts-b.Interrupts
	c.ForeignCPU, c.KernelCPU = -1, share(interrupts)
	// Without Grouped, kernel threads cannot be told from processes. Their CPU time then counts as that of foreign
	// programs.
	processes := busy - interrupts
	if a.Grouped != nil && b.Grouped != nil {
		c.KernelCPU = share(max(interrupts, busy-(*a.Grouped-*b.Grouped)))
		processes = *a.Grouped - *b.Grouped
	}
	if own, known := ownOn(before, after, s, after.kernelOf(node)); known {
		c.ForeignCPU = share(processes - own)
	}
	return c
}

// ownOn returns a trial's CPU time on one machine: of site, accounting and observed pods. known is false if a site's or
// accounting pod's is unknown.
func ownOn(before, after *reading, s sampledPods, kernel string) (sum time.Duration, known bool) {
	for _, list := range [][]podRef{s.site, s.nodePods} {
		for _, p := range list {
			if after.kernelOf(p.node) != kernel {
				continue
			}
			cpu, known := used(before, after, p)
			if !known {
				return 0, false
			}
			sum += cpu
		}
	}
	counted := map[string]bool{} // UIDs of pods in the sum: a pod in two components must count only once
	for _, pods := range s.observed {
		for _, p := range pods {
			if after.kernelOf(p.node) != kernel || counted[p.uid] {
				continue
			}
			counted[p.uid] = true
			cpu, _ := observedCPU(before, after, p)
			sum += cpu
		}
	}
	return sum, true
}

// throttled counts the periods in which a CPU limit stopped a pod of the site or its containers; -1: unknown for some
// pod.
func throttled(before, after *reading, site []podRef) int {
	if len(site) == 0 {
		return -1
	}
	sum := 0
	for _, p := range site {
		b, a := before.cgroup(p), after.cgroup(p)
		if a == nil || b == nil || a.Throttled < 0 || b.Throttled < 0 {
			return -1
		}
		sum += growth(b.Throttled, a.Throttled)
		for _, c := range a.Containers {
			sum += growth(containerOf(b, c.ID).Throttled, c.Throttled)
		}
	}
	return sum
}

// growth returns the growth of a counter. A counter that is smaller than before was reset, and its whole value counts.
func growth[T int | time.Duration](then, now T) T {
	if now < then {
		return now
	}
	return now - then
}
