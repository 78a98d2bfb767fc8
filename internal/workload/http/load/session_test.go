package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/test/fit"
)

func answerBytes(n int) *int { return &n }

// Payloads reach the server whole, and responses the generator, over every protocol.
func TestProtocols(t *testing.T) {
	cert, key := identity(t)
	for _, p := range []Protocol{HTTP1, H2, GRPC} {
		for _, scheme := range []string{"http", "https"} {
			for _, size := range []struct{ payload, answer int }{{0, 0}, {1000, 20}, {3, 300_000}, {200_000, 70_000}} {
				t.Run(fmt.Sprintf("%s/%s/%d/%d", p, scheme, size.payload, size.answer), func(t *testing.T) {
					c := Config{
						Protocol: p, Connections: 2, TLS: &TLS{CA: cert},
						Requests: []Request{{Payload: size.payload, Answer: answerBytes(size.answer)}},
					}
					var l *counted
					if scheme == "https" {
						l = serve(t, serverTLS(t, cert, key), nil)
					} else {
						l = serve(t, nil, nil)
					}
					c.URL = l.url(scheme, "/a.Service/Method")
					if p != HTTP1 {
						c.Streams = 3
					}
					r := runSpan(t, c, Span{Workers: 2 * max(c.Streams, 1), Duration: 60 * time.Millisecond})
					wellAnswered(t, r)
					if want := r.OK * int64(size.payload); r.BytesSent != want {
						t.Errorf("%d bytes sent, not %d", r.BytesSent, want)
					}
					if want := r.OK * int64(size.answer); r.BytesReceived != want {
						t.Errorf("%d bytes received, not %d", r.BytesReceived, want)
					}
					if l.n.Load() != 2 {
						t.Errorf("%d connections, not 2", l.n.Load())
					}
					agreed := fmt.Sprint(r.Handshakes)
					if scheme == "http" && agreed != "map[clear:2]" || scheme == "https" && (!strings.Contains(agreed, "TLS 1.3, ") || !strings.Contains(agreed, "spiffe://test/server:2")) {
						t.Errorf("agreed: %s", agreed)
					}
				})
			}
		}
	}
}

// The server counts the connections that requests take.
func TestRequestsPerConnection(t *testing.T) {
	for _, p := range []Protocol{HTTP1, H2, GRPC} {
		for _, each := range []int{0, 1, 10} {
			t.Run(fmt.Sprintf("%s/%d", p, each), func(t *testing.T) {
				l := serve(t, nil, nil)
				c := Config{URL: l.url("http", "/a/b"), Protocol: p, Connections: 1, RequestsPerConnection: each}
				r := runSpan(t, c, Span{Workers: 1, Duration: 50 * time.Millisecond})
				wellAnswered(t, r)
				want := int64(1)
				if each > 0 {
					want = (r.Due + int64(each) - 1) / int64(each)
				}
				if got := l.n.Load(); got != want {
					t.Errorf("%d connections for %d requests, not %d", got, r.Due, want)
				}
				if each > 0 && r.Connect.Count() != want {
					t.Errorf("%d times of connecting, not %d", r.Connect.Count(), want)
				}
			})
		}
	}
}

// A server that closes the connection after each response causes no error: the next request opens another.
// Over HTTP/2 the server of net/http then sends GOAWAY.
func TestServerCloses(t *testing.T) {
	for _, p := range []Protocol{HTTP1, H2} {
		t.Run(string(p), func(t *testing.T) {
			l := serve(t, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
			}))
			// On a busy machine one request may take the whole span, which shows nothing.
			for span := 50 * time.Millisecond; ; span *= 4 {
				before := l.n.Load()
				r := runSpan(t, Config{URL: l.url("http", "/"), Protocol: p, Connections: 1}, Span{Workers: 1, Duration: span})
				wellAnswered(t, r)
				if got := l.n.Load() - before; got < r.Due || got > r.Due+1 {
					t.Errorf("%d connections for %d requests", got, r.Due)
				}
				if r.Due > 1 {
					break
				}
			}
		})
	}
}

// Connections stay open between spans.
func TestSpans(t *testing.T) {
	for _, p := range []Protocol{HTTP1, H2} {
		t.Run(string(p), func(t *testing.T) {
			l := serve(t, nil, nil)
			s, err := Open(Config{URL: l.url("http", "/"), Protocol: p, Connections: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i, span := range []Span{
				{Rate: 400, Duration: 50 * time.Millisecond, Start: time.Now().Add(2 * time.Second)},
				{Rate: 400, Arrivals: Poisson, Duration: 50 * time.Millisecond},
				{Workers: 2, Duration: 20 * time.Millisecond},
			} {
				r, err := s.Run(t.Context(), span)
				if err != nil {
					t.Fatal(err)
				}
				consistent(t, r)
				wellAnswered(t, r)
				if i == 0 && r.Due != 20 {
					t.Errorf("%d requests fell due, not 20", r.Due)
				}
			}
			if got := l.n.Load(); got != 3 {
				t.Errorf("%d connections, not 3", got)
			}
			s.Close()
			if _, err := s.Run(t.Context(), Span{Workers: 1, Duration: time.Second}); !errors.Is(err, errClosed) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// The latency is at least the server's delay, over every protocol.
func TestDelay(t *testing.T) {
	const delay = 5 * time.Millisecond
	for _, p := range []Protocol{HTTP1, H2, GRPC} {
		l := serve(t, nil, nil)
		c := Config{URL: l.url("http", "/"), Protocol: p, Connections: 4, Requests: []Request{{Headers: [][2]string{{"Tare-Delay", delay.String()}}}}}
		r := runSpan(t, c, Span{Rate: 200, Duration: 100 * time.Millisecond})
		wellAnswered(t, r)
		if least := r.Latency.At(0); least < delay-delay/1000 {
			t.Errorf("%s: a latency of %v where the server takes %v", p, least, delay)
		}
	}
}

// All requests that fall due during a stall are charged with the rest of the stall, whether they were sent or
// waited for a connection.
func TestStall(t *testing.T) {
	const stall, rate = 200 * time.Millisecond, 1000
	var once sync.Once
	var gate sync.RWMutex
	l := serve(t, nil, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once.Do(func() {
			gate.Lock()
			time.AfterFunc(stall, gate.Unlock)
		})
		gate.RLock()
		gate.RUnlock() //nolint:staticcheck // waits for the end of the stall
	}))
	r := runSpan(t, Config{URL: l.url("http", "/"), Protocol: HTTP1, Connections: 2}, Span{Rate: rate, Duration: 400 * time.Millisecond})
	wellAnswered(t, r)
	if r.Due != 400 {
		t.Errorf("%d requests fell due, not 400", r.Due)
	}
	// Requests that fall due in the first half of the stall wait for more than half of it.
	const half = stall / 2
	want := int64(rate * half.Seconds())
	long := int64(0)
	for _, bar := range r.Latency.Raw().Distribution() {
		if bar.To >= int64(half) {
			long += bar.Count
		}
	}
	if long < want {
		t.Errorf("%d requests of at least %v, and a stall of %v at %d/s makes %d", long, half, stall, rate, want)
	}
	if got := r.Waited.At(1); got < half {
		t.Errorf("waited at most %v for one of 2 connections", got)
	}
}

// Requests without a response at the end are counted, sent or not.
func TestUnanswered(t *testing.T) {
	l := behave(t, func(net.Conn) {})
	for _, p := range []Protocol{HTTP1, H2} {
		c := Config{URL: l.url("http", "/"), Protocol: p, Connections: 2}
		r := runSpan(t, c, Span{Rate: 1000, Duration: 50 * time.Millisecond, Drain: 20 * time.Millisecond})
		if r.Due != 50 || r.Errors[Unanswered] != 50 {
			t.Errorf("%s: %d due, %v", p, r.Due, r.Errors)
		}
		if r.Failed.Max() < 20*time.Millisecond {
			t.Errorf("%s: the longest unanswered for %v", p, r.Failed.Max())
		}
		if _, ok := r.Quantile(0.1); ok {
			t.Errorf("%s: a quantile among requests that failed", p)
		}
	}
}

// The end of the context or the session ends a span, and leaves no goroutines behind.
func TestInterrupted(t *testing.T) {
	l := behave(t, func(net.Conn) {})
	before := runtime.NumGoroutine()
	for _, p := range []Protocol{HTTP1, H2} {
		s, err := Open(Config{URL: l.url("http", "/"), Protocol: p, Connections: 3})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := s.Run(ctx, Span{Rate: 10, Duration: time.Hour}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, interrupted: %v", p, err)
		}
		time.AfterFunc(20*time.Millisecond, s.Close)
		if _, err := s.Run(t.Context(), Span{Workers: 3, Duration: time.Hour}); !errors.Is(err, errClosed) {
			t.Errorf("%s, closed: %v", p, err)
		}
		if _, err := s.Run(t.Context(), Span{Workers: 3, Duration: time.Hour, Start: time.Now().Add(-time.Second)}); !errors.Is(err, errClosed) {
			t.Errorf("%s, after closing: %v", p, err)
		}
	}
	fit.Await(t, "the end of goroutines", func() bool { return runtime.NumGoroutine() <= before+12 }) // includes 6 connections of the server
}

func TestStartHasPassed(t *testing.T) {
	l := serve(t, nil, nil)
	s, err := Open(Config{URL: l.url("http", "/"), Protocol: HTTP1, Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Run(t.Context(), Span{Workers: 1, Duration: time.Second, Start: time.Now().Add(-time.Second)})
	if err == nil || !strings.Contains(err.Error(), "clients that begin together need a later one") {
		t.Errorf("a start in the past: %v", err)
	}
}

// Requests are drawn by their weights.
func TestWeights(t *testing.T) {
	l := serve(t, nil, nil)
	c := Config{URL: l.url("http", "/"), Protocol: HTTP1, Connections: 1, Requests: []Request{{Path: "/bytes/1", Weight: 3}, {Path: "/status/503"}}}
	r := runSpan(t, c, Span{Rate: 2000, Duration: 200 * time.Millisecond, Seed: 1})
	if got := r.Errors["status-503"]; r.Due != 400 || got < 70 || got > 130 || r.OK != r.Due-got { // 100 ± 3.5 standard deviations
		t.Errorf("%d of %d of the second kind, whose weight is a quarter; OK %d", got, r.Due, r.OK)
	}
}
