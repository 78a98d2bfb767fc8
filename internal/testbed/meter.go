package testbed

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Resource is a trial's use of a resource that the trial's programs share. In a reading of the counters, the
// numbers are running totals.
type Resource struct {
	Name string `json:"name"` // one of the constants below
	// Used is a share of Of, from 0 to 1. In a reading, it is the number of bits sent so far, or of CPU
	// seconds used so far.
	Used float64 `json:"used,omitempty"`
	Held float64 `json:"-"` // in a reading: occupied entries of a table
	// capacity: bit/s in each direction of the wire, number of processors, or entries of a table; 0:
	// unlimited or unknown
	Of      float64 `json:"of,omitempty"`
	Packets uint64  `json:"packets,omitempty"` // packets sent to the wire
	Dropped uint64  `json:"dropped,omitempty"` // packets that the wire dropped, since its queues were full

	// TCP segments sent, in all pods and on the local testbed's nodes
	Segments      uint64 `json:"segments,omitempty"`
	Retransmitted uint64 `json:"retransmitted,omitempty"` // TCP segments sent again
	// number of timeouts of TCP connections that waited for an acknowledgement
	Timeouts uint64 `json:"timeouts,omitempty"`
}

// These are the resources that programs share.
const (
	ResourceWire    = "wire"    // wire of the local testbed
	ResourceNetwork = "network" // network of a cluster
	ResourceMachine = "machine" // processors shared by client and server
	ResourceClient  = "client"  // processors of the client's machine
	ResourceServer  = "server"  // processors of the server's machine
	ResourceDisk    = "disk"    // disk, relative to the limit in the experiment file
	// ResourceConnections is the kernel's connection tracking table, which NAT uses.
	ResourceConnections = "connection table"
)

// metered is a site that counts the use of resources shared by a trial's programs.
type metered interface {
	// Meter reads the counters, always in the same order. A resource may have several counters, such as one
	// for each direction.
	Meter(ctx context.Context) ([]Resource, error)
}

// StartMeter reads a site's counters. The function that it returns reads them again, and returns the use
// between the two readings. If a reading fails, or if the site has no counters, that function returns nil.
func StartMeter(ctx context.Context, site Site) (stop func(ctx context.Context) []Resource) {
	at, ok := As[metered](site)
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

// since turns a reading into the use since an earlier reading. seconds is the time between these readings.
func (r *Resource) since(o Resource, seconds float64) {
	r.Used, r.Held = min(1, (max(0, r.Used-o.Used)/seconds+r.Held)/max(r.Of, 1)), 0
	for i, n := range r.counts() {
		*n -= min(*o.counts()[i], *n)
	}
}

func (r *Resource) counts() []*uint64 {
	return []*uint64{&r.Packets, &r.Dropped, &r.Segments, &r.Retransmitted, &r.Timeouts}
}

// Joined joins the use over several periods, or in several directions. The share is the highest one. The
// counts are added.
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

// ReadConnections reads the number of entries and the size of the connection tracking table, in the
// network namespace of the calling thread. Both are 0 if the system has no such table.
func ReadConnections() Resource {
	read := func(name string) (n float64) {
		text, _ := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_" + name)
		n, _ = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		return n
	}
	return Resource{Name: ResourceConnections, Held: read("count"), Of: read("max")}
}

// ReadNetwork reads the TCP counters in the network namespace of the calling thread. name is the name of
// the returned resource.
func ReadNetwork(name string) (tcp Resource, err error) {
	counters := map[string]float64{}
	for _, file := range []string{"net/snmp", "net/netstat"} {
		// prometheus/procfs only reads the files of processes, not of threads
		text, err := os.ReadFile("/proc/thread-self/" + file)
		if err != nil {
			return tcp, fmt.Errorf("counters of the network: %w", err)
		}
		var names []string
		// Lines come in twos: a line with the names of the counters, and a line with their values.
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			for i := range min(len(names), len(f)) {
				counters[f[0]+names[i]], _ = strconv.ParseFloat(f[i], 64)
			}
			names = f
		}
	}
	tcp = Resource{Name: name, Retransmitted: uint64(counters["Tcp:RetransSegs"]), Timeouts: uint64(counters["TcpExt:TCPTimeouts"])}
	// OutSegs excludes retransmitted segments (RFC 4022)
	tcp.Segments = uint64(counters["Tcp:OutSegs"]) + tcp.Retransmitted
	return tcp, nil
}
