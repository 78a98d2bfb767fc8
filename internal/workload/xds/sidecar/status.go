package sidecar

import (
	"fmt"
	"io"
	"net/url"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Kinds of errors. If the server ends a stream, the kind is the name of the gRPC status, such as Limited.
const (
	Dial      = "dial" // no connection
	TLS       = "tls"
	Closed    = "closed"   // the connection was closed
	reset     = "reset"    // the stream was reset
	malformed = "protocol" // the server does not speak gRPC over HTTP/2
	ended     = "ok"       // the server ended the stream with the status OK
	Limited   = "resource-exhausted"
)

// codes lists the names of gRPC's statuses by their numbers.
var codes = [...]string{ended, "cancelled", "unknown", "invalid-argument", "deadline-exceeded", "not-found", "already-exists", "permission-denied",
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

// status is the state of the response's headers and trailers.
type status struct {
	began   bool   // the headers have arrived
	http    string // :status of the last block of headers
	grpc    string // grpc-status of the last block
	message string // grpc-message of the last block
	goAway  string // text of the server's GOAWAY frame; "": none arrived
}

// field handles one header field.
func (s *status) field(f hpack.HeaderField) {
	switch f.Name {
	case ":status":
		s.http = f.Value
	case "grpc-status":
		s.grpc = f.Value
	case "grpc-message":
		s.message = f.Value
	}
}

// headers handles the block of headers at the beginning of the stream, or the trailers at its end.
func (s *stream) headers(h http2.FrameHeader, p []byte) error {
	p, ok := fragment(h, p)
	if !ok || h.StreamID != streamID {
		return malformedf("headers that are none")
	}
	s.status.http, s.status.grpc, s.status.message = "", "", ""
	end, all, size := h.Flags.Has(http2.FlagHeadersEndStream), h.Flags.Has(http2.FlagHeadersEndHeaders), 0
	for {
		if size += len(p); size > mostHead {
			return malformedf("more than %d bytes of headers", mostHead)
		}
		if _, err := s.decoder.Write(p); err != nil {
			return malformedf("headers: %v", err)
		}
		if all {
			break
		}
		next, err := http2.ReadFrameHeader(s.in)
		if err != nil {
			return s.closed(err)
		}
		if next.Type != http2.FrameContinuation || next.StreamID != streamID || next.Length > mostFrame {
			return malformedf("headers that do not end")
		}
		p, all = make([]byte, next.Length), next.Flags.Has(http2.FlagContinuationEndHeaders)
		if _, err := io.ReadFull(s.in, p); err != nil {
			return s.closed(err)
		}
	}
	if err := s.decoder.Close(); err != nil {
		return malformedf("headers: %v", err)
	}
	return s.status.judge(end)
}

// fragment returns the part of a frame that holds headers.
func fragment(h http2.FrameHeader, p []byte) ([]byte, bool) {
	if h.Flags.Has(http2.FlagHeadersPadded) {
		if len(p) == 0 || int(p[0]) >= len(p) {
			return nil, false
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if h.Flags.Has(http2.FlagHeadersPriority) {
		if len(p) < 5 {
			return nil, false
		}
		p = p[5:]
	}
	return p, true
}

// judge returns an error if a block of headers ends the stream, or is not valid; nil: the stream continues.
func (s *status) judge(end bool) error {
	switch {
	case s.grpc != "":
		return s.ended()
	case !s.began && s.http != "200":
		return malformedf("the server answers with HTTP status %.20q", s.http)
	case end:
		return malformedf("the stream ends without a status")
	case s.began:
		return malformedf("headers within the stream")
	}
	s.began = true
	return nil
}

// ended returns the error for the status with which the server ended the stream.
func (s *status) ended() error {
	text := s.message
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	code, err := strconv.ParseUint(s.grpc, 10, 16)
	if err != nil {
		return malformedf("the gRPC status %.20q", s.grpc)
	}
	if code >= uint64(len(codes)) {
		return &Error{"grpc-" + s.grpc, text}
	}
	return &Error{codes[code], text}
}
