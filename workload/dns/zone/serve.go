package zone

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"
)

// Config says where a server listens.
type Config struct {
	Listen string `json:"listen"` // "HOST:PORT", for UDP and TCP; port 0 takes any
	// Cert and Key are PEM; with them what comes over TCP must be TLS (DNS over TLS, RFC 7858).
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// Server is one that listens.
type Server struct {
	udp   *net.UDPConn
	tcp   net.Listener
	begun time.Time
	work  sync.WaitGroup

	mu    sync.Mutex
	books map[string]*book // by label; "" has what is of no label
	conns map[net.Conn]bool
	ended bool
}

// book is what was asked under one label.
type book struct {
	answers map[Kind]int64
	names   map[string]bool
}

// Bounds of what is kept for clients that may send anything.
const (
	mostLabels = 100_000
	mostNames  = 100_000 // of a label
)

// Counts are the queries of one label, and those of none.
type Counts struct {
	// At is when they were read, by the server's own clock: since it began.
	At      time.Duration  `json:"at"`
	Queries int64          `json:"queries"` // of the label
	Names   int            `json:"names"`   // different ones that were asked for, of the label
	Answers map[Kind]int64 `json:"answers"` // of the label, and of what belongs to none
}

// Listen begins to serve. The server must be closed.
func Listen(ctx context.Context, c Config) (*Server, error) {
	s := &Server{begun: time.Now(), books: map[string]*book{}, conns: map[net.Conn]bool{}}
	var secure *tls.Config
	if c.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(c.Cert), []byte(c.Key))
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	var listen net.ListenConfig
	tcp, err := listen.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	packets, err := listen.ListenPacket(ctx, "udp", tcp.Addr().String()) // the same port, where any was asked for
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	s.tcp, s.udp = tcp, packets.(*net.UDPConn)
	_ = s.udp.SetReadBuffer(mostWaiting) // as much of it as the system allows
	if secure != nil {
		s.tcp = tls.NewListener(tcp, secure)
	}
	for range min(runtime.GOMAXPROCS(0), 4) {
		s.work.Go(s.datagrams)
	}
	s.work.Go(s.connections)
	return s, nil
}

// mostWaiting are the bytes of queries that may wait: those of thousands of hosts that are looked up at once.
const mostWaiting = 4 << 20

// Address is where the server listens.
func (s *Server) Address() net.Addr { return s.udp.LocalAddr() }

// Counts reads the counts of a label.
func (s *Server) Counts(label string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Counts{At: time.Since(s.begun), Answers: map[Kind]int64{}}
	if b := s.books[label]; b != nil {
		c.Names = len(b.names)
		for kind, n := range b.answers {
			c.Queries += n
			c.Answers[kind] += n
		}
	}
	if b := s.books[""]; b != nil && label != "" {
		for kind, n := range b.answers {
			c.Answers[kind] += n
		}
	}
	return c
}

// count counts a query.
func (s *Server) count(of name, kind Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[of.label]
	if b == nil {
		if len(s.books) >= mostLabels {
			return
		}
		b = &book{answers: map[Kind]int64{}, names: map[string]bool{}}
		s.books[of.label] = b
	}
	b.answers[kind]++
	if of.label != "" && len(b.names) < mostNames {
		b.names[of.text] = true
	}
}

// respond answers a query and counts it; nothing where it is none.
func (s *Server) respond(query, into []byte) []byte {
	reply, of, kind, ok := answer(query, into)
	if !ok {
		return nil
	}
	s.count(of, kind)
	return reply
}

// datagrams answers what comes over UDP, until the server is closed.
func (s *Server) datagrams() {
	query, reply := make([]byte, 64<<10), make([]byte, 0, 512)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(query)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of an earlier answer that nobody took
		}
		if r := s.respond(query[:n], reply); r != nil {
			_, _ = s.udp.WriteToUDPAddrPort(r, from)
		}
	}
}

// idle is how long a connection may be silent.
const idle = time.Minute

// connections takes what comes over TCP, until the server is closed.
func (s *Server) connections() {
	for {
		conn, err := s.tcp.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // too many open files
			continue
		}
		if !s.keep(conn) {
			_ = conn.Close()
			return
		}
		s.work.Go(func() {
			s.connection(conn)
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
			_ = conn.Close()
		})
	}
}

// keep notes a connection, to be closed with the server; false: it is closed already.
func (s *Server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.conns[conn] = true
	}
	return !s.ended
}

// connection answers queries in their order, each with its length before it (RFC 1035, 4.2.2).
func (s *Server) connection(conn net.Conn) {
	from, to := bufio.NewReader(conn), bufio.NewWriter(conn)
	query, reply := make([]byte, 64<<10), make([]byte, 0, 512)
	var length [2]byte
	for {
		_ = conn.SetDeadline(time.Now().Add(idle))
		if _, err := io.ReadFull(from, length[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint16(length[:])
		if _, err := io.ReadFull(from, query[:n]); err != nil {
			return
		}
		r := s.respond(query[:n], reply)
		if r == nil {
			return
		}
		binary.BigEndian.PutUint16(length[:], uint16(len(r)))
		_, _ = to.Write(length[:])
		_, _ = to.Write(r)
		if from.Buffered() > 0 {
			continue // answers of queries that came together go together
		}
		if err := to.Flush(); err != nil {
			return
		}
	}
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	s.mu.Lock()
	s.ended = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	err := errors.Join(s.udp.Close(), s.tcp.Close())
	s.work.Wait()
	return err
}
