package load

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// stream is the state of a slot's request on HTTP/2.
type stream struct {
	id          uint32
	window      int64 // bytes of the request that may be sent
	status      int
	grpc        int // header grpc-status; -1: not received
	grpcMessage string
	length      int64   // header content-length; -1: not received
	body        int64   // bytes received in DATA frames
	prefix      [5]byte // prefix of the gRPC message: a flag and the length
}

// headerFields are the relevant headers of one block.
type headerFields struct {
	status, grpc int // -1: the block lacks the header
	message      string
	length       int64
	wrong        string
	regular      bool // a header that is no pseudo-header was seen
}

// addHeaders adds a block of headers to a stream. It returns what is wrong with the block, or "" if nothing
// is.
func (s *stream) addHeaders(f *headerFields, end bool) string {
	switch {
	case f.wrong != "":
		return f.wrong
	case s.status == 0 && f.status < 0:
		return "headers without a status"
	case s.status != 0 && (f.status >= 0 || !end):
		return "a second block of headers that is no trailer"
	}
	if f.grpc >= 0 {
		s.grpc, s.grpcMessage = f.grpc, f.message
	}
	if s.status != 0 || f.status < 200 { // the block holds trailers, or an interim response
		if s.status == 0 && end {
			return "an interim response that ends the stream"
		}
		return ""
	}
	s.status, s.length = f.status, f.length
	return ""
}

// field adds one header from the decoder to the block.
func (h *http2conn) field(f hpack.HeaderField) {
	got := &h.fields
	if f.IsPseudo() {
		n, ok := decimal([]byte(f.Value))
		if f.Name != ":status" || got.regular || got.status >= 0 || !ok || n < 100 || n > 599 {
			got.wrong = fmt.Sprintf("header %.60q", f.Name+": "+f.Value)
			return
		}
		got.status = int(n)
		return
	}
	got.regular = true
	switch f.Name {
	case "content-length":
		n, ok := decimal([]byte(f.Value))
		if !ok || got.length >= 0 && got.length != n {
			got.wrong = fmt.Sprintf("length %.60q", f.Value)
		}
		got.length = n
	case "grpc-status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		if err != nil {
			got.wrong = fmt.Sprintf("grpc-status %.60q", f.Value)
		}
		got.grpc = int(n)
	case "grpc-message":
		got.message = f.Value
	}
}

// outcome returns how a complete response ends its request.
func (s *stream) outcome(q *encodedRequest, p Protocol) Exchange {
	if s.length >= 0 && s.length != s.body {
		return s.failed(Malformed, fmt.Sprintf("a body of %d bytes whose headers say %d", s.body, s.length))
	}
	if p != GRPC || s.status < 200 || s.status > 299 {
		return q.outcome(response{status: s.status, body: s.body})
	}
	switch {
	case s.grpc < 0:
		return s.failed(Malformed, "a response without grpc-status")
	case s.grpc > 0:
		return s.failed(Kind("grpc-"+strconv.Itoa(s.grpc)), fmt.Sprintf("gRPC status %d: %.200s", s.grpc, s.grpcMessage))
	}
	message := s.body - int64(len(s.prefix))
	if message < 0 || s.prefix[0] != 0 || int64(binary.BigEndian.Uint32(s.prefix[1:])) != message {
		return s.failed(Malformed, "not one plain gRPC message")
	}
	return q.outcome(response{status: s.status, body: message})
}

// failed returns the outcome of a request that has failed.
func (s *stream) failed(kind Kind, text string) Exchange {
	return Exchange{Kind: kind, Text: text, BytesReceived: s.body}
}
