package accounting

import (
	"time"

	"tare/internal/run/machine"
)

// conditions computes the load of the site's machines between two readings. Each share is the largest share
// of any machine. If the client's machine is disturbed, for example, the trial is spoilt, even if the
// server's machine was idle.
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

// worst returns the larger of two shares. If one of them is unknown (-1), it returns -1, since the unknown
// share may be the larger one. If first is set, there is no share soFar yet.
func worst(soFar, next float64, first bool) float64 {
	switch {
	case first:
		return next
	case soFar < 0 || next < 0:
		return -1
	}
	return max(soFar, next)
}

// onMachine computes the load of the machine of a node. Two nodes may share a machine.
func onMachine(before, after *reading, s sampledPods, node string) machine.Conditions {
	b, a := before.nodes[node], after.nodes[node]
	c, share := a.Since(b.Totals, wallTime(before, after, node))
	busy, interrupts := a.Busy-b.Busy, a.Interrupts-b.Interrupts
	c.ForeignCPU, c.KernelCPU = -1, share(interrupts)
	// Without Grouped, the CPU time of kernel threads is unknown. It then counts as CPU time of foreign
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

// ownOn returns the CPU time that the trial used on a machine. It is the CPU time of the site's pods, of the
// accounting pods, and of observed components, which work for the trial. known is false if the CPU time of
// one of Tare's own pods is unknown.
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
	counted := map[string]bool{} // UIDs, since a pod may belong to two components
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

// throttled counts the periods in which a CPU limit stopped a pod of the site or one of its containers. The
// kernel counts the periods of each cgroup separately; throttled adds them up. It returns -1 if the number
// for one pod is unknown.
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

// growth returns the growth of a counter. If the counter is now smaller than before, it was reset.
func growth(then, now int) int {
	if now < then {
		return now
	}
	return now - then
}
