package accounting

import (
	"time"

	"tare/machine"
)

// conditions says how the machines of the site's nodes did. Each share is that of the
// machine where it is largest: when the client's machine was disturbed, it does not
// help that the server's was idle.
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

// worst is the larger of two shares, or -1 where one of them is not known, since that
// one may be the larger.
func worst(soFar, next float64, first bool) float64 {
	switch {
	case first:
		return next
	case soFar < 0 || next < 0:
		return -1
	}
	return max(soFar, next)
}

// onMachine says how the machine of a node did. Two nodes may be on one machine.
func onMachine(before, after *reading, s subjects, node string) machine.Conditions {
	b, a := before.nodes[node], after.nodes[node]
	c, share := a.Since(b.Totals, wallOf(before, after, node))
	busy, interrupts := a.Busy-b.Busy, a.Interrupts-b.Interrupts
	c.ForeignCPU, c.KernelCPU = -1, share(interrupts)
	// Where the time of the kernel's threads is not known, it counts as that of other
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

// ownOn is the CPU time on a machine that belongs to the trial: of the site's pods, of
// the pods that count, and of the observed components, which work for it. It is known
// only if it is known of each of Tare's own pods.
func ownOn(before, after *reading, s subjects, kernel string) (sum time.Duration, known bool) {
	for _, list := range [][]placed{s.site, s.nodePods} {
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

// throttled counts the periods in which the site's pods or containers of them were
// throttled: the kernel counts for each cgroup that has a limit, and adds nothing
// up. It is -1 when it is not known of one of the pods.
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
