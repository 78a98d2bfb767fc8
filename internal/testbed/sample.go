package testbed

import (
	"maps"
	"slices"
	"time"

	"tare/internal/run/machine"
)

// Sample holds the conditions at a trial's site during the trial.
type Sample struct {
	Conditions machine.Conditions
	// Machine is the source of Conditions, if they are of one machine; nil: unknown.
	Machine *machine.Activity
	// Sidecars holds the usage of those containers of the site's pods in which no program under test runs. A
	// key consists of the role of the pod and the name of the container ("client-istio-proxy"). MaxRSS is the
	// container's working set at the end.
	Sidecars map[string]Usage
	// SidecarsUnavailable is set if there are sidecars whose usage is unknown. If this is so in one arm, it
	// is set in every arm, since arms are compared only by usage that is known in all of them.
	SidecarsUnavailable bool
	// Observed is the usage of the components that the experiment observes, by name.
	Observed map[string]Observed
}

// Observed is the usage of one observed component.
type Observed struct {
	CPU    time.Duration // CPU time of all its pods during the sample
	Wall   time.Duration // time between the two readings
	Memory int64         // working set of all its pods at the end, in bytes
}

// Joined joins the samples of two periods of a trial. o is the sample of the later period; first and later
// are the durations. CPU times are added. Memory is the memory of the later period.
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

// joined merges two maps. It calls join for keys that are in both.
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

// Plus returns the usage of two processes of which one ran after the other.
func (u Usage) Plus(o Usage) Usage {
	return Usage{
		User: u.User + o.User, System: u.System + o.System, Wall: u.Wall + o.Wall,
		MaxRSS: max(u.MaxRSS, o.MaxRSS), Left: slices.Concat(u.Left, o.Left), Unavailable: u.Unavailable || o.Unavailable,
	}
}
