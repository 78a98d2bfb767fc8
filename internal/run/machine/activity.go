package machine

import "time"

// Activity is the CPU use of a machine over a period: the source of Conditions. The periods of one trial
// can be added (Plus). Their shares cannot: CPU time is counted in ticks of 10 ms, negative results of a
// few ticks are set to zero, and the larger of two values counts.
type Activity struct {
	Totals                  // totals of the period; Time is zero, and Load is that at the end
	Wall      time.Duration // duration between the two readings of the clock
	Threads   time.Duration // CPU time of kernel threads
	Others    time.Duration // CPU time of all processes that are not Tare's
	Own       time.Duration // CPU time of Tare and of all programs that it started
	Throttled int           // number of thermal and cgroup throttling events
	// Programs is the CPU time in Others, by program name.
	Programs map[string]time.Duration
}

// between returns the activity between two snapshots.
func between(before, after *snapshot, own time.Duration) Activity {
	s := Activity{
		Totals: Totals{CPUs: after.CPUs, Busy: after.Busy - before.Busy, Interrupts: after.Interrupts - before.Interrupts,
			Steal: after.Steal - before.Steal, Waiting: -1, Load: after.Load},
		Wall: after.Time.Sub(before.Time), Threads: threadTime(before.threads, after.threads),
		Others: total(after.others) - total(before.others), Programs: byName(before.others, after.others), Own: own, Throttled: max(0, after.throttled-before.throttled),
	}
	if after.Waiting >= 0 && before.Waiting >= 0 {
		s.Waiting = max(0, after.Waiting-before.Waiting)
	}
	return s
}

// Plus adds two periods; o is the later one.
func (s Activity) Plus(o Activity) Activity {
	sum := Activity{
		Totals: Totals{CPUs: max(s.CPUs, o.CPUs), Busy: s.Busy + o.Busy, Interrupts: s.Interrupts + o.Interrupts,
			Steal: s.Steal + o.Steal, Waiting: -1, Load: o.Load},
		Wall: s.Wall + o.Wall, Threads: s.Threads + o.Threads,
		Others: s.Others + o.Others, Programs: addTimes(s.Programs, o.Programs), Own: s.Own + o.Own, Throttled: s.Throttled + o.Throttled,
	}
	if s.Waiting >= 0 && o.Waiting >= 0 {
		sum.Waiting = s.Waiting + o.Waiting
	}
	return sum
}

// Conditions converts the activity to shares. Sampler describes the method.
func (s Activity) Conditions() Conditions {
	c, share := s.Since(Totals{}, s.Wall)
	c.ForeignCPU = share(max(s.Busy-s.Interrupts-s.Own-s.Threads, s.Others))
	c.KernelCPU = share(s.Threads + s.Interrupts)
	c.Throttled, c.Programs = s.Throttled, busiest(s.Programs, share)
	return c
}
