package load

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/workload/http/target"
)

// once is a listener that accepts one connection.
type once struct {
	conn chan net.Conn
}

func (o *once) Accept() (net.Conn, error) {
	conn, ok := <-o.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }
func (o *once) Close() error   { close(o.conn); return nil }

// A server sends the headers at once and the body 50 ms later, by a fake clock. The first byte comes at once,
// and the latency is 50 ms.
func TestFirstByte(t *testing.T) {
	for _, p := range []Protocol{HTTP1, H2} {
		t.Run(string(p), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				l := &once{make(chan net.Conn, 1)}
				l.conn <- server
				srv := target.New(nil)
				srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_ = http.NewResponseController(w).Flush()
					time.Sleep(50 * time.Millisecond)
					_, _ = io.WriteString(w, "body")
				})
				go func() { _ = srv.Serve(l) }()
				defer srv.Close()

				s, err := Open(Config{URL: "http://server/", Protocol: p, Connections: 1})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				c := s.connections[0]
				k := newLink(c)
				c.link, k.raw = k, client
				if k.wire = newHTTP2(k, client); p == HTTP1 {
					k.wire = &http1{link: k, conn: client, parser: new(responseParser)}
				}
				close(k.dialled)
				s.loops.close() // an event loop cannot read from a pipe
				s.loops = nil
				s.links.Go(func() { _ = k.wire.read() })
				defer client.Close()

				r, err := s.Run(t.Context(), Span{Workers: 1, Duration: 200 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				wellAnswered(t, r)
				if first, last := r.FirstByte, r.Latency; first.Count() != 4 || first.Max() != 0 || last.Count() != 4 || last.Min().Round(time.Millisecond) != 50*time.Millisecond {
					t.Errorf("%d first bytes after at most %v, %d latencies of at least %v", first.Count(), first.Max(), last.Count(), last.Min())
				}
			})
		})
	}
}
