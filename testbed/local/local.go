// Package local is the testbed on this machine: two nodes joined by a wire, a
// pod on each, all of them network namespaces of this process. A service of several
// members has more pods, on nodes of their own.
//
// A Testbed makes sites (Open); a site starts commands at its places (Start)
// and, when it was opened with a network, is also a testbed.Network, Members, Wire,
// Shaper and Nodes. Several sites are open at once, one per arm and level, all
// with the same addresses, since their namespaces know nothing of each other.
//
// Four rules keep the machine clean:
//
//   - Namespaces have no name and no mount: they end with the threads and the
//     file descriptors of this process, and what is in them ends with them.
//   - Every command is forked by an OS thread that lives as long as its site,
//     with a death signal tied to that thread: when this process dies, however
//     it dies, the kernel kills the command.
//   - Every command carries a marker in its environment that names this
//     process, and a limit that does (owned.Mark), so that descendants which a killed
//     Tare could not reach are found by Strays and killed by Clean.
//   - Where it may be made, a cgroup holds all that a command starts.
//
// Making namespaces takes rights that an ordinary user has only inside a user
// namespace of its own: see NeedsUserNamespace and EnterUserNamespace.
//
// All of it is made of what only Linux has. On other systems a site is no more than a
// place to start programs that drive a cluster.
package local

import (
	"context"
	"errors"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/testbed"
)

// Shaping is the name of Probe's finding about rate limits on the wire.
const Shaping = "shaping (tbf)"

// Delays is the name of ProbeDelays' finding.
const Delays = "delay and loss (netem)"

// UserNamespaceVariable is set in a Tare that has entered a user namespace.
const UserNamespaceVariable = "TARE_USER_NAMESPACE"

// Stray is a process that a Tare which no longer runs has left behind.
type Stray struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // its command line
	Owner   string `json:"owner"`   // PID-START-NAMESPACE of the Tare that started it
}

// Try opens a site, gives it to f, and closes it: to see whether something works on this machine.
// Its wire has no cap.
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
