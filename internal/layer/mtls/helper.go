package mtls

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// request asks the helper at a place for one action in its own network namespace. Exactly one field is set.
type request struct {
	Redirect *redirect      `json:"redirect,omitempty"`
	Restore  *struct{}      `json:"restore,omitempty"`  // remove the layer's redirection rules, if there are any
	Rules    *struct{}      `json:"rules,omitempty"`    // the response is the number of installed rules
	Source   *netip.Prefix  `json:"source,omitempty"`   // the response is the address that this place has in a network
	Listen   []uint16       `json:"listen,omitempty"`   // answer probes from now on, at the last free port of this list; the response is the port
	Unlisten *struct{}      `json:"unlisten,omitempty"` // stop answering probes
	Send     *sendRequest   `json:"send,omitempty"`     // send a marker; the response has the type sent
	Admin    *adminRequest  `json:"admin,omitempty"`    // ask a proxy; the response is its answer, a text
	Watch    string         `json:"watch,omitempty"`    // start to count frames with this text that leave or enter the pod
	Unwatch  *struct{}      `json:"unwatch,omitempty"`  // stop counting frames; the response is their number
	Become   *becomeRequest `json:"become,omitempty"`   // replace this process by a proxy
	Forget   string         `json:"forget,omitempty"`   // remove a proxy's directory, given by its name
	Output   string         `json:"told,omitempty"`     // read the proxy's output since the last request; the value is the name of the proxy's directory
}

type becomeRequest struct {
	Dir   string            `json:"dir"`   // name of the proxy's directory, below the temporary directory of its place
	Files map[string]string `json:"files"` // contents of the files in the proxy's working directory, by file name
	Args  []string          `json:"args"`
	// ToFile is set if the proxy must write its output to a file: the output of a program in a pod cannot be read
	// while the program runs.
	ToFile bool `json:"told,omitempty"`
}

// redirect redirects connections to a proxy. The rules for all ports take effect at the same moment.
type redirect struct {
	Own       bool         `json:"own"`       // true: connections that local programs open; false: connections that arrive here
	Addresses []netip.Addr `json:"addresses"` // destination addresses of the connections; none: any address
	Ports     []uint16     `json:"ports"`     // destination ports of the connections
	To        uint16       `json:"to"`        // port of the proxy
	// At is the proxy's address. If it is invalid, the rule uses the address of the receiving interface. A tunnel's
	// interface has no address, and so needs At.
	At netip.Addr `json:"at"`
	// Mark and User name sockets whose connections are not redirected: sockets that have this mark, and sockets of this
	// user. 0: no such sockets.
	Mark uint32 `json:"mark,omitempty"`
	User uint32 `json:"user,omitempty"`
}

func (r redirect) rules() int { return max(len(r.Addresses), 1) * len(r.Ports) }

// probeAnswer is the answer of the probe's server: its description of the connection.
type probeAnswer struct {
	Peer     netip.AddrPort `json:"peer"`     // source address and port of the connection
	Marker   string         `json:"marker"`   // marker that arrived
	Identity string         `json:"identity"` // identity that a proxy added to the request (X-Forwarded-Client-Cert)
}

// sendRequest asks the helper to send a marker and to return the server's answer.
type sendRequest struct {
	To     netip.AddrPort `json:"to"`
	From   netip.Addr     `json:"from"` // source address; invalid: the kernel chooses
	Marker string         `json:"marker"`
	HTTP   bool           `json:"http,omitempty"` // set if the marker is sent in an HTTP request
	Mark   int            `json:"mark,omitempty"` // mark of the socket
	TLS    *tlsClient     `json:"tls,omitempty"`  // nil: the connection has no TLS
}

// tlsClient is what the client needs for TLS.
type tlsClient struct {
	Authority string    `json:"authority"`          // authority that must have certified the server
	Identity  *identity `json:"identity,omitempty"` // identity of the client; nil: none
}

// sent is what came of sending a marker. If no answer came, Refused is the reason.
type sent struct {
	Refused string         `json:"refused,omitempty"`
	Local   netip.AddrPort `json:"local"` // source address and port of the connection
	Heard   probeAnswer    `json:"heard"`
	// Version, Identity and Key describe the TLS of the connection, if it had TLS.
	Version  string `json:"version,omitempty"`
	Identity string `json:"identity,omitempty"` // identity of the server
	Key      string `json:"key,omitempty"`      // kind of the server's key
}

func (s sent) arrived() bool { return s.Refused == "" }

// direct reports whether the client's own connection reached the server, without a proxy between them.
func (s sent) direct() bool { return s.arrived() && s.Local == s.Heard.Peer }

// adminRequest is a message to a proxy's admin address: an HTTP request if Method is set, or else a line of text.
type adminRequest struct {
	Address string `json:"address"`
	Method  string `json:"method,omitempty"`
	Text    string `json:"text"`
}

const arrivalLimit = 6 * time.Second // how long a datagram may take to arrive: a tunnel may first make a handshake

type markerOutcome struct {
	sent
	size   int  // size of the marker in bytes
	clear  int  // number of frames on the wire that show the marker in clear
	hidden bool // true: the wire does not show the datagram either, which bypasses the proxies
}

// sendMarker sends a random marker to the server pod and looks for it on the wire. With seen = true and no marker on
// the wire, a datagram past the proxies shows whether a tunnel hides marker and datagram.
func (h helpers) sendMarker(ctx context.Context, site surroundings, o sendRequest, seen bool) (m markerOutcome, err error) {
	o.Marker = evidence.Marker()
	m.size = len(o.Marker)
	stop := func() (int, error) { return 0, nil }
	if site.Wire != nil {
		if stop, err = site.Watch(ctx, []byte(o.Marker)); err != nil {
			return m, err
		}
	}
	err = h[testbed.ClientPod].Ask(ctx, request{Send: &o}, &m.sent)
	var watched error
	m.clear, watched = stop()
	if err := errors.Join(err, watched); err != nil {
		return m, err
	}
	if seen && m.arrived() && m.clear == 0 && site.Datagrams != nil {
		m.hidden, err = hidden(ctx, site)
	}
	return m, err
}

func hidden(ctx context.Context, site surroundings) (bool, error) {
	marker := []byte(evidence.Marker())
	stop, err := site.Watch(ctx, marker)
	if err != nil {
		return false, err
	}
	arrived, err := site.DeliverBetween(ctx, testbed.ClientPod, testbed.ServerPod, marker, arrivalLimit)
	frames, watched := stop()
	return arrived && frames == 0, errors.Join(err, watched)
}

// checkWay checks who opened the connection by which the marker arrived: with direct = true the client, with direct
// = false a proxy.
func (m markerOutcome) checkWay(direct bool) layer.Check {
	say := map[bool]string{true: "arrives by the connection that it was sent on", false: "arrives by another connection than the one it was sent on"}
	c := layer.Check{Layer: kind, Name: "marker from pod to pod", Expected: say[direct], Observed: say[m.direct()]}
	if !m.arrived() {
		c.Observed = "does not arrive: " + m.Refused
	}
	c.OK = m.arrived() && m.direct() == direct
	return c
}

// checkWire checks the marker on the wire. With clear = true, the wire must show the marker in clear; with clear =
// false, it must not.
func (m markerOutcome) checkWire(clear bool) layer.Check {
	c := layer.Check{Layer: kind, Name: "marker on the wire", Expected: "in clear in 0 frames", Observed: fmt.Sprintf("in clear in %d frames", m.clear)}
	c.OK = m.arrived() && (m.clear > 0) == clear
	if clear {
		c.Expected = "in clear in at least 1 frame, or as hidden as a datagram"
		if m.hidden {
			c.OK, c.Observed = true, c.Observed+", nor is a datagram: something else hides both"
		}
	}
	return c
}

type podWire struct{ helper *helperrpc.Helper } // the wire of a pod, as its helper sees it: the pod's network interfaces

var _ testbed.Wire = (*podWire)(nil)

func (w *podWire) Watch(ctx context.Context, pattern []byte) (func() (int, error), error) {
	if err := w.helper.Ask(ctx, request{Watch: string(pattern)}, nil); err != nil {
		return nil, err
	}
	return func() (n int, err error) {
		err = w.helper.Ask(context.WithoutCancel(ctx), request{Unwatch: &struct{}{}}, &n)
		return n, err
	}, nil
}
