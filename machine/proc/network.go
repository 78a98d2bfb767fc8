package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Network is what one network namespace, or several, have counted of TCP.
type Network struct {
	Segments      uint64 `json:"segments"`      // sent
	Retransmitted uint64 `json:"retransmitted"` // of these, sent again
	Timeouts      uint64 `json:"timeouts"`      // of connections that waited for an answer
	// Ports is how many ports of the range for outgoing connections are taken, and Connections how full
	// the table of tracked connections is: of the namespace where that is most.
	Ports       Taken `json:"ports"`
	Connections Taken `json:"connections"`
}

// Taken is how much is taken of what there is; Of is 0 where nobody knows.
type Taken struct {
	Used uint64 `json:"used"`
	Of   uint64 `json:"of"`
}

// Fuller is the table of two that is nearer its end.
func (t Taken) Fuller(o Taken) Taken {
	if t.Of == 0 || o.Of > 0 && float64(o.Used)/float64(o.Of) > float64(t.Used)/float64(t.Of) {
		return o
	}
	return t
}

// Combined combines the counters of two, each by the function; the tables are n's.
func (n Network) Combined(o Network, by func(a, b uint64) uint64) Network {
	n.Segments, n.Retransmitted, n.Timeouts = by(n.Segments, o.Segments), by(n.Retransmitted, o.Retransmitted), by(n.Timeouts, o.Timeouts)
	return n
}

// With adds another namespace.
func (n Network) With(o Network) Network {
	sum := n.Combined(o, func(a, b uint64) uint64 { return a + b })
	sum.Ports, sum.Connections = n.Ports.Fuller(o.Ports), n.Connections.Fuller(o.Connections)
	return sum
}

// ReadNetwork reads what the network namespace of the calling thread has counted. prometheus/procfs reads these
// files of processes, and not of threads.
func ReadNetwork() (Network, error) {
	var n Network
	for _, file := range []string{"snmp", "netstat"} {
		text, err := os.ReadFile(filepath.Join("/proc/thread-self/net", file))
		if err != nil {
			return n, fmt.Errorf("counters of the network: %w", err)
		}
		counted := headed(string(text))
		n.Segments += counted["Tcp:OutSegs"]
		n.Retransmitted += counted["Tcp:RetransSegs"]
		n.Timeouts += counted["TcpExt:TCPTimeouts"]
	}
	n.Segments += n.Retransmitted // the kernel counts them apart (RFC 4022)
	if ports := numbers("/proc/sys/net/ipv4/ip_local_port_range"); len(ports) == 2 && ports[1] >= ports[0] {
		n.Ports = Taken{Used: sockets(), Of: ports[1] - ports[0] + 1}
	}
	count, most := numbers("/proc/sys/net/netfilter/nf_conntrack_count"), numbers("/proc/sys/net/netfilter/nf_conntrack_max")
	if len(count) == 1 && len(most) == 1 {
		n.Connections = Taken{Used: count[0], Of: most[0]}
	}
	return n, nil
}

// headed reads pairs of lines, of which the first names what the second counts.
func headed(text string) map[string]uint64 {
	found := map[string]uint64{}
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || len(names) != len(f) || names[0] != f[0] {
			names = f
			continue
		}
		for i := 1; i < len(f); i++ {
			found[f[0]+names[i]], _ = strconv.ParseUint(f[i], 10, 64) // some are below zero, none of those that are read
		}
		names = nil
	}
	return found
}

// sockets counts TCP sockets of the namespace that are open or wait for their port to be free again.
func sockets() uint64 {
	text, _ := os.ReadFile("/proc/thread-self/net/sockstat")
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 6 && f[0] == "TCP:" && f[1] == "inuse" && f[5] == "tw" {
			open, _ := strconv.ParseUint(f[2], 10, 64)
			waiting, _ := strconv.ParseUint(f[6], 10, 64)
			return open + waiting
		}
	}
	return 0
}

// numbers are those in a file; nil where it cannot be read.
func numbers(file string) (list []uint64) {
	text, _ := os.ReadFile(file)
	for _, f := range strings.Fields(string(text)) {
		if n, err := strconv.ParseUint(f, 10, 64); err == nil {
			list = append(list, n)
		}
	}
	return list
}
