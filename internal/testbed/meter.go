package testbed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/run/machine"
)

// Resource holds how much of a shared resource a trial used. As a reading of the resource's counters during the trial,
// it holds running totals.
type Resource struct {
	Name string `json:"name"` // a constant such as ResourceWire
	// Used is the used share of the capacity, from 0 to 1. In a reading, it counts bits sent, or CPU seconds used.
	Used float64 `json:"used,omitempty"`
	Held float64 `json:"-"` // in a reading: number of occupied entries of a table
	// Of is the capacity: bit/s in each direction of the wire, processors, or entries of a table; 0 if unknown.
	Of      float64 `json:"of,omitempty"`
	Packets uint64  `json:"packets,omitempty"` // packets sent to the wire
	Dropped uint64  `json:"dropped,omitempty"` // packets that the wire dropped, since its queues were full

	Segments      uint64 `json:"segments,omitempty"`      // TCP segments sent in all pods and, on the local testbed, in nodes
	Retransmitted uint64 `json:"retransmitted,omitempty"` // TCP segments sent again
	Timeouts      uint64 `json:"timeouts,omitempty"`      // timeouts of TCP connections that waited for an acknowledgement
}

// These are the resources that programs share.
const (
	ResourceWire    = "wire"    // wire of the local testbed
	ResourceNetwork = "network" // network of a cluster
	ResourceMachine = "machine" // processors shared by client and server
	ResourceClient  = "client"  // processors of the client's machine
	ResourceServer  = "server"  // processors of the server's machine
	ResourceDisk    = "disk"    // disk, relative to the disk limit in the experiment file
	// ResourceConnections is the kernel's connection tracking table, which NAT fills.
	ResourceConnections = "connection table"
)

// StartMeter reads a site's counters. stop returns the use since then, or nil without counters or after a failed
// reading. The site's method Meter must keep the counters' order.
func StartMeter(ctx context.Context, site Site) (stop func(ctx context.Context) []Resource) {
	at, ok := As[interface {
		Meter(ctx context.Context) ([]Resource, error)
	}](site)
	if !ok {
		return func(context.Context) []Resource { return nil }
	}
	before, beforeErr := at.Meter(ctx)
	began := time.Now()
	return func(ctx context.Context) []Resource {
		took := time.Since(began).Seconds()
		after, err := at.Meter(ctx)
		if err != nil || beforeErr != nil || len(after) != len(before) {
			return nil
		}
		for i := range after {
			after[i].since(before[i], took)
		}
		return Joined(after)
	}
}

// since turns the counters of r into the use since the earlier reading o. The argument seconds is the time between the
// two readings.
func (r *Resource) since(o Resource, seconds float64) {
	r.Used, r.Held = min(1, (max(0, r.Used-o.Used)/seconds+r.Held)/max(r.Of, 1)), 0
	for i, n := range r.counts() {
		*n -= min(*o.counts()[i], *n)
	}
}

func (r *Resource) counts() []*uint64 {
	return []*uint64{&r.Packets, &r.Dropped, &r.Segments, &r.Retransmitted, &r.Timeouts}
}

// Joined joins lists of resources from several periods or directions. For each resource, it keeps the highest share and
// adds up the counts.
func Joined(lists ...[]Resource) (all []Resource) {
	for _, r := range slices.Concat(lists...) {
		i := slices.IndexFunc(all, func(o Resource) bool { return o.Name == r.Name })
		if i < 0 {
			all = append(all, r)
			continue
		}
		o := &all[i]
		o.Used, o.Of = max(o.Used, r.Used), max(o.Of, r.Of)
		for k, n := range o.counts() {
			*n += *r.counts()[k]
		}
	}
	return all
}

// ReadConnections reads entries and size of the calling thread's connection tracking table; 0 without a table.
func ReadConnections() Resource {
	read := func(name string) (n float64) {
		text, _ := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_" + name)
		n, _ = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		return n
	}
	return Resource{Name: ResourceConnections, Held: read("count"), Of: read("max")}
}

// ReadNetwork reads the TCP counters in the calling thread's network namespace. name becomes the resource's name.
func ReadNetwork(name string) (tcp Resource, err error) {
	counters := map[string]float64{}
	for _, file := range []string{"net/snmp", "net/netstat"} {
		// prometheus/procfs reads these files only for processes, not for threads.
		text, err := os.ReadFile("/proc/thread-self/" + file)
		if err != nil {
			return tcp, fmt.Errorf("counters of the network: %w", err)
		}
		var names []string
		// Lines come in pairs: the names of the counters, and their values.
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			for i := range min(len(names), len(f)) {
				counters[f[0]+names[i]], _ = strconv.ParseFloat(f[i], 64)
			}
			names = f
		}
	}
	tcp = Resource{Name: name, Retransmitted: uint64(counters["Tcp:RetransSegs"]), Timeouts: uint64(counters["TcpExt:TCPTimeouts"])}
	// OutSegs excludes segments that are sent again (RFC 4022), so their number is added.
	tcp.Segments = uint64(counters["Tcp:OutSegs"]) + tcp.Retransmitted
	return tcp, nil
}

// Sample holds the conditions at a trial's site during the trial.
type Sample struct {
	Conditions machine.Conditions
	Machine    *machine.Activity // activity of the one machine that Conditions describe; nil if unknown
	// Sidecars holds the usage of containers without a subject, by pod role and container ("client-istio-proxy").
	// MaxRSS is the working set at the end.
	Sidecars            map[string]Usage
	SidecarsUnavailable bool                // set for all arms as soon as the usage of a sidecar is unknown in one arm
	Observed            map[string]Observed // usage of the components that the experiment observes, by name
}

// Observed is the usage of one observed component.
type Observed struct {
	CPU    time.Duration // CPU time of all pods of the component during the sample
	Wall   time.Duration // time between the two readings from which CPU is computed
	Memory int64         // working set of all pods of the component at the end, in bytes
	Quota  *Quota        // nil: unknown, as for the API server
}

// Quota says how near to their limits the containers of an observed component came in a trial. CPU and Memory each
// describe the container that came nearest to that limit.
type Quota struct {
	CPU       float64    `json:"cpu,omitempty"`       // limit of CPU, in cores; 0: none
	Periods   int        `json:"periods,omitempty"`   // periods of the CPU limit, usually of 100 ms, in which the container ran
	Throttled int        `json:"throttled,omitempty"` // the periods in which the CPU limit stopped the container
	Before    *Throttled `json:"before,omitempty"`    // the same from the container's start to the trial's; nil: there is no CPU limit
	Memory    int64      `json:"memory,omitempty"`    // limit of memory, in bytes; 0: none
	Peak      int64      `json:"peak,omitempty"`      // largest memory since the container's start, page cache included, in bytes
	Kills     int        `json:"kills,omitempty"`     // processes that the kernel killed for lack of memory
	Restarts  int        `json:"restarts,omitempty"`  // restarts of containers since the pods' start
	Killed    bool       `json:"killed,omitempty"`    // set if the last end of a container, at any time, was for lack of memory
}

// Throttled counts periods of a CPU limit.
type Throttled struct {
	Periods   int `json:"periods"`   // number of periods in which the container ran
	Throttled int `json:"throttled"` // the periods in which the limit stopped the container
}

// Share returns the share of periods in which the limit stopped the container.
func (t Throttled) Share() float64 { return float64(t.Throttled) / float64(max(t.Periods, 1)) }

// InTrial returns the periods of the trial.
func (q *Quota) InTrial() Throttled { return Throttled{Periods: q.Periods, Throttled: q.Throttled} }

// Worst joins the quotas of two containers. Of each limit it keeps the one that was nearer, and it adds up kills and
// restarts. Both may be nil.
func (q *Quota) Worst(o *Quota) *Quota {
	if q == nil || o == nil {
		return cmp.Or(q, o)
	}
	sum := *q
	if o.CPU > 0 && (q.CPU == 0 || o.InTrial().Share() > q.InTrial().Share()) {
		sum.CPU, sum.Periods, sum.Throttled, sum.Before = o.CPU, o.Periods, o.Throttled, o.Before
	}
	if o.Memory > 0 && (q.Memory == 0 || float64(o.Peak)/float64(o.Memory) > float64(q.Peak)/float64(q.Memory)) {
		sum.Memory, sum.Peak = o.Memory, o.Peak
	}
	sum.Kills, sum.Restarts, sum.Killed = q.Kills+o.Kills, q.Restarts+o.Restarts, q.Killed || o.Killed
	return &sum
}

// Then joins the quotas of two periods, first q and then o. Both may be nil.
func (q *Quota) Then(o *Quota) *Quota {
	if q == nil || o == nil {
		return cmp.Or(q, o)
	}
	sum := *o
	sum.Periods, sum.Throttled, sum.Before = q.Periods+o.Periods, q.Throttled+o.Throttled, q.Before
	sum.Kills, sum.Peak = q.Kills+o.Kills, max(q.Peak, o.Peak)
	return &sum
}

// Joined joins the samples of two periods of a trial, first s and then o, with their lengths. CPU times are added.
// Memory is taken from the later sample.
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
			return Observed{CPU: a.CPU + b.CPU, Wall: a.Wall + b.Wall, Memory: b.Memory, Quota: a.Quota.Then(b.Quota)}
		}),
	}
	if s.Machine != nil && o.Machine != nil {
		both := s.Machine.Plus(*o.Machine)
		sum.Machine, sum.Conditions = &both, both.Conditions()
	}
	return sum
}

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
