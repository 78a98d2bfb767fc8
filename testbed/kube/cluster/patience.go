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
)

// API servers restart, and are overloaded at times: a request whose answer is no
// verdict on the request is repeated, up to a limit, before anything fails.

// The pauses between repetitions, and the share of the limit that one attempt may take:
// of the limit as it is by default, more than the 10 s that an API server waits for an
// admission webhook, before it says which one did not answer.
const (
	firstPause     = 50 * time.Millisecond
	longestPause   = time.Second
	attemptDivisor = 2
)

// UnansweredError says that an API server gave no answer to a request, or none
// but that it cannot answer now, for as long as the limit allows.
type UnansweredError struct {
	Request string // "GET /api/v1/nodes"
	After   time.Duration
	Tries   int
	Err     error
}

// Error says for how long the request was tried, and the last reason.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("%s: not answered in %v (%d tries): %v", e.Request, e.After.Round(100*time.Millisecond), e.Tries, e.Err)
}

// Is finds the reason. There is no Unwrap: client-go would repeat the request
// once more for some of the reasons.
func (e *UnansweredError) Is(target error) bool { return errors.Is(e.Err, target) }

// As finds the reason as a type.
func (e *UnansweredError) As(target any) bool {
	switch target.(type) {
	case *x509.CertificateInvalidError, *x509.UnknownAuthorityError, *x509.HostnameError, **net.DNSError, *net.Error:
		return errors.As(e.Err, target)
	}
	return false
}

// Patience wraps a transport so that requests are bounded and repeated. What is
// open-ended (watches, logs that are followed, upgrades to a stream) passes
// untouched.
func Patience(limit time.Duration) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return &patient{next: next, limit: limit} }
}

type patient struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip repeats a request until its answer counts or the limit is reached.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if q.Get("watch") != "" || q.Get("follow") != "" || r.Header.Get("Upgrade") != "" || r.Body != nil && r.GetBody == nil {
		return p.next.RoundTrip(r)
	}
	start := time.Now()
	deadline := start.Add(p.limit)
	for tries, pause := 1, firstPause; ; tries, pause = tries+1, min(2*pause, longestPause) {
		answer, err := p.try(r, tries > 1)
		if r.Context().Err() != nil || err == nil && !busy(answer.StatusCode) || err != nil && final(err) {
			return answer, err
		}
		if wait := asked(answer); wait > pause {
			pause = wait
		}
		if time.Until(deadline) < pause {
			if err == nil {
				answer.Header.Del("Retry-After") // or client-go would begin again
				return answer, nil
			}
			return nil, &UnansweredError{Request: r.Method + " " + r.URL.Path, After: time.Since(start), Tries: tries, Err: err}
		}
		if answer != nil {
			answer.Body.Close()
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// try makes one attempt, of bounded length, and reads the whole answer.
func (p *patient) try(r *http.Request, again bool) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), max(p.limit/attemptDivisor, time.Second))
	defer cancel()
	attempt := r.Clone(ctx)
	if again && r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	answer, err := p.next.RoundTrip(attempt)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// busy says whether a status tells of the server's state, and not of the request.
func busy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// final says whether an error will be the same next time.
func final(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var dns *net.DNSError
	return errors.As(err, &certificate) || errors.As(err, &alert) || errors.As(err, &dns) && dns.IsNotFound
}

// asked is how long the server asks to wait.
func asked(answer *http.Response) time.Duration {
	if answer == nil {
		return 0
	}
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 10*time.Second)
}
