package sidecar

import (
	"fmt"
	"net/url"
	"strconv"
)

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
