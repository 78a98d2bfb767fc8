package machine

import "time"

// Spent is what a machine did over a stretch of time: what its Conditions are made of. The
// stretches of one trial add up (Plus). Their shares would not: CPU times come in ticks of
// 10 ms, and of a few ticks what is below zero is cut off, and the larger of two is taken.
type Spent struct {
	Totals                  // over the stretch; Time is left out, Load is that at the end
	Wall      time.Duration // between the two readings of the clock
	Threads   time.Duration // CPU time of kernel threads
	Others    time.Duration // CPU time of all processes that are not Tare's
	Own       time.Duration // CPU time of Tare and of everything that it started
	Throttled int           // thermal and cgroup throttling events
	// Programs are those among Others, by name.
	Programs map[string]time.Duration
}

// spent is what happened between two snapshots.
func spent(before, after *snapshot, own time.Duration) Spent {
	s := Spent{
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

// Plus is what happened over two stretches, of which o is the later.
func (s Spent) Plus(o Spent) Spent {
	sum := Spent{
		Totals: Totals{CPUs: max(s.CPUs, o.CPUs), Busy: s.Busy + o.Busy, Interrupts: s.Interrupts + o.Interrupts,
			Steal: s.Steal + o.Steal, Waiting: -1, Load: o.Load},
		Wall: s.Wall + o.Wall, Threads: s.Threads + o.Threads,
		Others: s.Others + o.Others, Programs: plus(s.Programs, o.Programs), Own: s.Own + o.Own, Throttled: s.Throttled + o.Throttled,
	}
	if s.Waiting >= 0 && o.Waiting >= 0 {
		sum.Waiting = s.Waiting + o.Waiting
	}
	return sum
}

// Conditions are the shares of what happened (see Sampler for the method).
func (s Spent) Conditions() Conditions {
	c, share := s.Since(Totals{}, s.Wall)
	c.ForeignCPU = share(max(s.Busy-s.Interrupts-s.Own-s.Threads, s.Others))
	c.KernelCPU = share(s.Threads + s.Interrupts)
	c.Throttled, c.Programs = s.Throttled, busiest(s.Programs, share)
	return c
}
