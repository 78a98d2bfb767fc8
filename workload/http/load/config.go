package load

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Protocol is the protocol of requests.
type Protocol string

// The protocols. H2 and GRPC multiplex Streams requests on a connection.
const (
	HTTP1 Protocol = "http/1.1"
	H2    Protocol = "h2"   // over TLS by ALPN, in clear with prior knowledge
	GRPC  Protocol = "grpc" // unary calls over H2; messages are bytes that no codec looks at
)

// Values lists the protocols.
func (Protocol) Values() []string { return []string{string(HTTP1), string(H2), string(GRPC)} }

// Config says where a session sends its requests, and what they are.
type Config struct {
	// URL is the address of the server: http://HOST[:PORT][/PATH], or https. For gRPC the
	// path is /SERVICE/METHOD.
	URL string `json:"url"`
	// Connect is the "HOST:PORT" to connect to in place of the URL's, such as that of a proxy.
	Connect  string   `json:"connect,omitempty"`
	Protocol Protocol `json:"protocol"`
	// Connections is how many connections there are at a time.
	Connections int `json:"connections"`
	// Streams is how many requests a connection of H2 or GRPC carries at a time; 0 is 1.
	Streams int `json:"streams,omitempty"`
	// RequestsPerConnection closes a connection after so many requests; 0 never does. Where
	// it is 0 all connections are made before a span begins. Else the first request of each
	// makes it, and its latency covers that.
	RequestsPerConnection int `json:"requestsPerConnection,omitempty"`
	// Requests are what is sent, drawn by their weights. None is one Request{}.
	Requests []Request `json:"requests,omitempty"`
	// TLS is what is trusted and shown where the URL is https; nil trusts the system's.
	TLS *TLS `json:"tls,omitempty"`
	// Timeout is the time for an answer from the moment of sending, new connection
	// included; 0 is 10 s.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Request is one kind of request.
type Request struct {
	// Name has the latency of requests of that name kept apart as well; "" keeps none apart.
	Name   string `json:"name,omitempty"`
	Method string `json:"method,omitempty"` // "" is GET, or POST with a payload
	Path   string `json:"path,omitempty"`   // in place of the URL's path and query
	// Headers are added, each a name and a value.
	Headers [][2]string `json:"headers,omitempty"`
	// Payload is the number of bytes of the body, which are noise, but the same in every
	// request. Body is a body instead.
	Payload int    `json:"payload,omitempty"`
	Body    []byte `json:"body,omitempty"`
	// Answer asks the server of package target for a body of so many bytes, by the header
	// answerHeader, and expects that many: an answer with another number is an error of kind
	// Length. Nil asks and expects nothing.
	Answer *int `json:"answer,omitempty"`
	// Weight is how often this one is drawn, relative to the others; 0 is 1.
	Weight float64 `json:"weight,omitempty"`
}

// answerHeader asks the server of package target for an answer of that many bytes.
const answerHeader = "Tare-Answer-Bytes"

// TLS is what a client trusts and shows. All but ServerName are PEM.
type TLS struct {
	CA   string `json:"ca,omitempty"` // certificates to trust; "" trusts the system's
	Cert string `json:"cert,omitempty"`
	// Key belongs to Cert. It is in the JSON of a Config, for the process that sends: keep
	// that out of what is recorded.
	Key        string `json:"key,omitempty"`
	ServerName string `json:"serverName,omitempty"` // expected in the server's certificate; "" is the host's
	// Resume takes up earlier sessions in new connections, which saves most of a handshake.
	Resume bool `json:"resume,omitempty"`
}

// Bounds of a configuration. They keep mistakes from taking the machine down.
const (
	MostConnections = 100_000
	MostStreams     = 10_000
	MostPayload     = 64 << 20   // bytes
	MostRate        = 10_000_000 // per second
)

// Validate reports all that is wrong with the configuration.
func (c Config) Validate() error {
	var wrong []error
	no := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		no("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		no("url %q: it must be http://HOST or https://HOST", c.URL)
	case u.User != nil:
		no("url: it must not hold a user; give an Authorization header")
	}
	if c.Connect != "" {
		if _, _, err := net.SplitHostPort(c.Connect); err != nil {
			no("connect: %w", err)
		}
	}
	if !slices.Contains([]Protocol{HTTP1, H2, GRPC}, c.Protocol) {
		no("protocol %q: it must be one of %s, %s, %s", c.Protocol, HTTP1, H2, GRPC)
	}
	if c.Protocol == HTTP1 && c.Streams > 1 {
		no("streams %d: %s carries one request at a time", c.Streams, HTTP1)
	}
	if c.Connections < 1 || c.Connections > MostConnections {
		no("connections %d: it must be 1 to %d", c.Connections, MostConnections)
	}
	if c.Streams < 0 || c.Streams > MostStreams {
		no("streams %d: it must be 0 to %d", c.Streams, MostStreams)
	}
	if c.RequestsPerConnection < 0 {
		no("requestsPerConnection %d: it must not be negative", c.RequestsPerConnection)
	}
	if c.Timeout < 0 {
		no("timeout %v: it must not be negative", c.Timeout)
	}
	for i, r := range c.Requests {
		if err := r.validate(c.Protocol); err != nil {
			no("request %d: %w", i+1, err)
		}
	}
	return errors.Join(wrong...)
}

// taken are the headers that the generator sets itself: to set them twice would change how
// the message is framed.
var taken = []string{"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect", strings.ToLower(answerHeader)}

func (r Request) validate(p Protocol) error {
	var wrong []error
	no := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if r.Method != "" && !httpguts.ValidHeaderFieldName(r.Method) { // both are tokens (RFC 9110, 9.1)
		no("method %q: it is not a token", r.Method)
	}
	switch {
	case strings.EqualFold(r.Method, "HEAD"), strings.EqualFold(r.Method, "CONNECT"):
		no("method %s: its answers are framed in another way", r.Method)
	case p == GRPC && r.Method != "" && r.Method != http.MethodPost:
		no("method %s: gRPC has only POST", r.Method)
	}
	if r.Path != "" && (r.Path[0] != '/' || strings.ContainsFunc(r.Path, func(c rune) bool { return c <= ' ' || c >= 0x7f })) {
		no("path %q: it must begin with / and be encoded", r.Path)
	}
	for _, h := range r.Headers {
		if !httpguts.ValidHeaderFieldName(h[0]) || !httpguts.ValidHeaderFieldValue(h[1]) {
			no("header %q: not a valid name and value", h)
		}
		if slices.Contains(taken, strings.ToLower(h[0])) {
			no("header %q: it is set by the generator", h[0])
		}
	}
	if r.Payload < 0 || r.Payload > MostPayload || len(r.Body) > MostPayload {
		no("payload %d: it must be 0 to %d bytes", max(r.Payload, len(r.Body)), MostPayload)
	}
	if r.Payload > 0 && r.Body != nil {
		no("payload and body: only one of them")
	}
	if r.Answer != nil && (*r.Answer < 0 || *r.Answer > MostPayload) {
		no("answer %d: it must be 0 to %d bytes", *r.Answer, MostPayload)
	}
	if !(r.Weight >= 0 && r.Weight < 1e12) {
		no("weight %v: it must not be negative", r.Weight)
	}
	return errors.Join(wrong...)
}

// Trust returns a TLS configuration that trusts the certificates in PEM; "" trusts the system's.
func Trust(ca string) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("tls: ca holds no certificate in PEM")
		}
	}
	return conf, nil
}

// clientTLS returns the configuration of TLS; nil: the URL is in clear.
func (c Config) clientTLS(u *url.URL) (*tls.Config, error) {
	if u.Scheme != "https" {
		return nil, nil
	}
	t := cmp.Or(c.TLS, &TLS{})
	conf, err := Trust(t.CA)
	if err != nil {
		return nil, err
	}
	conf.ServerName, conf.NextProtos = cmp.Or(t.ServerName, u.Hostname()), []string{"http/1.1"}
	if c.Protocol != HTTP1 {
		conf.NextProtos = []string{"h2"}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("tls: cert and key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if t.Resume {
		conf.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return conf, nil
}
