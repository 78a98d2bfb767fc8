// Package local is the testbed on this machine: two nodes that are joined by a wire, with a pod on each node. A service
// with several members has more nodes and pods. Wire, nodes and pods are network namespaces of this process.
//
// A Testbed makes sites (Open), which start commands at their places (Start). A site with a network is also a
// testbed.Network, Members, Wire, Shaper and Nodes. Several sites are open at the same time, one for each arm and
// level. All have the same addresses, since their namespaces are separate.
//
// Four rules keep the machine clean:
//
//   - Namespaces have no name and no mount. They end with the threads and file descriptors of this process.
//   - Every command is forked by an OS thread that lives as long as its site, and has a death signal from that
//     thread. If this process dies for any reason, the kernel kills the command.
//   - Every command has a marker in its environment and a mark (owned.Mark), which both identify this process.
//     By these, Strays finds descendants that outlived a killed Tare, and Clean kills them.
//   - A cgroup contains all descendants of a command, if this process may make cgroups.
//
// An ordinary user needs a user namespace of its own to make namespaces (NeedsUserNamespace, EnterUserNamespace). A
// local network needs Linux. On other systems, a site can only start programs that control a cluster.
package local

import (
	"context"
	"errors"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
)

// Shaping is the name of a result of Probe: whether this machine can limit the rate of a link.
const Shaping = "shaping (tbf)"

// Delays is the name of the finding about delay and loss on the wire (ProbeDelays).
const Delays = "delay and loss (netem)"

// UserNamespaceVariable is an environment variable of a Tare that has entered a user namespace.
const UserNamespaceVariable = "TARE_USER_NAMESPACE"

// Stray is a process that an ended Tare has left.
type Stray struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // command line of the process
	Owner   string `json:"owner"`   // PID-START-NAMESPACE of the Tare that started the process
}

// Try opens a site without a rate limit, calls f with the site to test a feature of this machine, and closes the site.
func Try(ctx context.Context, needs experiment.Needs, f func(testbed.Site) error) (err error) {
	bed, err := New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	link := experiment.Link{Rate: factor.Of[quantity.Rate](0), MTU: factor.Of(1500)}
	site, err := bed.Open(ctx, testbed.Request{Name: "probe", Needs: needs, Level: &experiment.Local{Link: link}})
	if err != nil {
		return err
	}
	return f(site)
}
