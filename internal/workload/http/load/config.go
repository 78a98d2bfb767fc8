package load

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"

	"tare/internal/experiment"
	"tare/internal/workload"
)

// Protocol is the protocol of requests.
type Protocol string

// H2 and GRPC carry several requests on a connection at a time (Config.Streams).
const (
	HTTP1 Protocol = "http/1.1"
	H2    Protocol = "h2"   // HTTP/2: over TLS by ALPN, without TLS by prior knowledge
	GRPC  Protocol = "grpc" // unary calls over HTTP/2; messages are plain bytes, not encoded protocol buffers
)

// Config is the configuration of a session: the server, the connections and the requests.
type Config struct {
	// URL is the address of the server: http://HOST[:PORT][/PATH], or https. For gRPC the path is
	// /SERVICE/METHOD.
	URL      string   `json:"url"`
	Protocol Protocol `json:"protocol"`
	// Connections is the number of connections that are open at a time.
	Connections int `json:"connections"`
	// Streams is the number of requests that a connection of H2 or GRPC carries at a time. 0 means 1.
	Streams int `json:"streams,omitempty"`
	// RequestsPerConnection is the number of requests after which a connection is closed. Its first request opens it
	// and is slower for this reason. 0: connections stay open.
	RequestsPerConnection int `json:"requestsPerConnection,omitempty"`
	// Requests lists the kinds of requests. Each request is of a kind drawn by the weights. An empty list means one
	// kind: a plain GET of the URL.
	Requests []Request `json:"requests,omitempty"`
	// TLS is the client's side of TLS, for an https URL; nil trusts the system's certificates.
	TLS *TLS `json:"tls,omitempty"`
	// Timeout is the time within which a response must be complete. It runs from sending, and includes a new
	// connection. 0 means 10 s.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Threads bounds the CPUs that the process of a Client uses at a time; 0 leaves the bound to Go's runtime.
	Threads int `json:"threads,omitempty"`
}

// Request is one kind of request.
type Request struct {
	// Name gives this kind of request a histogram of its own (Result.Named). "": its latencies are recorded only in
	// the histogram of all requests.
	Name   string `json:"name,omitempty"`
	Method string `json:"method,omitempty"` // "" means GET, or POST if there is a payload
	Path   string `json:"path,omitempty"`   // path and query that replace the path and query of the URL
	// Headers are names and values to add.
	Headers [][2]string `json:"headers,omitempty"`
	// Payload is the size, in bytes, of a random body. All requests have this same body. The field Body gives the bytes
	// of a body instead.
	Payload int    `json:"payload,omitempty"`
	Body    []byte `json:"body,omitempty"`
	// Answer is the size, in bytes, of the expected response body. The header answerHeader asks the builtin server for
	// it. Another size is an error of kind length. Nil: any size is right.
	Answer *int `json:"answer,omitempty"`
	// Weight is the relative frequency of this kind of request; 0 means 1.
	Weight float64 `json:"weight,omitempty"`
}

// answerHeader is the header that asks the builtin server for a response of a number of bytes.
const answerHeader = "Tare-Answer-Bytes"

// TLS is the client's side of TLS.
type TLS struct {
	CA         string `json:"ca,omitempty"`         // certificates to trust, in PEM; "": the system's certificates
	ServerName string `json:"serverName,omitempty"` // name expected in the server's certificate; "": the host of the URL
}

// TLSConfig is the client's side of TLS in an experiment file.
type TLSConfig struct {
	CA         string `yaml:"ca" json:"ca,omitempty" doc:"file with the certificates to trust, in PEM; the system's if absent, but Tare's own for the builtin server"`
	ServerName string `yaml:"serverName" json:"serverName,omitempty" doc:"name in the server's certificate; its address if absent"`

	trusted string // content of the file CA
}

// ReadFiles reads the certificates to trust.
func (t *TLSConfig) ReadFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	if t == nil {
		return nil
	}
	return workload.ReadFile(read, "tls.ca", t.CA, &t.trusted)
}

// Client returns the client's side of TLS.
func (t *TLSConfig) Client() *TLS {
	if t == nil {
		return &TLS{}
	}
	return &TLS{CA: t.trusted, ServerName: t.ServerName}
}

// Limits of a config. Beyond them, the generator would run out of memory.
const (
	mostConnections = 100_000
	mostStreams     = 10_000
	mostPayload     = 64 << 20   // bytes
	mostRate        = 10_000_000 // requests per second
)

// validate returns all errors of the config, joined. The config comes from another process.
func (c Config) validate() error {
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
	if !slices.Contains([]Protocol{HTTP1, H2, GRPC}, c.Protocol) {
		no("protocol %q: it must be one of %s, %s, %s", c.Protocol, HTTP1, H2, GRPC)
	}
	if c.Protocol == HTTP1 && c.Streams > 1 {
		no("streams %d: %s carries one request at a time", c.Streams, HTTP1)
	}
	if c.Connections < 1 || c.Connections > mostConnections {
		no("connections %d: it must be 1 to %d", c.Connections, mostConnections)
	}
	if c.Streams < 0 || c.Streams > mostStreams {
		no("streams %d: it must be 0 to %d", c.Streams, mostStreams)
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

// taken lists the headers that the generator sets itself. A second value of such a header would change the framing of the
// message.
var taken = []string{"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect", strings.ToLower(answerHeader)}

func (r Request) validate(p Protocol) error {
	var wrong []error
	no := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if r.Method != "" && !httpguts.ValidHeaderFieldName(r.Method) { // methods and header names are tokens (RFC 9110, 9.1)
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
	if r.Payload < 0 || r.Payload > mostPayload || len(r.Body) > mostPayload {
		no("payload %d: it must be 0 to %d bytes", max(r.Payload, len(r.Body)), mostPayload)
	}
	if r.Payload > 0 && r.Body != nil {
		no("payload and body: only one of them")
	}
	if r.Answer != nil && (*r.Answer < 0 || *r.Answer > mostPayload) {
		no("answer %d: it must be 0 to %d bytes", *r.Answer, mostPayload)
	}
	if !(r.Weight >= 0 && r.Weight < 1e12) {
		no("weight %v: it must not be negative", r.Weight)
	}
	return errors.Join(wrong...)
}

// Trust returns the TLS configuration of a client that trusts the given certificates, in PEM. With "" the client
// trusts the system's certificates.
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

// clientTLS returns the client's TLS configuration, or nil if the URL is not https.
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
	return conf, nil
}

// encodedRequest is a kind of request, encoded before the load begins.
type encodedRequest struct {
	name    string // copy of Request.Name
	payload int    // bytes of the body, without framing
	answer  int    // expected bytes of the response's body; -1: any number
	// keep and last are the bytes of complete HTTP/1.1 requests. The request last also asks the server to close the
	// connection after the response.
	keep, last []byte
	// headers and body hold the request for HTTP/2. The fields keep and last hold it for HTTP/1.1.
	headers []hpack.HeaderField
	body    []byte
}

func encode(p Protocol, u *url.URL, r Request) (*encodedRequest, error) {
	body := r.Body
	if r.Payload > 0 {
		body = noise(r.Payload)
	}
	o := &encodedRequest{name: r.Name, payload: len(body), answer: -1}
	headers := r.Headers
	if r.Answer != nil {
		o.answer = *r.Answer
		headers = append(headers[:len(headers):len(headers)], [2]string{answerHeader, strconv.Itoa(o.answer)})
	}
	path := cmp.Or(r.Path, u.RequestURI())
	method := r.Method
	if method == "" {
		method = "GET"
		if p == GRPC || len(body) > 0 {
			method = "POST"
		}
	}
	if p == HTTP1 {
		o.keep = http1Request(method, path, u.Host, headers, body, false)
		o.last = http1Request(method, path, u.Host, headers, body, true)
		return o, nil
	}
	return o, o.http2(p, method, path, u, headers, body)
}

// noise returns a body of n bytes that does not compress. Every call returns the same bytes.
func noise(n int) []byte {
	var seed [32]byte
	copy(seed[:], "a body of noise")
	body := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(body) // Read cannot fail
	return body
}

// http1Request returns the bytes of an HTTP/1.1 request: head and body (RFC 9112).
func http1Request(method, path, host string, headers [][2]string, body []byte, last bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	if len(body) > 0 || method != "GET" && method != "DELETE" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	if last {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// mostHeaders bounds the size of HTTP/2 headers, so that they fit into one frame.
const mostHeaders = 8 << 10

// http2 encodes a request for HTTP/2 (RFC 9113, 8.3), or a gRPC call
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
func (o *encodedRequest) http2(p Protocol, method, path string, u *url.URL, headers [][2]string, body []byte) error {
	add := func(name, value string) {
		o.headers = append(o.headers, hpack.HeaderField{Name: name, Value: value})
	}
	add(":method", method)
	add(":scheme", u.Scheme)
	add(":path", path)
	add(":authority", u.Host)
	if p == GRPC {
		add("content-type", "application/grpc")
		add("te", "trailers")
		message := make([]byte, 5, 5+len(body))
		binary.BigEndian.PutUint32(message[1:], uint32(len(body)))
		body = append(message, body...)
	} else if len(body) > 0 || method != "GET" && method != "DELETE" {
		add("content-length", strconv.Itoa(len(body)))
	}
	for _, h := range headers {
		add(strings.ToLower(h[0]), h[1])
	}
	size := 0
	for _, h := range o.headers {
		size += int(h.Size())
	}
	if size > mostHeaders {
		return fmt.Errorf("%d bytes of headers: it must be at most %d", size, mostHeaders)
	}
	o.body = body
	return nil
}
