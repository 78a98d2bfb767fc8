package query

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tare/internal/layer/dnstransport"
	"tare/internal/testbed"
	"tare/internal/workload/http/load"
	"tare/internal/workload/http/pause"
)

// Session holds sockets to one server. One span of load after another uses these sockets.
type Session struct {
	conf      Config
	tls       *tls.Config
	questions [][]byte
	sockets   []*socket
	began     time.Time // all times of the session count from this time
	ctx       context.Context
	cancel    context.CancelFunc
	work      sync.WaitGroup

	mu     sync.Mutex // guards the following fields
	result *load.Result
	begin  time.Duration // time of the session at which the measured part begins
}

// socket is a UDP socket or a connection. After a connection has closed, the socket connects again.
type socket struct {
	session *Session
	opened  chan struct{} // closed after the first attempt to connect

	mu   sync.Mutex
	conn net.Conn // nil while there is no connection
	err  error    // error of the last attempt to connect, if conn is nil
	next uint16
	open map[uint16]pending
}

type pending struct {
	intended time.Duration
	sent     time.Duration // 0: the query is not sent yet
	question int
}

// Open opens the sockets. The caller must close the session.
func Open(ctx context.Context, c Config) (*Session, error) {
	s := &Session{conf: c, began: time.Now(), result: load.NewResult()}
	var err error
	if s.questions, err = c.questions(); err != nil {
		return nil, err
	}
	if s.tls, err = c.clientTLS(); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for range max(c.Sockets, 1) {
		k := &socket{session: s, opened: make(chan struct{}), open: map[uint16]pending{}}
		s.sockets = append(s.sockets, k)
		s.work.Go(k.live)
	}
	for _, k := range s.sockets {
		select {
		case <-k.opened:
		case <-ctx.Done():
			s.Close()
			return nil, context.Cause(ctx)
		}
	}
	s.work.Go(s.expire)
	return s, nil
}

func (s *Session) now() time.Duration { return time.Since(s.began) }

// Close ends the session.
func (s *Session) Close() {
	s.cancel()
	for _, k := range s.sockets {
		k.mu.Lock()
		if k.conn != nil {
			_ = k.conn.Close()
		}
		k.mu.Unlock()
	}
	s.work.Wait()
}

// Run runs a span of load in an open loop. It returns the result when the last query has ended.
func (s *Session) Run(ctx context.Context, span load.Span) (*load.Result, error) {
	if err := span.Validate(); err != nil {
		return nil, err
	}
	if span.Rate == 0 {
		return nil, errors.New("give a rate: queries are sent in an open loop")
	}
	timer, err := pause.NewTimer()
	if err != nil {
		return nil, err
	}
	defer timer.Close()
	defer context.AfterFunc(ctx, timer.Close)()
	begin := s.now()
	s.mu.Lock()
	made := s.result // the result so far, whose counts of connections the new result keeps
	s.result, s.begin = load.NewResult(), begin
	s.result.Handshakes, s.result.Connect = made.Handshakes, made.Connect
	s.mu.Unlock()
	due := span.Times()
	for n := 0; ctx.Err() == nil; n++ {
		at := begin + due()
		if at >= begin+span.Duration {
			break
		}
		if wait := at - s.now(); wait > 0 {
			timer.Wait(wait)
		}
		s.sockets[n%len(s.sockets)].send(pending{intended: at, question: n % len(s.questions)})
	}
	for ctx.Err() == nil && s.underWay() {
		timer.Wait(time.Millisecond)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.result
	s.result = load.NewResult()
	sum.Duration = span.Duration
	sum.Elapsed = max(sum.Elapsed, sum.Duration)
	return sum, nil
}

func (s *Session) underWay() bool {
	for _, k := range s.sockets {
		k.mu.Lock()
		n := len(k.open)
		k.mu.Unlock()
		if n > 0 {
			return true
		}
	}
	return false
}

// end adds an ended query to the result. The exchange x holds the times of the response and the error.
func (s *Session) end(p pending, x load.Exchange) {
	x.Due, x.Sent, x.Paced = p.intended, p.sent, p.sent > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Add(x, s.begin)
}

func (s *Session) failed(kind load.Kind, text string) load.Exchange {
	return load.Exchange{Last: s.now(), Kind: kind, Text: text}
}

func (k *socket) send(p pending) {
	s := k.session
	k.mu.Lock()
	conn, dialErr := k.conn, k.err
	if conn == nil || len(k.open) > 1<<15 {
		k.mu.Unlock()
		kind, text := load.Dial, "there is no connection"
		switch {
		case conn != nil:
			kind, text = load.Unanswered, "too many queries without an answer are under way"
		case dialErr != nil:
			text = dialErr.Error()
		}
		s.end(p, s.failed(kind, text))
		return
	}
	for _, taken := k.open[k.next]; taken; _, taken = k.open[k.next] {
		k.next++
	}
	id := k.next
	k.next++
	p.sent = s.now()
	k.open[id] = p
	k.mu.Unlock()

	question := s.questions[p.question]
	text := make([]byte, 0, len(question)+2)
	if s.conf.Transport != dnstransport.UDP {
		text = binary.BigEndian.AppendUint16(text, uint16(len(question)))
	}
	text = append(text, question...)
	binary.BigEndian.PutUint16(text[len(text)-len(question):], id)
	if s.conf.Transport != dnstransport.UDP { // the deadline keeps the pacer from waiting for a server that has stopped reading
		_ = conn.SetWriteDeadline(time.Now().Add(s.conf.Timeout))
	}
	if _, err := conn.Write(text); err != nil {
		k.finish(id, s.failed(load.Closed, err.Error()))
	}
}

func (k *socket) finish(id uint16, x load.Exchange) {
	k.mu.Lock()
	p, there := k.open[id]
	delete(k.open, id)
	k.mu.Unlock()
	if there {
		k.session.end(p, x)
	}
}

func (k *socket) endBefore(before time.Duration, kind load.Kind, text string) {
	k.mu.Lock()
	var old []uint16
	for id, p := range k.open {
		if p.intended < before {
			old = append(old, id)
		}
	}
	k.mu.Unlock()
	for _, id := range old {
		k.finish(id, k.session.failed(kind, text))
	}
}

func (s *Session) expire() {
	tick := time.NewTicker(min(max(s.conf.Timeout/20, time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		before := s.now() - s.conf.Timeout
		for _, k := range s.sockets {
			k.endBefore(before, load.Timeout, fmt.Sprintf("no answer within %v", s.conf.Timeout))
		}
	}
}

// live keeps a socket open and reads responses, until the session is closed.
func (k *socket) live() {
	s := k.session
	var first sync.Once
	for s.ctx.Err() == nil {
		conn, err := s.dial()
		k.mu.Lock()
		k.conn, k.err = conn, err
		if s.ctx.Err() != nil && conn != nil { // Close was called during the dial
			_ = conn.Close()
		}
		k.mu.Unlock()
		first.Do(func() { close(k.opened) })
		if err == nil {
			err = k.receive(conn)
			_ = conn.Close()
			k.mu.Lock()
			k.conn, k.err = nil, err
			k.mu.Unlock()
			k.endBefore(s.now()+time.Hour, load.Closed, err.Error())
		}
		_ = testbed.Pause(s.ctx, 10*time.Millisecond)
	}
}

// dial connects to the server, and counts the handshake.
func (s *Session) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.conf.Timeout)
	defer cancel()
	network := "tcp"
	if s.conf.Transport == dnstransport.UDP {
		network = "udp"
	}
	begun := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, network, s.conf.Address)
	if err != nil {
		return nil, err
	}
	// name of the transport if the connection has no TLS, such as "udp in clear"
	agreed := dnstransport.Transport(conn.RemoteAddr().Network()).Clear()
	if s.tls != nil {
		secure := tls.Client(conn, s.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		state := secure.ConnectionState()
		conn, agreed = secure, tls.VersionName(state.Version)+", "+tls.CipherSuiteName(state.CipherSuite)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Handshakes[agreed]++
	s.result.Connect.Record(time.Since(begun))
	return conn, nil
}

func (k *socket) receive(conn net.Conn) error {
	datagrams := k.session.conf.Transport == dnstransport.UDP
	from, answer := bufio.NewReader(conn), make([]byte, 64<<10)
	var length [2]byte
	for {
		n := 0
		var x load.Exchange
		var err error
		if datagrams {
			if n, err = conn.Read(answer); err != nil && !errors.Is(err, net.ErrClosed) {
				continue // no program listens at the server's port; queries end by their timeout
			}
			x.First = k.session.now()
			x.Last = x.First
		} else if _, err = from.Peek(1); err == nil {
			x.First = k.session.now()
			if _, err = io.ReadFull(from, length[:]); err == nil {
				n = int(binary.BigEndian.Uint16(length[:]))
				_, err = io.ReadFull(from, answer[:n])
			}
			x.Last = k.session.now()
		}
		if err != nil {
			return err
		}
		if n >= 2 {
			k.answered(answer[:n], x)
		}
	}
}

// answered ends the query that has the response's id. A response that comes late or twice is ignored. x holds the
// response's times.
func (k *socket) answered(response []byte, x load.Exchange) {
	id := binary.BigEndian.Uint16(response)
	k.mu.Lock()
	p, open := k.open[id]
	k.mu.Unlock()
	if open {
		x.Kind, x.Text = outcome(k.session.questions[p.question], response)
		k.finish(id, x)
	}
}
