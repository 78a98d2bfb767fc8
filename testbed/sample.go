package testbed

import (
	"maps"
	"slices"
	"time"

	"tare/machine"
)

// Sample is what else happened where a trial ran, while it ran.
type Sample struct {
	Conditions machine.Conditions
	// Machine is what Conditions were made of, where it is of one machine; nil: it is not known.
	Machine *machine.Spent
	// Sidecars is what the other containers of the site's pods used (those in which no
	// programs run), by the role of the pods and the container ("client-istio-proxy"). MaxRSS is
	// their working set at the end.
	Sidecars map[string]Usage
	// SidecarsUnavailable says that there are such containers and that nobody knows what
	// they used. When that is so in one arm, it is set in every arm: arms are compared
	// by what all of them can count.
	SidecarsUnavailable bool
	// Observed is what the components that the experiment observes used, by name.
	Observed map[string]Observed
}

// Observed is what one observed component used.
type Observed struct {
	CPU    time.Duration // over the sample, of all its pods
	Wall   time.Duration // time between the two readings
	Memory int64         // working set at the end, of all its pods, in bytes
}

// Joined is the sample of two stretches of a trial of that length, of which o is the
// later: CPU times add up, memory is the later one's.
func (s Sample) Joined(o Sample, first, later time.Duration) Sample {
	sum := Sample{
		Conditions:          s.Conditions.Joined(o.Conditions, first, later),
		SidecarsUnavailable: s.SidecarsUnavailable || o.SidecarsUnavailable,
		Sidecars: joined(s.Sidecars, o.Sidecars, func(a, b Usage) Usage {
			sum := a.Plus(b)
			sum.MaxRSS = b.MaxRSS
			return sum
		}),
		Observed: joined(s.Observed, o.Observed, func(a, b Observed) Observed {
			return Observed{CPU: a.CPU + b.CPU, Wall: a.Wall + b.Wall, Memory: b.Memory}
		}),
	}
	if s.Machine != nil && o.Machine != nil {
		both := s.Machine.Plus(*o.Machine)
		sum.Machine, sum.Conditions = &both, both.Conditions()
	}
	return sum
}

// joined joins two maps, and of what is in both the two values.
func joined[T any](a, b map[string]T, join func(a, b T) T) map[string]T {
	if a == nil {
		return b
	}
	sum := maps.Clone(a)
	for name, v := range b {
		if before, both := a[name]; both {
			v = join(before, v)
		}
		sum[name] = v
	}
	return sum
}

// Plus is what two processes used that ran one after the other.
func (u Usage) Plus(o Usage) Usage {
	return Usage{
		User: u.User + o.User, System: u.System + o.System, Wall: u.Wall + o.Wall,
		MaxRSS: max(u.MaxRSS, o.MaxRSS), Left: slices.Concat(u.Left, o.Left), Unavailable: u.Unavailable || o.Unavailable,
	}
}
