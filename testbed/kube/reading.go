package kube

import (
	"time"

	"tare/machine"
	"tare/testbed"
	"tare/testbed/kube/agent"
)

// placed is a pod on a node. The UID is what its cgroups are named after, and
// what tells it from another of the same name.
type placed struct {
	uid, node string
	started   time.Time // by the clock of its node, to the second; zero: not yet
	// sidecars are the containers of a site's pod beside the one in which programs
	// run, by their ids.
	sidecars map[string]string
	// waiting says that it may not have begun, and ending that it may be over: such
	// a pod may have no cgroups.
	waiting, ending bool
}

// reading is what the agents told at one moment.
type reading struct {
	at    time.Time                 // by Tare's own clock
	nodes map[string]agent.Counters // of the accounting pods, by node
	// own are cgroups that the agents of Tare's pods see of themselves, by the pods'
	// UIDs: with accounting: container, all there is.
	own map[string]*agent.Cgroup
}

// subjects is what a sample is about.
type subjects struct {
	site    []placed // the site's pods
	helpers []placed // the accounting pods
	// observed are the pods of each component as they were at the second reading.
	observed map[string][]placed
	whole    bool     // pods are read whole, from the node's cgroups
	beside   []string // the containers in the site's pods beside those in which programs run
}

// cgroup finds what is known of a pod's cgroups.
func (r *reading) cgroup(p placed) *agent.Cgroup {
	for i := range r.nodes[p.node].Pods {
		if c := &r.nodes[p.node].Pods[i]; c.Pod == p.uid {
			return c
		}
	}
	return r.own[p.uid]
}

// used is the CPU time of a pod between two readings, and whether it is known. A
// counter that went back began anew: what it shows was used since.
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

// sample says what happened between two readings.
func sample(before, after *reading, s subjects) testbed.Sample {
	out := testbed.Sample{Conditions: conditions(before, after, s), Observed: observed(before, after, s)}
	known := false
	if s.whole {
		out.Sidecars, known = beside(before, after, s.site)
	}
	out.SidecarsUnavailable = !known && len(s.beside) > 0
	return out
}

// beside is what the containers beside the programs used, by name. One that is new
// at the second reading began in between. It is not known unless that of every pod
// is: a part would pass for the whole.
func beside(before, after *reading, site []placed) (all map[string]testbed.Usage, known bool) {
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
			grown := spent{now.CPU, now.System}.since(spent{then.CPU, then.System})
			u := all[name]
			u.User += grown.cpu - grown.system
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
func within(pod *agent.Cgroup, id string) agent.Within {
	for _, c := range pod.Containers {
		if c.ID == id {
			return c
		}
	}
	return agent.Within{}
}

// conditions says how the machines of the site's nodes did. Shares are those of
// the machine where they are largest: a disturbed client is not made good by an
// idle server.
func conditions(before, after *reading, s subjects) machine.Conditions {
	var c machine.Conditions
	seen := map[string]bool{}
	for _, p := range s.site {
		kernel := after.kernelOf(p.node)
		if seen[kernel] {
			continue
		}
		seen[kernel] = true
		m := onMachine(before, after, s, p.node)
		first := len(seen) == 1
		c.ForeignCPU = worst(c.ForeignCPU, m.ForeignCPU, first)
		c.CPUPressure = worst(c.CPUPressure, m.CPUPressure, first)
		c.Steal, c.KernelCPU, c.Load = max(c.Steal, m.Steal), max(c.KernelCPU, m.KernelCPU), max(c.Load, m.Load)
		c.Busy += m.Busy
	}
	if len(seen) == 0 {
		c.ForeignCPU, c.CPUPressure = -1, -1
	}
	c.Throttled = throttled(before, after, s.site)
	return c
}

// worst is the larger of two shares, or -1 where one of them is not told: what is
// not told may be larger.
func worst(sofar, next float64, first bool) float64 {
	switch {
	case first:
		return next
	case sofar < 0 || next < 0:
		return -1
	}
	return max(sofar, next)
}

// onMachine says how the machine did whose kernel the node has.
func onMachine(before, after *reading, s subjects, node string) machine.Conditions {
	b, a := before.nodes[node], after.nodes[node]
	wall := wallOf(before, after, node)
	capacity := wall.Seconds() * float64(max(1, a.CPUs))
	share := func(d time.Duration) float64 {
		if capacity <= 0 {
			return 0
		}
		return min(1, max(0, d.Seconds()/capacity))
	}
	busy := a.Busy - b.Busy
	c := machine.Conditions{
		ForeignCPU:  -1,
		Steal:       share(a.Steal - b.Steal),
		KernelCPU:   share(a.Kernel - b.Kernel),
		Busy:        min(max(0, busy), time.Duration(capacity*float64(time.Second))),
		CPUPressure: -1,
		Load:        a.Load,
	}
	// Without the time of the kernel's threads, they count as programs of others.
	processes := busy - (a.Kernel - b.Kernel)
	if a.Grouped != nil && b.Grouped != nil {
		c.KernelCPU = share(max(a.Kernel-b.Kernel, busy-(*a.Grouped-*b.Grouped)))
		processes = *a.Grouped - *b.Grouped
	}
	if own, known := ownOn(before, after, s, after.kernelOf(node)); known {
		c.ForeignCPU = share(processes - own)
	}
	if a.Waiting >= 0 && b.Waiting >= 0 && wall > 0 {
		c.CPUPressure = min(1, max(0, (a.Waiting-b.Waiting).Seconds()/wall.Seconds()))
	}
	return c
}

// ownOn is the CPU time on a machine that belongs to the trial: of the site's
// pods, of the accounting pods, and of the components observed, which work for it.
// It is not known unless that of each of Tare's own pods is.
func ownOn(before, after *reading, s subjects, kernel string) (sum time.Duration, known bool) {
	for _, list := range [][]placed{s.site, s.helpers} {
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
	counted := map[string]bool{} // a pod may be of two components
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

// observed sums up what the pods of each component used. A component of which a
// pod that runs cannot be read is left out: a part would pass for the whole.
func observed(before, after *reading, s subjects) map[string]testbed.Observed {
	all := map[string]testbed.Observed{}
	for name, pods := range s.observed {
		var o testbed.Observed
		complete, found := true, false
		for _, p := range pods {
			cpu, known := observedCPU(before, after, p)
			if !known {
				_, looked := after.nodes[p.node]
				complete = complete && looked && after.cgroup(p) == nil && (p.waiting || p.ending)
				continue
			}
			found = true
			o.CPU += cpu
			o.Memory += after.cgroup(p).WorkingSet
			o.Wall = max(o.Wall, wallOf(before, after, p.node))
		}
		if complete && found {
			all[name] = o
		}
	}
	return all
}

// observedCPU is the CPU time of one observed pod that is there at the second
// reading. Of one that began in between, all it used counts. What a pod used that
// ended in between is lost with it.
func observedCPU(before, after *reading, p placed) (time.Duration, bool) {
	if cpu, known := used(before, after, p); known {
		return cpu, true
	}
	c, asked := after.cgroup(p), before.nodes[p.node].Time
	if c == nil || asked.IsZero() || p.started.IsZero() || p.started.Before(asked.Truncate(time.Second)) {
		return 0, false // what it had used by the first reading is not known
	}
	return c.CPU, true
}

// throttled counts the periods in which the site's pods or containers of them were
// throttled: the kernel counts for each cgroup that has a limit, and adds nothing
// up. -1: not told of one of the pods.
func throttled(before, after *reading, site []placed) int {
	if len(site) == 0 {
		return -1
	}
	sum := 0
	for _, p := range site {
		b, a := before.cgroup(p), after.cgroup(p)
		if a == nil || b == nil || a.Throttled < 0 || b.Throttled < 0 {
			return -1
		}
		sum += more(b.Throttled, a.Throttled)
		for _, c := range a.Containers {
			sum += more(within(b, c.ID).Throttled, c.Throttled)
		}
	}
	return sum
}

// more is by how much a counter grew, which began anew if it went back.
func more(then, now int) int {
	if now < then {
		return now
	}
	return now - then
}

// clockTolerance is how much a node's clock may differ from Tare's over a sample
// before it counts as having been set.
const clockTolerance = time.Second

// wallOf is the time between two readings of a node, by the clock of that node: it
// is read together with the counters. A clock that was set in between is given up
// for Tare's own.
func wallOf(before, after *reading, node string) time.Duration {
	here := after.at.Sub(before.at)
	there := after.nodes[node].Time.Sub(before.nodes[node].Time)
	if d := there - here; d < -clockTolerance || d > clockTolerance {
		return here
	}
	return there
}
