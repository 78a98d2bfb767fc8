package load

import (
	"net"
	"runtime"
	"testing"
	"time"
)

// BenchmarkRequests sends through as many workers as there are connections, to a server in this process that
// answers whatever it reads. The requests per second are those of generator and server together. Nearly all
// allocations are the generator's.
func BenchmarkRequests(b *testing.B) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 128\r\nContent-Type: text/plain\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\n"
	answer := append([]byte(ok), make([]byte, 128)...)
	plain := behave(b, func(conn net.Conn) { _, _ = conn.Write(answer) })
	builtin := serve(b, nil, nil)
	for _, bench := range []struct {
		name string
		conf Config
	}{
		{"http1", Config{URL: plain.url("http", "/"), Protocol: HTTP1, Connections: 16}},
		{"h2", Config{URL: builtin.url("http", "/bytes/128"), Protocol: H2, Connections: 4, Streams: 4}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := Open(bench.conf)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var done, took float64
			var allocated uint64
			for b.Loop() {
				var before, after runtime.MemStats
				if _, err := s.Run(b.Context(), Span{Workers: 16, Duration: 10 * time.Millisecond}); err != nil {
					b.Fatal(err)
				}
				runtime.ReadMemStats(&before)
				r, err := s.Run(b.Context(), Span{Workers: 16, Duration: 300 * time.Millisecond})
				if err != nil {
					b.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				done += float64(r.OK)
				took += r.Elapsed.Seconds()
				allocated += after.Mallocs - before.Mallocs
			}
			b.ReportMetric(done/took, "requests/s")
			b.ReportMetric(float64(allocated)/done, "allocs/request")
		})
	}
}
