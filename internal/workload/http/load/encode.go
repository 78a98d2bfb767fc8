package load

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// encodedRequest is a kind of request, encoded before the load begins.
type encodedRequest struct {
	name    string // Request.Name
	payload int    // bytes of the body, without framing
	answer  int    // expected bytes of the response's body; -1: any number
	// keep and last each hold the whole HTTP/1.1 request. The request in last also asks the server to close
	// the connection after its response.
	keep, last []byte
	// headers and body are for HTTP/2.
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

// noise returns a body that does not compress. It is the same every time.
func noise(n int) []byte {
	var seed [32]byte
	copy(seed[:], "a body of noise")
	body := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(body) // cannot fail
	return body
}

// http1Request returns a whole HTTP/1.1 request (RFC 9112).
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
