package mtls

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/text/tmpl"
)

// side is one side of the connections, the client's or the server's. Each side has one proxy.
type side int

const (
	clientSide side = iota
	serverSide
)

// String returns the name that the side's proxy has in its own configuration. Istio uses the same names.
func (s side) String() string { return [2]string{"outbound", "inbound"}[s] }

func (s side) part() string { return [2]string{"client-proxy", "server-proxy"}[s] }

// listen returns the port to which the connections of the side's proxy are redirected. Istio uses the same ports.
func (s side) listen() uint16 { return [2]uint16{15001, 15006}[s] }

func (s side) pod() testbed.Place { return [2]testbed.Place{testbed.ClientPod, testbed.ServerPod}[s] }

func (s side) place(p placement) testbed.Place {
	if p == node {
		return [2]testbed.Place{testbed.ClientNode, testbed.ServerNode}[s]
	}
	return s.pod()
}

// mark is set on the sockets of the client's proxy and of probes: the rules do not redirect connections of these
// sockets. Istio uses 1337 for another purpose.
const mark = 1337

type implementation struct {
	program   string
	version   []string       // arguments that make the program print its version
	hint      string         // command that installs the program
	file      string         // name of the configuration file
	configure *tmpl.Template // template of the configuration, executed with plan.values
	args      func(plan) []string
	// admin returns the proxy's address for queries, an abstract socket in its network namespace. name is the address's
	// name in the proxy's configuration.
	admin    func(name string) string
	method   string // the HTTP method of queries; "" if a query is a line of text
	ready    string // query that succeeds when the proxy accepts connections
	about    string // query for the proxy's name and number of workers; the function describe parses the answer
	describe func(answer string) (what string, workers int, err error)
	stats    func(side) string // returns the query for the counters of a side; the function count parses the answer
	count    func(answer string, s side) (counters, error)
	// logConnections turns the records of connections on standard output on or off.
	logConnections func(ctx context.Context, a admin, on bool) error
	identify       func(id string) string // returns an identity as the records of connections spell it
	// user is the user id of the proxy if the rules recognise the proxy's sockets by their user; 0: the rules
	// recognise them by a mark.
	user         uint32
	capabilities []string // capabilities of a sidecar with the proxy and the helper
}

func (p program) implementation() *implementation {
	if p == haProxy {
		return &haproxy
	}
	return &envoy
}

func (i *implementation) find() (string, error) { return testbed.Installed(i.program, i.program) }

// counters count the work of one proxy since its start. The TLS fields are about the TLS between the two proxies.
type counters struct {
	Connections uint64            // connections accepted
	Bytes       uint64            // payload passed on, in both directions
	Upstream    uint64            // connections opened
	Open        uint64            // opened connections that are still open
	Requests    uint64            // requests received; 0 if the proxy does not parse HTTP
	Handshakes  uint64            // successful TLS handshakes
	Resumed     uint64            // handshakes that resumed a session, without certificates
	Strangers   uint64            // peers whose certificates the proxy refused; HAProxy does not count them: always 0
	Versions    map[string]uint64 // handshakes by TLS version; nil: unknown
}

// since returns how much the counters have grown since an earlier reading. Open is not subtracted: it stays the present
// number of open connections.
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

// admin is a proxy's admin address, which the helper at the proxy's place asks.
type admin struct {
	helper  *helperrpc.Helper
	address string
	method  string
	side    side
}

func (a admin) ask(ctx context.Context, text string) (answer string, err error) {
	o := adminRequest{Address: a.address, Method: a.method, Text: text}
	if err := a.helper.Ask(ctx, request{Admin: &o}, &answer); err != nil {
		return "", fmt.Errorf("%s: ask it for %s: %w", a.side.part(), text, err)
	}
	return answer, nil
}

func account(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// plan holds the values for the template of a proxy's configuration.
type plan struct {
	Config
	Side   side
	From   netip.Addr // source address of the client's proxy; invalid: the kernel chooses
	Mark   int
	Listen uint16
}

func (p plan) values() map[string]any {
	client := p.Side == clientSide
	peer, user, from := clientIdentity, 0, ""
	if client {
		peer = serverIdentity
	}
	if client && p.Placement.One() == sidecar {
		user = int(p.implementation().user)
	}
	if p.From.IsValid() {
		from = p.From.String()
	}
	return map[string]any{
		"Side": p.Side.String(), "IsClient": client, "Listen": int(p.Listen), "From": from, "Mark": p.Mark,
		"Protocol": string(p.Protocol.One()), "HTTP": p.Protocol.One() == HTTP, "Encrypts": p.Encrypts(),
		"Version": string(p.Version.One()), "TLS13": p.Version.One() == tls13, "Ciphers": p.ciphers(),
		"Resumption": p.Resumption.One(), "RequestsPerConnection": p.RequestsPerConnection.OrZero(), "Workers": p.Workers.One(),
		"Peer": peer, "Account": account(peer), "User": user, // user that the proxy switches to; 0 if it keeps its user
	}
}

// ciphers returns OpenSSL's name of the cipher for the TLS version and the kind of key; "" if the proxies choose the
// cipher.
func (p plan) ciphers() string {
	if p.Cipher.OrZero() == "" {
		return ""
	}
	if p.Version.One() == tls13 {
		return map[cipher]string{aes128: "TLS_AES_128_GCM_SHA256", aes256: "TLS_AES_256_GCM_SHA384", chaCha: "TLS_CHACHA20_POLY1305_SHA256"}[p.Cipher.OrZero()]
	}
	name := map[cipher]string{aes128: "AES128-GCM-SHA256", aes256: "AES256-GCM-SHA384", chaCha: "CHACHA20-POLY1305"}[p.Cipher.OrZero()]
	if p.Key.One().rsa() {
		return "ECDHE-RSA-" + name
	}
	return "ECDHE-ECDSA-" + name
}
