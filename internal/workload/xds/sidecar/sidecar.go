// Package sidecar simulates one Envoy sidecar, as an xDS server sees it. The sidecar handles no traffic. It opens a
// stream of the aggregated discovery service (ADS) on its own connection. It acknowledges the responses, and subscribes
// in Envoy's order:
//
//	all clusters (CDS) → endpoints of clusters with EDS → all listeners (LDS) → routes of listeners with RDS
//
// # Memory
//
// Memory limits how many sidecars a process can hold. A sidecar is therefore one goroutine, which reads. Frames come
// from golang.org/x/net/http2. Messages are parsed while they arrive. Only resources that name other resources are kept
// (message.go), so that a megabyte of endpoints is never in memory. In grpc-go, a connection has seven goroutines, and
// keeps complete messages. hack/bench/xds compares grpc-go with this package.
//
// # Differences from Envoy
//
// Like Envoy, a sidecar sends its node with the first request only. It asks for listeners after the first endpoints
// have arrived. A request that rejects a response repeats the version that the sidecar has. Unlike Envoy, a sidecar
// begins every stream without resources, as a new pod does. When Envoy reconnects to a delta server, it lists the
// resources that it still has.
package sidecar

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"golang.org/x/net/http2"

	"tare/internal/layer/xdstransport"
)

// Protocol is a variant of ADS.
type Protocol = xdstransport.Protocol

// The variants of ADS.
const (
	Delta = xdstransport.Delta
	SotW  = xdstransport.SotW
)

// Server describes the server that sidecars connect to, and the connection.
type Server struct {
	Address   string // IP:PORT
	Authority string // name of the server in requests; "": the address
	Protocol  Protocol
	TLS       *tls.Config // nil: plaintext
	Token     string      // bearer token in the metadata of the stream; "": none
}

// Client holds what the simulated sidecars of one server have in common.
type Client struct {
	server Server
	dialer net.Dialer
	head   []byte // bytes that each connection sends at its beginning
}

// connectLimit is the longest time for connecting, TLS included: Envoy's default.
const connectLimit = 5 * time.Second

// New makes a Client, which does not connect yet.
func New(s Server) *Client {
	s.Authority = cmp.Or(s.Authority, s.Address)
	if s.TLS != nil {
		s.TLS = s.TLS.Clone()
		s.TLS.NextProtos = []string{http2.NextProtoTLS}
	}
	return &Client{server: s, dialer: net.Dialer{KeepAlive: -1}, head: opening(s)}
}

// Update describes a response that has arrived.
type Update struct {
	Type     Type
	Bytes    int    // size of the message
	Ready    string // kind of the connection, if this response made the sidecar ready for the first time; "": for any other response
	Rejected error  // reason why the sidecar rejected the response; nil: the sidecar acknowledged the response
}

// Run connects and subscribes until the stream or the context ends. node is an encoded message. Run's own goroutine
// calls see for each response. The error is an *Error.
func (c *Client) Run(ctx context.Context, node []byte, see func(Update)) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := newStream(conn, c.head)
	s := &sidecar{stream: in, message: incoming{in: in, delta: c.server.Protocol == Delta}, by: describe(conn, c.server.Protocol), see: see}
	s.ask(request{of: CDS, node: node})
	if err := s.flush(); err != nil {
		return err
	}
	respond := s.respond
	for {
		if err := s.message.next(respond); err != nil {
			return err
		}
	}
}

// connect makes a connection, with TLS if the server has it.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := c.dialer.DialContext(limited, "tcp", c.server.Address)
	if err != nil {
		return nil, &Error{Dial, err.Error()}
	}
	if raw, ok := conn.(*net.TCPConn); ok {
		// With this setting, Close resets the connection. A normal close would keep the client's port in use for a
		// minute, and three trials could use up all ports.
		_ = raw.SetLinger(0)
	}
	if c.server.TLS == nil {
		return conn, nil
	}
	encrypted := tls.Client(conn, c.server.TLS)
	if err := encrypted.HandshakeContext(limited); err != nil {
		_ = conn.Close()
		return nil, &Error{TLS, err.Error()}
	}
	if p := encrypted.ConnectionState().NegotiatedProtocol; p != http2.NextProtoTLS {
		_ = conn.Close()
		return nil, &Error{TLS, "the server does not speak HTTP/2 (ALPN)"}
	}
	return encrypted, nil
}

// describe returns the protocol and encryption of a connection.
func describe(conn net.Conn, p Protocol) xdstransport.Connection {
	by := xdstransport.Connection{Protocol: p}
	if encrypted, ok := conn.(*tls.Conn); ok {
		state := encrypted.ConnectionState()
		by.TLS = tls.VersionName(state.Version) + ", " + tls.CipherSuiteName(state.CipherSuite)
	}
	return by
}

type sidecar struct {
	*stream
	message incoming
	by      xdstransport.Connection
	see     func(Update)
	asked   [types]bool
	got     [types]bool
	ready   bool
	// names holds, for EDS and RDS, the names of the resources that the sidecar asks for.
	names [types]names
	// versions holds, by type, the version that the sidecar accepted last. nonces holds, by type, the nonce of the
	// last response.
	versions, nonces [types]string
}

// ask queues a request for the next flush.
func (s *sidecar) ask(r request) {
	s.asked[r.of] = true
	s.queue(r.append(nil, s.message.delta))
}

// respond handles a complete response, and sends the requests that the sidecar makes after this response.
func (s *sidecar) respond(w *response, size int) error {
	t := typed(w.url)
	if t == other { // the sidecar has not asked for resources of this type
		s.see(Update{Type: t, Bytes: size})
		return nil
	}
	s.nonces[t] = string(w.nonce)
	if w.wrong != nil {
		s.see(Update{Type: t, Bytes: size, Rejected: w.wrong})
		s.acknowledge(t, w.wrong)
		return s.flush()
	}
	s.got[t], s.versions[t] = true, unique.Make(string(w.version)).Value() // sidecars with equal versions share one copy of the text
	named, refers := t.next()
	var before names
	if refers {
		before = s.names[named]
		s.names[named] = s.wanted(named, w)
	}
	u := Update{Type: t, Bytes: size}
	if !s.ready && s.complete() {
		s.ready, u.Ready = true, s.by.String()
	}
	s.see(u)
	s.acknowledge(t, nil)
	if refers {
		s.subscribe(named, before)
	}
	if !s.asked[lds] && s.got[CDS] && s.has(EDS) {
		s.ask(request{of: lds})
	}
	return s.flush()
}

// wanted is called after a response that names resources of another type. It returns the names that the sidecar then
// asks for.
func (s *sidecar) wanted(of Type, w *response) names {
	found := w.names
	if s.message.delta {
		gone := w.removed
		found = slices.Concat(s.names[of].list(), found)
		found = slices.DeleteFunc(found, func(name string) bool { return slices.Contains(gone, name) })
	}
	return newNames(found)
}

// complete reports whether the server has answered each type that the sidecar asks for.
func (s *sidecar) complete() bool { return s.got[CDS] && s.has(EDS) && s.got[lds] && s.has(rds) }

// has reports whether the sidecar has all that it asks for of a type: a response has arrived, or it asks for no
// names.
func (s *sidecar) has(t Type) bool { return s.got[t] || s.names[t] == names{} }

// acknowledge sends a request in answer to the last response of a type. With wrong = nil the request accepts the
// response, and otherwise rejects it.
func (s *sidecar) acknowledge(t Type, wrong error) {
	s.ask(request{of: t, version: s.versions[t], nonce: s.nonces[t], names: s.names[t].list(), wrong: wrong})
}

// subscribe asks the server for the resources of a type that the sidecar wants now. If the wanted names equal before,
// the names wanted earlier, subscribe asks for nothing.
func (s *sidecar) subscribe(of Type, before names) {
	wanted := s.names[of]
	if wanted == before {
		return
	}
	r := request{of: of, names: wanted.list()}
	if s.message.delta {
		r.names, r.gone = difference(wanted.list(), before.list()), difference(before.list(), wanted.list())
	} else {
		r.version, r.nonce = s.versions[of], s.nonces[of]
	}
	s.ask(r)
}

// names is a set of resource names that a sidecar asks for. Equal sets compare as equal, and share one copy in
// memory. The zero value is the empty set.
type names struct{ joined unique.Handle[string] }

// separator separates names. No name contains it.
const separator = "\x00"

// newNames returns the set of the names in a list. It sorts the list in place.
func newNames(list []string) names {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return names{}
	}
	return names{unique.Make(strings.Join(list, separator))}
}

func (n names) list() []string {
	if n == (names{}) {
		return nil
	}
	return strings.Split(n.joined.Value(), separator)
}

// difference returns the elements of a that are not in b. Both lists are sorted.
func difference(a, b []string) []string {
	var more []string
	for _, name := range a {
		if _, both := slices.BinarySearch(b, name); !both {
			more = append(more, name)
		}
	}
	return more
}

// Kinds of errors. If the server ends a stream, the kind is the name of the gRPC status, such as Limited.
const (
	Dial      = "dial" // no connection
	TLS       = "tls"
	Closed    = "closed"   // the connection was closed
	reset     = "reset"    // the stream was reset
	malformed = "protocol" // the server does not speak gRPC over HTTP/2
	done      = "ok"       // the server ended the stream with the status OK
	Limited   = "resource-exhausted"
)

// codes lists the names of gRPC's statuses by their numbers.
var codes = [...]string{done, "cancelled", "unknown", "invalid-argument", "deadline-exceeded", "not-found", "already-exists", "permission-denied",
	Limited, "failed-precondition", "aborted", "out-of-range", "unimplemented", "internal", "unavailable", "data-loss", "unauthenticated"}

// Error is the reason why a stream ended.
type Error struct {
	Kind string
	Text string // message of the server, of TLS or of the operating system
}

func (e *Error) Error() string { return e.Kind + ": " + e.Text }

func malformedf(format string, args ...any) error {
	return &Error{malformed, fmt.Sprintf(format, args...)}
}

// ended returns the error for the gRPC status with which the server ended the stream.
func ended(status, message string) error {
	if plain, err := url.PathUnescape(message); err == nil {
		message = plain
	}
	code, err := strconv.ParseUint(status, 10, 16)
	switch {
	case err != nil:
		return malformedf("the gRPC status %.20q", status)
	case code >= uint64(len(codes)):
		return &Error{"grpc-" + status, message}
	}
	return &Error{codes[code], message}
}
