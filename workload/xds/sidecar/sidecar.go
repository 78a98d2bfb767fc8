// Package sidecar is one simulated sidecar: what Envoy is to an xDS server, and nothing of what
// it is to traffic. It opens a stream of the aggregated discovery service (ADS) on a connection
// of its own, subscribes in Envoy's order and acknowledges what it gets:
//
//	all clusters (CDS) → endpoints of those that say so (EDS) → all listeners (LDS) → routes of those that say so (RDS)
//
// # Memory
//
// A process holds thousands of them, and what one takes bounds how many. So a sidecar is one
// goroutine that reads. Frames are of golang.org/x/net/http2; messages are read as they come and
// only what names other resources is looked at (message.go), so that a megabyte of endpoints never
// is in memory. A connection of grpc-go has seven goroutines, and holds messages whole:
// bench/xds has both beside each other.
//
// # Like Envoy, and not
//
// Like Envoy it sends its node with the first request only, rejects a response that it cannot
// read with the version that it has, and asks for listeners when the first endpoints have come.
// A new stream begins with nothing, as that of a new pod does; Envoy would tell a delta server which
// resources it still has.
package sidecar

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"

	"golang.org/x/net/http2"

	"tare/layer/xdstransport"
)

// Protocol is a variant of ADS.
type Protocol = xdstransport.Protocol

// The variants.
const (
	Delta = xdstransport.Delta
	SotW  = xdstransport.SotW
)

// Server is where sidecars connect to, and how.
type Server struct {
	Address   string // IP:PORT
	Authority string // name that it is asked by; "": the address
	Protocol  Protocol
	TLS       *tls.Config // nil: plaintext
	Token     string      // bearer token in the metadata of the stream; "": none
}

// Client is what sidecars of one server share.
type Client struct {
	server Server
	dialer net.Dialer
	head   []byte // what each connection begins with
}

// connectLimit is how long a connection may take, TLS included: Envoy's default.
const connectLimit = 5 * time.Second

// New makes a client.
func New(s Server) *Client {
	if s.Authority == "" {
		s.Authority = s.Address
	}
	if s.TLS != nil {
		s.TLS = s.TLS.Clone()
		s.TLS.NextProtos = []string{http2.NextProtoTLS}
	}
	return &Client{server: s, dialer: net.Dialer{KeepAlive: -1}, head: opening(s)}
}

// Update is a response that has come.
type Update struct {
	Type     Type
	Bytes    int    // of the message
	Ready    string // by which connection, if with it the sidecar has all that it waits for, for the first time
	Rejected error  // why it was not acknowledged
}

// Run connects, subscribes and stays until the stream ends, or the context does. The node is a
// message of the API. see is told of each response before it is acknowledged, by the goroutine of
// Run. The error is an *Error.
func (c *Client) Run(ctx context.Context, node []byte, see func(Update)) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	s := &sidecar{stream: newStream(conn, c.head), message: incoming{delta: c.server.Protocol == Delta}, by: describe(conn, c.server.Protocol), see: see}
	s.ask(request{of: CDS, node: node})
	if err := s.flush(); err != nil {
		return err
	}
	respond := s.respond
	return s.serve(func(piece []byte) error { return s.message.take(piece, respond) })
}

// connect makes a connection, and encrypts it.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := c.dialer.DialContext(limited, "tcp", c.server.Address)
	if err != nil {
		return nil, &Error{Dial, err.Error()}
	}
	if raw, ok := conn.(*net.TCPConn); ok {
		// A connection that is closed by this side would keep its port for a minute, and of
		// ports there are fewer than sidecars in three trials.
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

// describe says what a connection is like.
func describe(conn net.Conn, p Protocol) xdstransport.Connection {
	by := xdstransport.Connection{Protocol: p}
	if encrypted, ok := conn.(*tls.Conn); ok {
		state := encrypted.ConnectionState()
		by.TLS = tls.VersionName(state.Version) + ", " + tls.CipherSuiteName(state.CipherSuite)
	}
	return by
}

// sidecar is one that is connected.
type sidecar struct {
	*stream
	message incoming
	by      xdstransport.Connection
	see     func(Update)
	asked   [types]bool
	got     [types]bool
	ready   bool
	// names are what is asked for by name: of EDS and RDS.
	names [types]names
	// versions are the last ones that were accepted, nonces those of the last responses.
	versions, nonces [types]string
}

// ask has a request sent with the next flush.
func (s *sidecar) ask(r request) {
	s.asked[r.of] = true
	s.queue(r.append(nil, s.message.delta))
}

// respond takes a response that has come whole, and sends what there is to say to it.
func (s *sidecar) respond(w *work, size int) error {
	t := w.of()
	if t == Other { // nobody has asked for it
		s.see(Update{Type: t, Bytes: size})
		return nil
	}
	s.nonces[t] = string(w.nonce)
	if w.wrong != nil {
		s.see(Update{Type: t, Bytes: size, Rejected: w.wrong})
		s.acknowledge(t, w.wrong)
		return s.flush()
	}
	s.got[t], s.versions[t] = true, share(w.version)
	named, leads := t.leads()
	var before names
	if leads {
		before = s.names[named]
		s.names[named] = s.wanted(named, w)
	}
	u := Update{Type: t, Bytes: size}
	if !s.ready && s.complete() {
		s.ready, u.Ready = true, s.by.String()
	}
	s.see(u)
	s.acknowledge(t, nil)
	if leads {
		s.subscribe(named, before)
	}
	if !s.asked[LDS] && s.got[CDS] && s.has(EDS) {
		s.ask(request{of: LDS})
	}
	return s.flush()
}

// wanted are the names of a type that a response has the sidecar ask for from now on.
func (s *sidecar) wanted(of Type, w *work) names {
	found := w.names
	if s.message.delta {
		gone := w.removed
		found = slices.Concat(s.names[of].list(), found)
		found = slices.DeleteFunc(found, func(name string) bool { return slices.Contains(gone, name) })
	}
	return naming(found)
}

// complete says whether each type that is asked for has been answered.
func (s *sidecar) complete() bool { return s.got[CDS] && s.has(EDS) && s.got[LDS] && s.has(RDS) }

// has says whether resources of a type have come, or none are asked for by name.
func (s *sidecar) has(t Type) bool { return s.got[t] || s.names[t].none() }

// acknowledge accepts or rejects the last response of a type.
func (s *sidecar) acknowledge(t Type, wrong error) {
	s.ask(request{of: t, version: s.versions[t], nonce: s.nonces[t], names: s.names[t].list(), wrong: wrong})
}

// subscribe asks for the names of a type, where they are others than before.
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
