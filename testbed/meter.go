package testbed

import (
	"context"
	"maps"
	"slices"
	"time"

	"tare/machine"
	"tare/machine/proc"
)

// Metered is a site that counts what the programs of a trial share.
type Metered interface {
	// Meter reads the counters at one moment.
	Meter(ctx context.Context) (Meter, error)
}

// Meter is what was counted at a site up to one moment or, by Since, between two.
type Meter struct {
	Time time.Duration // between two moments; else since one that all readings of the site share
	// Rate is that of each direction of the wire in bit/s; 0: it is unlimited. RateKnown says whether it is known.
	Rate      float64
	RateKnown bool
	Queues    []Queue // of the wire, one for each direction; none: they cannot be read
	Network   proc.Network
	Machines  map[string]Machine // by their kernels
}

// Machine is one on which programs of a trial are.
type Machine struct {
	machine.Totals
	Client, Server bool // which of them are on it
}

// name is the resource that its processors are.
func (m Machine) name() string {
	switch {
	case m.Client && m.Server:
		return ResourceMachine
	case m.Client:
		return ResourceClient
	}
	return ResourceServer
}

// StartMeter reads a site's counters. The function that it gives reads them again, and says what was counted in between:
// nothing, of no time, where the site has none or one of the readings fails.
func StartMeter(ctx context.Context, site Site) (stop func(ctx context.Context) Meter) {
	at, ok := As[Metered](site)
	if !ok {
		return func(context.Context) Meter { return Meter{} }
	}
	before, beforeErr := at.Meter(ctx)
	return func(ctx context.Context) Meter {
		after, err := at.Meter(ctx)
		if err != nil || beforeErr != nil {
			return Meter{}
		}
		return after.Since(before)
	}
}

// Queue is what one direction of the wire has sent, and lost because it was full.
type Queue struct {
	Bytes, Packets, Dropped uint64
}

// began is the moment from which readings count.
var began = time.Now()

// NewMeter begins a reading.
func NewMeter() Meter { return Meter{Time: time.Since(began), Machines: map[string]Machine{}} }

// Since is what was counted since an earlier reading. Tables are as full as they are now.
func (m Meter) Since(o Meter) Meter {
	return m.combined(o, func(a, b uint64) uint64 {
		if a < b { // it began anew
			return a
		}
		return a - b
	}, func(a, b time.Duration) time.Duration { return a - b })
}

// Plus is what was counted over two stretches, of which m is the later; nothing where one of them is not known.
func (m Meter) Plus(o Meter) Meter {
	if m.Time == 0 || o.Time == 0 {
		return Meter{}
	}
	return m.combined(o, func(a, b uint64) uint64 { return a + b }, func(a, b time.Duration) time.Duration { return a + b })
}

func (m Meter) combined(o Meter, count func(a, b uint64) uint64, span func(a, b time.Duration) time.Duration) Meter {
	m.Time, m.Network = span(m.Time, o.Time), m.Network.Combined(o.Network, count)
	m.Queues, m.Machines = slices.Clone(m.Queues), maps.Clone(m.Machines)
	for i := range min(len(m.Queues), len(o.Queues)) {
		q, p := &m.Queues[i], o.Queues[i]
		q.Bytes, q.Packets, q.Dropped = count(q.Bytes, p.Bytes), count(q.Packets, p.Packets), count(q.Dropped, p.Dropped)
	}
	for kernel, t := range m.Machines {
		t.Busy = span(t.Busy, o.Machines[kernel].Busy)
		m.Machines[kernel] = t
	}
	return m
}

// What the programs of a trial share.
const (
	ResourceWire        = "wire"
	ResourceMachine     = "machine" // processors of the machine that client and server share
	ResourceClient      = "client"  // processors of the client's machine
	ResourceServer      = "server"  // processors of the server's machine
	ResourcePorts       = "ports"   // of the client's pod, for connections to one address
	ResourceConnections = "connections"
	ResourceDisk        = "disk"
)

// Resource is what a trial used of something that its programs share.
type Resource struct {
	Name string  `json:"name"`           // one of the constants that begin with Resource
	Used float64 `json:"used,omitempty"` // share of Of, 0 to 1; of the wire, that of its busier direction
	Of   float64 `json:"of,omitempty"`   // what there is: bit/s, processors, ports, entries; 0: unlimited or unknown
	// Unlimited says of a wire that it has no limit.
	Unlimited bool   `json:"unlimited,omitempty"`
	Packets   uint64 `json:"packets,omitempty"` // that the wire took
	Dropped   uint64 `json:"dropped,omitempty"` // packets that the wire's queues had no room for
	// The rest is of TCP in all pods and on the nodes between them.
	Segments      uint64 `json:"segments,omitempty"`      // sent
	Retransmitted uint64 `json:"retransmitted,omitempty"` // of these
	Timeouts      uint64 `json:"timeouts,omitempty"`      // after which they were
}

// Resources says what was used in the time between two readings.
func (m Meter) Resources() []Resource {
	if m.Time <= 0 {
		return nil
	}
	var list []Resource
	share := func(used, of float64) float64 { return min(1, max(0, used/of)) }
	if n := m.Network; len(m.Queues) > 0 || n.Segments > 0 {
		wire := Resource{Name: ResourceWire, Of: m.Rate, Unlimited: m.RateKnown && m.Rate == 0,
			Segments: n.Segments, Retransmitted: n.Retransmitted, Timeouts: n.Timeouts}
		for _, q := range m.Queues {
			wire.Packets, wire.Dropped = wire.Packets+q.Packets, wire.Dropped+q.Dropped
			if m.Rate > 0 {
				wire.Used = max(wire.Used, share(float64(q.Bytes)*8/m.Time.Seconds(), m.Rate))
			}
		}
		list = append(list, wire)
	}
	most := map[string]Resource{} // of several machines of one side, the busiest
	for _, t := range m.Machines {
		r := Resource{Name: t.name(), Of: float64(t.CPUs)}
		if t.CPUs > 0 {
			r.Used = share(t.Busy.Seconds()/m.Time.Seconds(), r.Of)
		}
		if r.Used >= most[r.Name].Used {
			most[r.Name] = r
		}
	}
	for name, t := range map[string]proc.Taken{ResourcePorts: m.Network.Ports, ResourceConnections: m.Network.Connections} {
		if t.Of > 0 {
			most[name] = Resource{Name: name, Of: float64(t.Of), Used: share(float64(t.Used), float64(t.Of))}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(most)) {
		list = append(list, most[name])
	}
	return list
}

// Joined is what was used over several stretches: shares are those of the stretch in which they were highest, and what
// was counted is that of all.
func Joined(stretches ...[]Resource) []Resource {
	var all []Resource
	for _, r := range slices.Concat(stretches...) {
		i := slices.IndexFunc(all, func(o Resource) bool { return o.Name == r.Name })
		if i < 0 {
			all = append(all, r)
			continue
		}
		o := &all[i]
		o.Used = max(o.Used, r.Used)
		o.Packets, o.Dropped = o.Packets+r.Packets, o.Dropped+r.Dropped
		o.Segments, o.Retransmitted, o.Timeouts = o.Segments+r.Segments, o.Retransmitted+r.Retransmitted, o.Timeouts+r.Timeouts
	}
	return all
}
