// Package zone is Tare's own DNS server, which counts queries. A name in the server's zone contains two settings: the
// time to live of its addresses, and the label under which its queries count. One server can therefore serve all trials
// without a new configuration.
//
//	host-17.ttl-5.t3.tare.test.   addresses for 5 seconds, counted as t3
//
// Queries for A and AAAA get an address from the blocks for documentation. Other types have no record, and other names
// do not exist. The server listens on UDP and TCP, or on UDP and TLS.
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
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"tare/internal/workload/service"
)

// origin is the name of the server's zone. Its top-level domain, test, is reserved for tests (RFC 2606).
const origin = "tare.test."

// Name returns the name of host i, such as "host-17.ttl-5.t3.tare.test." (5 s to live, label t3). Queries for the name
// count under the label, which has letters and digits.
func Name(i int, ttl time.Duration, label string) string {
	return fmt.Sprintf("host-%d.ttl-%d.%s.%s", i, int64(ttl/time.Second), label, origin)
}

type name struct {
	text  string // name in lower case
	ttl   uint32 // time to live in seconds
	label string
}

func parseName(n dnsmessage.Name) (name, bool) {
	text := strings.ToLower(n.String())
	rest, inZone := strings.CutSuffix(text, "."+origin)
	parts := strings.Split(rest, ".")
	if !inZone || len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return name{}, false
	}
	seconds, is := strings.CutPrefix(parts[1], "ttl-")
	ttl, err := strconv.ParseUint(seconds, 10, 31)
	return name{text, uint32(ttl), parts[2]}, is && err == nil
}

// Kind is the kind of a response.
type Kind string

const (
	a        Kind = "a"        // an IPv4 address
	aaaa     Kind = "aaaa"     // an IPv6 address
	empty    Kind = "empty"    // the name has no record of the query's type
	nxDomain Kind = "nxdomain" // the zone lacks the name
	failed   Kind = "error"    // the query cannot be read, or is no standard query
)

// Kinds lists the kinds.
var Kinds = []Kind{a, aaaa, empty, nxDomain, failed}

// The addresses that every host of the zone has (RFC 5737, RFC 3849).
var (
	ipv4 = [4]byte{192, 0, 2, 1}
	ipv6 = [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}
)

// answer encodes the response to a query into a buffer. Beside the response, it returns the name and kind that were
// asked for. ok is false for bytes that are no query.
func answer(query, buffer []byte) (reply []byte, asked name, kind Kind, ok bool) {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil, asked, "", false
	}
	header := dnsmessage.Header{ID: head.ID, Response: true, OpCode: head.OpCode, Authoritative: true,
		RecursionDesired: head.RecursionDesired, RecursionAvailable: true}
	question, unread := p.Question()
	known := false
	if unread == nil {
		asked, known = parseName(question.Name)
	}
	switch {
	case head.OpCode != 0:
		header.RCode, kind = dnsmessage.RCodeNotImplemented, failed
	case unread != nil:
		header.RCode, kind = dnsmessage.RCodeFormatError, failed
	case !known || question.Class != dnsmessage.ClassINET:
		header.RCode, kind = dnsmessage.RCodeNameError, nxDomain
	case question.Type == dnsmessage.TypeA:
		kind = a
	case question.Type == dnsmessage.TypeAAAA:
		kind = aaaa
	default:
		kind = empty
	}
	b := dnsmessage.NewBuilder(buffer[:0], header)
	if unread == nil {
		err = errors.Join(b.StartQuestions(), b.Question(question))
	}
	record := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: asked.ttl}
	switch kind {
	case a:
		err = errors.Join(err, b.StartAnswers(), b.AResource(record, dnsmessage.AResource{A: ipv4}))
	case aaaa:
		err = errors.Join(err, b.StartAnswers(), b.AAAAResource(record, dnsmessage.AAAAResource{AAAA: ipv6}))
	}
	reply, unfinished := b.Finish()
	return reply, asked, kind, err == nil && unfinished == nil
}

// Config is the configuration of a server.
type Config struct {
	Listen string `json:"listen"` // "HOST:PORT", for UDP and TCP; port 0: any free port
	// Cert and Key are PEM. If they are given, the TCP port speaks DNS over TLS only (RFC 7858).
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// Server is a DNS server that listens.
type Server struct {
	udp   *net.UDPConn
	tcp   net.Listener
	begun time.Time
	work  sync.WaitGroup

	mu     sync.Mutex
	labels map[string]*labelCounts // counts by label; "" has the queries without a label
	conns  map[net.Conn]bool
	ended  bool
}

type labelCounts struct {
	answers map[Kind]int64
	names   map[string]bool
}

// mostLabels and mostNames limit how many labels and names are counted. Otherwise clients could fill the memory with
// queries for new names.
const (
	mostLabels = 100_000
	mostNames  = 100_000 // names that are kept per label
)

// Counts holds the number of queries whose names contain one label (see Name). Answers also counts responses to queries
// for names without such a label.
type Counts struct {
	// At is the time from the server's start until the counts were read, by the server's clock.
	At      time.Duration  `json:"at"`
	Queries int64          `json:"queries"` // number of queries under the label
	Names   int            `json:"names"`   // number of different names in queries under the label
	Answers map[Kind]int64 `json:"answers"` // responses under the label and without a label
}

// Listen starts a server. The caller must close it.
func Listen(ctx context.Context, c Config) (*Server, error) {
	s := &Server{begun: time.Now(), labels: map[string]*labelCounts{}, conns: map[net.Conn]bool{}}
	secure, err := service.ServerTLS(c.Cert, c.Key)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	tcp, err := listen.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	packets, err := listen.ListenPacket(ctx, "udp", tcp.Addr().String()) // UDP uses the same port as TCP
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	s.tcp, s.udp = tcp, packets.(*net.UDPConn)
	_ = s.udp.SetReadBuffer(receiveBuffer) // the system may grant a smaller buffer
	if secure != nil {
		s.tcp = tls.NewListener(tcp, secure)
	}
	for range min(runtime.GOMAXPROCS(0), 4) {
		s.work.Go(s.datagrams)
	}
	s.work.Go(s.connections)
	return s, nil
}

// receiveBuffer is the size, in bytes, of the buffer for queries that wait. It holds the queries of thousands of
// hosts that are looked up at once.
const receiveBuffer = 4 << 20

// Address returns the server's address.
func (s *Server) Address() net.Addr { return s.udp.LocalAddr() }

// Counts returns the numbers of queries and answers for a label.
func (s *Server) Counts(label string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Counts{At: time.Since(s.begun), Answers: map[Kind]int64{}}
	if b := s.labels[label]; b != nil {
		c.Names = len(b.names)
		for kind, n := range b.answers {
			c.Queries += n
			c.Answers[kind] += n
		}
	}
	if b := s.labels[""]; b != nil && label != "" {
		for kind, n := range b.answers {
			c.Answers[kind] += n
		}
	}
	return c
}

// respond answers and counts a query. It returns nil for bytes that are no query.
func (s *Server) respond(query, buffer []byte) []byte {
	reply, n, kind, ok := answer(query, buffer)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.labels[n.label]
	if b == nil {
		if len(s.labels) >= mostLabels {
			return reply
		}
		b = &labelCounts{answers: map[Kind]int64{}, names: map[string]bool{}}
		s.labels[n.label] = b
	}
	b.answers[kind]++
	if n.label != "" && len(b.names) < mostNames {
		b.names[n.text] = true
	}
	return reply
}

func (s *Server) datagrams() {
	query, reply := make([]byte, 64<<10), make([]byte, 0, 512)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(query)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the error is about an earlier response, which did not arrive
		}
		if r := s.respond(query[:n], reply); r != nil {
			_, _ = s.udp.WriteToUDPAddrPort(r, from)
		}
	}
}

const idle = time.Minute

func (s *Server) connections() {
	for {
		conn, err := s.tcp.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // a pause, since Accept fails while the process has too many open files
			continue
		}
		s.mu.Lock()
		ended := s.ended
		if !ended {
			s.conns[conn] = true
		}
		s.mu.Unlock()
		if ended {
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

// connection answers the queries of a TCP connection in order. Two bytes before each message give its length (RFC 1035,
// 4.2.2).
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
			continue // more queries have arrived: a later write sends all responses
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
