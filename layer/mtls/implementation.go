package mtls

import (
	"context"
	"fmt"
	"strings"
	"text/template"

	"tare/testbed"
	"tare/testbed/orders"
)

// side is one of the two proxies.
type side int

const (
	clientSide side = iota
	serverSide
)

// String is the proxy's name in its configuration, as Istio has it.
func (s side) String() string { return [2]string{"outbound", "inbound"}[s] }

// part is the proxy's name in what the layer costs.
func (s side) part() string { return [2]string{"client-proxy", "server-proxy"}[s] }

// listen is the port that connections are redirected to: those of Istio.
func (s side) listen() uint16 { return [2]uint16{15001, 15006}[s] }

// pod is the place whose connections the proxy takes.
func (s side) pod() testbed.Place { return [2]testbed.Place{testbed.ClientPod, testbed.ServerPod}[s] }

// place is where the proxy is.
func (s side) place(p Placement) testbed.Place {
	if p == Node {
		return [2]testbed.Place{testbed.ClientNode, testbed.ServerNode}[s]
	}
	return s.pod()
}

// mark is that of the sockets of the client's proxy and of probes, by which the rules leave
// their connections alone. Istio has the same number for another purpose.
const mark = 1337

// implementation is a program that serves as proxy.
type implementation struct {
	program   string
	version   []string           // arguments with which it prints its version
	hint      string             // the command that installs it
	file      string             // of its configuration
	configure *template.Template // of a plan
	args      func(plan) []string
	// admin is the address at which it answers, an abstract one of its network namespace, by
	// the name that its configuration has.
	admin func(name string) string
	// method is the HTTP method of requests to admin; "" where admin takes lines of text.
	method string
	// ready is what it answers once it takes connections.
	ready string
	// about asks it who it is: describe reads from the answer which it is and how many workers it has.
	about    string
	describe func(answer string) (what string, workers int, err error)
	// stats asks for the counters of a side, and count reads them.
	stats func(side) string
	count func(answer string, s side) (counters, error)
	// tell has it tell of connections on its standard output, or not; nil: it cannot.
	tell func(ctx context.Context, a admin, on bool) error
	// identify is what tell can tell of an identity.
	identify func(id string) string
	// user is the id of the user that it becomes, if its sockets are told by that and not by
	// their mark; 0: by their mark.
	user uint32
	// capabilities are those that a sidecar needs, the helper's included.
	capabilities []string
}

func (p Program) implementation() *implementation {
	if p == HAProxy {
		return &haproxy
	}
	return &envoy
}

// find gives the path of the program: on PATH, or in the user's cache.
func (i *implementation) find() (string, error) { return testbed.Installed(i.program, i.program) }

// counters are those of one proxy since it was started. Bytes are of payload, sent on and
// received; TLS is that with the other proxy.
type counters struct {
	Connections uint64            // taken
	Bytes       uint64            // passed on, both ways
	Upstream    uint64            // connections made
	Open        uint64            // of those, still open
	Requests    uint64            // taken, if it takes connections for HTTP
	Handshakes  uint64            // of TLS that succeeded
	Resumed     uint64            // of those, without certificates
	Strangers   uint64            // peers whose certificates were refused; HAProxy counts none
	Versions    map[string]uint64 // of the handshakes; nil: it does not say
}

// since is what was counted after an earlier reading. Counters do not run backwards while
// the process lives.
func (c counters) since(earlier counters) counters {
	d := counters{
		Connections: c.Connections - earlier.Connections, Bytes: c.Bytes - earlier.Bytes, Upstream: c.Upstream - earlier.Upstream,
		Open: c.Open, Requests: c.Requests - earlier.Requests, Handshakes: c.Handshakes - earlier.Handshakes,
		Resumed: c.Resumed - earlier.Resumed, Strangers: c.Strangers - earlier.Strangers,
	}
	if c.Versions != nil {
		d.Versions = map[string]uint64{}
	}
	for v, n := range c.Versions {
		d.Versions[v] = n - earlier.Versions[v]
	}
	return d
}

// admin asks a proxy, through the helper at its place.
type admin struct {
	helper  *orders.Helper
	address string
	method  string
	side    side
}

// ask sends a request or a line and gives what comes back.
func (a admin) ask(ctx context.Context, text string) (answer string, err error) {
	o := adminOrder{Address: a.address, Method: a.method, Text: text}
	if err := a.helper.Ask(ctx, order{Admin: &o}, &answer); err != nil {
		return "", fmt.Errorf("%s: ask it for %s: %w", a.side.part(), text, err)
	}
	return answer, nil
}

// account is the last part of an identity.
func account(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
