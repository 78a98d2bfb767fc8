package load

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// say returns a server that answers with this text.
func say(text string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = conn.Write([]byte(text)) }
}

// Each error is counted under its own kind, and under no other.
func TestErrorsByKind(t *testing.T) {
	cert, key := identity(t)
	stranger, _ := identity(t)
	then := func(text string, end func(*net.TCPConn)) func(testing.TB) *counted {
		return func(t testing.TB) *counted {
			return behave(t, func(conn net.Conn) {
				say(text)(conn)
				if end != nil {
					end(conn.(*net.TCPConn))
				}
			})
		}
	}
	reset := func(conn *net.TCPConn) { _ = conn.SetLinger(0); conn.Close() }
	hangUp := func(conn *net.TCPConn) { conn.Close() }
	builtin := func(conf *tls.Config) func(testing.TB) *counted {
		return func(t testing.TB) *counted { return serve(t, conf, nil) }
	}
	needsClient := serverTLS(t, cert, key)
	needsClient.ClientAuth, needsClient.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	needsClient.ClientCAs.AppendCertsFromPEM([]byte(cert))
	onlyHTTP1 := serverTLS(t, cert, key)

	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, test := range []struct {
		name   string
		server func(testing.TB) *counted
		change func(*Config)
		kind   Kind
		text   string // part of the example
	}{
		{"well", then(ok, nil), nil, "", ""},
		{"nobody listens", func(t testing.TB) *counted { l := listen(t); l.Close(); return l }, nil, Dial, "refused"},
		{"reset", then("", reset), nil, Closed, "reset"},
		{"hangs up", then("", hangUp), nil, Closed, "closed before the answer"},
		{"half an answer", then("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", hangUp), nil, Closed, "EOF"},
		{"half a head", then("HTTP/1.1 200 OK\r\nContent-Le", hangUp), nil, Closed, "EOF"},
		{"half a chunk", then("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", hangUp), nil, Closed, "EOF"},
		{"until the end", then("HTTP/1.1 200 OK\r\n\r\nall of it", hangUp), nil, "", ""},
		{"silent", then("", nil), nil, Timeout, "within the timeout"},
		{"a byte short", then("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", nil), nil, Timeout, "within the timeout"},
		{"too long", then(ok+"k", nil), nil, Malformed, "bytes after"},
		{"garbage", then("220 mail.example.org ESMTP\r\n", nil), nil, Malformed, "status line"},
		{"two lengths", then("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", nil), nil, Malformed, "length"},
		{"bare line feeds", then("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", nil), nil, Malformed, "CRLF"},
		{"endless headers", then("HTTP/1.1 200 OK\r\nA: "+strings.Repeat("a", 40_000), nil), nil, Malformed, "a line of more than"},
		{"status 500", then("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", nil), nil, "status-500", "status 500"},
		{"status 302", then("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\r\n\r\n", nil), nil, "status-302", ""},
		{"an early answer", then("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", nil), func(c *Config) { c.Requests = []Request{{Payload: 8 << 20}} }, "status-413", ""},
		{"another length", then(ok, nil), func(c *Config) { c.Requests = []Request{{Answer: answerBytes(3)}} }, length, "2 bytes where 3"},
		{"TLS where there is none", then("HTTP/1.1 400 Bad Request\r\n\r\n", hangUp), func(c *Config) { c.URL = strings.Replace(c.URL, "http:", "https:", 1) }, handshake, "TLS"},
		{"another CA", builtin(serverTLS(t, cert, key)), func(c *Config) {
			c.URL, c.TLS = strings.Replace(c.URL, "http:", "https:", 1), &TLS{CA: stranger}
		}, handshake, "unknown authority"},
		{"another name", builtin(serverTLS(t, cert, key)), func(c *Config) {
			c.URL, c.TLS = strings.Replace(c.URL, "http:", "https:", 1), &TLS{CA: cert, ServerName: "elsewhere"}
		}, handshake, "elsewhere"},
		{"no certificate", builtin(needsClient), func(c *Config) {
			c.URL, c.TLS = strings.Replace(c.URL, "http:", "https:", 1), &TLS{CA: cert}
		}, handshake, "certificate required"},
		{"no HTTP/2 over TLS", func(t testing.TB) *counted {
			l := listen(t)
			s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), TLSConfig: onlyHTTP1, Protocols: new(http.Protocols)}
			s.Protocols.SetHTTP1(true)
			go func() { _ = s.ServeTLS(l, "", "") }()
			t.Cleanup(func() { s.Close() })
			return l
		}, func(c *Config) {
			c.URL, c.Protocol, c.TLS = strings.Replace(c.URL, "http:", "https:", 1), H2, &TLS{CA: cert}
		}, handshake, "protocol"},
		{"no HTTP/2 in clear", then("HTTP/1.1 400 Bad Request\r\n\r\n", hangUp), func(c *Config) { c.Protocol = H2 }, Malformed, "may not speak HTTP/2"},
		{"HTTP/2 resets", func(t testing.TB) *counted {
			return serve(t, nil, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		}, func(c *Config) { c.Protocol = H2 }, Closed, "the stream was reset"},
		{"HTTP/2 status", builtin(nil), func(c *Config) { c.Protocol = H2; c.URL += "status/429" }, "status-429", ""},
		{"HTTP/2 silent", builtin(nil), func(c *Config) { c.Protocol = H2; c.URL += "delay/2s" }, Timeout, ""},
		{"too few streams", func(t testing.TB) *counted {
			l := listen(t)
			s := &http.Server{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1}}
			s.Protocols.SetUnencryptedHTTP2(true)
			go func() { _ = s.Serve(l) }()
			t.Cleanup(func() { s.Close() })
			return l
		}, func(c *Config) { c.Protocol = H2; c.Streams = 2 }, Malformed, "1 streams on a connection"},
		{"gRPC status", builtin(nil), func(c *Config) {
			c.Protocol, c.Requests = GRPC, []Request{{Headers: [][2]string{{"Tare-Grpc-Status", "14"}}}}
		}, "grpc-14", "as asked for"},
		{"gRPC without status", func(t testing.TB) *counted { return serve(t, nil, http.NotFoundHandler()) }, func(c *Config) { c.Protocol = GRPC }, "status-404", ""},
		{"not gRPC", func(t testing.TB) *counted {
			return serve(t, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
		}, func(c *Config) { c.Protocol = GRPC }, Malformed, "without grpc-status"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Config{URL: test.server(t).url("http", "/"), Protocol: HTTP1, Connections: 1, Timeout: time.Hour}
			if test.kind == Timeout {
				c.Timeout = 150 * time.Millisecond
			}
			if test.change != nil {
				test.change(&c)
			}
			r := runSpan(t, c, Span{Rate: 100, Duration: 50 * time.Millisecond, Drain: time.Hour})
			if r.Due != 5 {
				t.Fatalf("%d requests fell due, not 5", r.Due)
			}
			if test.kind == "" {
				wellAnswered(t, r)
				return
			}
			if r.Errors[test.kind] != 5 || !strings.Contains(r.Examples[test.kind], test.text) {
				t.Errorf("errors %v %v, not 5 of %s that say %q", r.Errors, r.Examples, test.kind, test.text)
			}
		})
	}
}
