package query

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"tare/internal/layer/dnstransport"
	"tare/internal/workload/http/load"
)

// pipe is one end of a net.Pipe that fails like a closed socket once the other end is closed.
type pipe struct{ net.Conn }

func (p pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if err != nil {
		err = net.ErrClosed
	}
	return n, err
}

// By a fake clock, a server sends the first part of its response at once, and the rest 50 ms later. Over UDP
// there is only one part.
func TestFirstByte(t *testing.T) {
	asked, err := question(names[0], dnsmessage.TypeA)
	if err != nil {
		t.Fatal(err)
	}
	for transport, first := range map[dnstransport.Transport]time.Duration{dnstransport.TCP: 20 * time.Millisecond, dnstransport.UDP: 70 * time.Millisecond} {
		t.Run(string(transport), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				s := &Session{conf: Config{Transport: transport, Timeout: time.Minute}, began: time.Now(), result: load.NewResult(), questions: [][]byte{asked}}
				k := &socket{session: s, conn: client, open: map[uint16]pending{}}
				s.sockets = []*socket{k}
				s.work.Go(func() { _ = k.receive(pipe{client}) })
				s.work.Go(func() {
					query := make([]byte, len(asked)+2)
					if transport == dnstransport.UDP {
						query = query[2:]
					}
					_, _ = io.ReadFull(server, query)
					query[len(query)-len(asked)+2] |= 0x80 // a query with this bit is a response
					time.Sleep(20 * time.Millisecond)
					if transport != dnstransport.UDP {
						_, _ = server.Write(query[:1])
						query = query[1:]
					}
					time.Sleep(50 * time.Millisecond)
					_, _ = server.Write(query)
					_ = server.Close()
				})
				time.Sleep(time.Millisecond)
				k.send(pending{intended: s.now()})
				s.work.Wait()
				r := s.result
				if r.OK != 1 || r.FirstByte.Max().Round(time.Millisecond) != first || r.Latency.Max().Round(time.Millisecond) != 70*time.Millisecond {
					t.Errorf("OK %d, first byte after %v, latency %v, errors %v", r.OK, r.FirstByte.Max(), r.Latency.Max(), r.Examples)
				}
			})
		})
	}
}
