package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/workload/http/target"
)

// counted counts the connections that a listener accepts.
type counted struct {
	net.Listener
	n atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// listen listens on a free port of this machine.
func listen(t testing.TB) *counted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &counted{Listener: l}
}

// serve starts the builtin server, or another handler if one is given.
func serve(t testing.TB, conf *tls.Config, h http.Handler) *counted {
	t.Helper()
	l := listen(t)
	s := target.New(conf)
	if h != nil {
		s.Handler = h
	}
	var done sync.WaitGroup
	done.Go(func() {
		if conf != nil {
			_ = s.ServeTLS(l, "", "")
		} else {
			_ = s.Serve(l)
		}
	})
	t.Cleanup(func() { s.Close(); done.Wait() })
	return l
}

// behave starts a server. It reads a request once from each connection and then calls answer.
func behave(t testing.TB, answer func(net.Conn)) *counted {
	t.Helper()
	l := listen(t)
	var done sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			done.Go(func() {
				defer conn.Close()
				buf := make([]byte, 64<<10)
				for {
					if _, err := conn.Read(buf); err != nil {
						return
					}
					answer(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for conn := range open {
			conn.Close()
		}
		mu.Unlock()
		done.Wait()
	})
	return l
}

// identity makes a self-signed certificate for a server on this machine and for a client, in PEM.
func identity(t testing.TB) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	uri, _ := url.Parse("spiffe://test/server")
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, URIs: []*url.URL{uri}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// serverTLS returns a server's TLS configuration.
func serverTLS(t testing.TB, cert, key string) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// runSpan opens a session and runs one span.
func runSpan(t testing.TB, c Config, span Span) *Result {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Run(t.Context(), span)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, r)
	return r
}

// consistent checks that every request ended exactly once.
func consistent(t testing.TB, r *Result) {
	t.Helper()
	failed := int64(0)
	for _, n := range r.Errors {
		failed += n
	}
	if r.Due != r.OK+failed || r.Latency.Count() != r.OK || r.Failed.Count() != failed {
		t.Errorf("due %d, OK %d, failed %d, latencies %d and %d: each must end exactly once", r.Due, r.OK, failed, r.Latency.Count(), r.Failed.Count())
	}
}

// wellAnswered checks that there are requests and all are OK.
func wellAnswered(t testing.TB, r *Result) {
	t.Helper()
	if r.Due == 0 || r.OK != r.Due {
		t.Errorf("%d of %d OK, errors %v %v", r.OK, r.Due, r.Errors, r.Examples)
	}
}

// url returns a URL of the listener.
func (c *counted) url(scheme, path string) string {
	return scheme + "://" + c.Addr().String() + path
}
