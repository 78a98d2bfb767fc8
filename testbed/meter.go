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

// Resource is what a trial used of something that its programs share. A reading of it has running totals.
type Resource struct {
	Name string `json:"name"` // one of the constants below
	// Used is a share of Of, from 0 to 1; in a reading, bits sent or CPU seconds so far.
	Used    float64 `json:"used,omitempty"`
	Held    float64 `json:"-"`                 // in a reading: places of a table that are taken
	Of      float64 `json:"of,omitempty"`      // what there is: bit/s of each direction of the wire, processors, places; 0: unlimited or unknown
	Packets uint64  `json:"packets,omitempty"` // that the wire was given
	Dropped uint64  `json:"dropped,omitempty"` // of these, for want of room in its queues

	Segments      uint64 `json:"segments,omitempty"`      // of TCP that were sent, in all pods and on the local testbed's nodes
	Retransmitted uint64 `json:"retransmitted,omitempty"` // of these, sent again
	Timeouts      uint64 `json:"timeouts,omitempty"`      // of TCP connections that waited for an answer
}

// What programs share.
const (
	ResourceWire    = "wire"    // of the local testbed
	ResourceNetwork = "network" // of a cluster
	ResourceMachine = "machine" // processors that client and server share
	ResourceClient  = "client"  // processors of the client's machine
	ResourceServer  = "server"  // processors of the server's machine
	ResourceDisk    = "disk"    // by the cap that the experiment file gives
	// ResourceConnections is the table of the connections that the system follows, as it does for NAT.
	ResourceConnections = "connection table"
)

// Metered is a site that counts what the programs of a trial share.
type Metered interface {
	// Meter reads the counters, always in the same order. A resource may have several, such as one for each direction.
	Meter(ctx context.Context) ([]Resource, error)
}

// StartMeter reads a site's counters. The function that it gives reads them again, and says what was used in between;
// nothing where a reading fails, or the site has no counters.
func StartMeter(ctx context.Context, site Site) (stop func(ctx context.Context) []Resource) {
	at, ok := As[Metered](site)
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

// since makes of a reading what was used in the seconds since an earlier one.
func (r *Resource) since(o Resource, seconds float64) {
	r.Used, r.Held = min(1, (max(0, r.Used-o.Used)/seconds+r.Held)/max(r.Of, 1)), 0
	for i, n := range r.counts() {
		*n -= min(*o.counts()[i], *n)
	}
}

func (r *Resource) counts() []*uint64 {
	return []*uint64{&r.Packets, &r.Dropped, &r.Segments, &r.Retransmitted, &r.Timeouts}
}

// Joined is what was used over several stretches, or in several directions: a share is the highest one, and counts are
// those of all.
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

// ReadConnections reads how full the connection table is of the network namespace of the calling thread. A system without
// one gives 0 of 0.
func ReadConnections() Resource {
	read := func(name string) (n float64) {
		text, _ := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_" + name)
		n, _ = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		return n
	}
	return Resource{Name: ResourceConnections, Held: read("count"), Of: read("max")}
}

// ReadNetwork reads what the network namespace of the calling thread has counted of TCP, as a resource of that name.
func ReadNetwork(name string) (tcp Resource, err error) {
	counters := map[string]float64{}
	for _, file := range []string{"net/snmp", "net/netstat"} {
		text, err := os.ReadFile("/proc/thread-self/" + file) // prometheus/procfs reads those of processes alone
		if err != nil {
			return tcp, fmt.Errorf("counters of the network: %w", err)
		}
		var names []string
		for line := range strings.Lines(string(text)) { // the first of two lines names what the second counts
			f := strings.Fields(line)
			for i := range min(len(names), len(f)) {
				counters[f[0]+names[i]], _ = strconv.ParseFloat(f[i], 64)
			}
			names = f
		}
	}
	tcp = Resource{Name: name, Retransmitted: uint64(counters["Tcp:RetransSegs"]), Timeouts: uint64(counters["TcpExt:TCPTimeouts"])}
	tcp.Segments = uint64(counters["Tcp:OutSegs"]) + tcp.Retransmitted // RFC 4022 counts them apart
	return tcp, nil
}
