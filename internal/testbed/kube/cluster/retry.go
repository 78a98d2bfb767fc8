package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/transport"

	"tare/internal/testbed"
)

// API servers restart, and may be overloaded. Retrying repeats requests whose failure has another cause than
// the request, until a time limit.

// firstPause and longestPause are the first and the longest pause between tries. One try may take the time
// limit divided by tryDivisor. By default this is more than the 10 s after which an API server names an
// admission webhook that does not answer.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
	tryDivisor   = 2
)

// unansweredError means that an API server did not answer a request within the time limit.
type unansweredError struct {
	request string        // method and path: "GET /api/v1/nodes"
	after   time.Duration // time since the first try
	tries   int
	err     error // error of the last try
}

func (e *unansweredError) Error() string {
	after := e.after.Round(100 * time.Millisecond)
	return fmt.Sprintf("%s: not answered in %v (%d tries): %v", e.request, after, e.tries, e.err)
}

// Is compares target with the error of the last try. With a method Unwrap, client-go would repeat the request.
func (e *unansweredError) Is(target error) bool { return errors.Is(e.err, target) }

// As sets target to the error of the last try, for the types that unreachable explains.
func (e *unansweredError) As(target any) bool {
	switch target.(type) {
	case *x509.CertificateInvalidError, *x509.UnknownAuthorityError, *x509.HostnameError, **net.DNSError, *net.Error:
		return errors.As(e.err, target)
	}
	return false
}

// Retrying wraps a transport. Requests then get a time limit, and are repeated while the API server is
// unavailable. Watches, followed logs and upgrades to a stream have no end, and stay as they are.
func Retrying(limit time.Duration) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return &retrying{next: next, limit: limit} }
}

type retrying struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip repeats a request until it gets a final response or error, or reaches the limit.
func (t *retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	endless := q.Get("watch") != "" || q.Get("follow") != "" || r.Header.Get("Upgrade") != ""
	if endless || r.Body != nil && r.GetBody == nil {
		return t.next.RoundTrip(r)
	}
	start := time.Now()
	deadline := start.Add(t.limit)
	for tries, pause := 1, firstPause; ; tries, pause = tries+1, min(2*pause, longestPause) {
		response, err := t.try(r, tries > 1)
		if r.Context().Err() != nil || err == nil && !busy(response.StatusCode) || err != nil && permanent(err) {
			return response, err
		}
		pause = max(pause, retryAfter(response))
		if time.Until(deadline) < pause {
			if err == nil {
				response.Header.Del("Retry-After") // client-go would repeat the request again
				return response, nil
			}
			return nil, &unansweredError{request: r.Method + " " + r.URL.Path, after: time.Since(start), tries: tries, err: err}
		}
		if response != nil {
			response.Body.Close()
		}
		if err := testbed.Pause(r.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// try sends the request once, again or for the first time, with a time limit, and reads the whole response.
func (t *retrying) try(r *http.Request, again bool) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), max(t.limit/tryDivisor, time.Second))
	defer cancel()
	request := r.Clone(ctx)
	if again && r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		request.Body = body
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// busy reports whether a status says something about the server's state, and not about the request.
func busy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// permanent reports whether the next try would fail with the same error.
func permanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var dns *net.DNSError
	return errors.As(err, &certificate) || errors.As(err, &alert) || errors.As(err, &dns) && dns.IsNotFound
}

// retryAfter returns the pause that the server requests, at most 10 s; 0 if it requests none.
func retryAfter(response *http.Response) time.Duration {
	if response == nil {
		return 0
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 10*time.Second)
}
