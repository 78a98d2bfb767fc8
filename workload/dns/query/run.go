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

	"tare/layer/dnstransport"
	"tare/testbed"
	"tare/workload/http/load"
	"tare/workload/http/pause"
)

// Session is a number of sockets to one server that spans of load go through, one after the other.
type Session struct {
	conf      Config
	tls       *tls.Config
	questions [][]byte
	sockets   []*socket
	began     time.Time // all times within a session are counted from here
	ctx       context.Context
	cancel    context.CancelFunc
	work      sync.WaitGroup

	mu     sync.Mutex // guards what follows
	result *load.Result
	from   time.Duration // of the measured time
}

// socket is one socket or connection. A connection that is closed is made anew.
type socket struct {
	session *Session
	up      chan struct{} // closed when it was there for the first time, or could not be

	mu   sync.Mutex
	conn net.Conn // nil: there is none now
	why  error    // there is none
	next uint16
	open map[uint16]pending
}

// pending is a query without an answer.
type pending struct {
	intended time.Duration
	question int
	counted  bool
}

// Open makes the sockets. The session must be closed.
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
		k := &socket{session: s, up: make(chan struct{}), open: map[uint16]pending{}}
		s.sockets = append(s.sockets, k)
		s.work.Go(k.live)
	}
	for _, k := range s.sockets {
		select {
		case <-k.up:
		case <-ctx.Done():
			s.Close()
			return nil, context.Cause(ctx)
		}
	}
	s.work.Go(s.sweep)
	return s, nil
}

// now is the time since the session began.
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

// Run goes through a span of load, of an open loop, and gives what it came to when the last of its queries
// has ended.
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
	from, to := begin+span.WarmUp, begin+span.WarmUp+span.Duration
	s.mu.Lock()
	made := s.result // before the span
	s.result, s.from = load.NewResult(), from
	s.result.Handshakes, s.result.Connect = made.Handshakes, made.Connect
	s.mu.Unlock()
	due := span.Times()
	for n := 0; ctx.Err() == nil; n++ {
		at := begin + due()
		if at >= to {
			break
		}
		if wait := at - s.now(); wait > 0 {
			timer.Wait(wait)
		}
		s.sockets[n%len(s.sockets)].send(pending{intended: at, question: n % len(s.questions), counted: at >= from})
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

// underWay says whether any query is.
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

// end counts a query that has ended.
func (s *Session) end(p pending, kind load.Kind, text string) {
	if !p.counted {
		return
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Count(kind, text, now-p.intended, now-s.from)
}

// send sends a query. It never waits for an answer.
func (k *socket) send(p pending) {
	s := k.session
	k.mu.Lock()
	conn, why := k.conn, k.why
	if conn == nil || len(k.open) > 1<<15 {
		k.mu.Unlock()
		kind, text := load.Dial, "there is no connection"
		switch {
		case conn != nil:
			kind, text = load.Unanswered, "too many queries without an answer are under way"
		case why != nil:
			text = why.Error()
		}
		s.end(p, kind, text)
		return
	}
	for _, taken := k.open[k.next]; taken; _, taken = k.open[k.next] {
		k.next++
	}
	id := k.next
	k.next++
	k.open[id] = p
	k.mu.Unlock()

	question := s.questions[p.question]
	text := make([]byte, 0, len(question)+2)
	if s.conf.Transport != dnstransport.UDP {
		text = binary.BigEndian.AppendUint16(text, uint16(len(question)))
	}
	text = append(text, question...)
	binary.BigEndian.PutUint16(text[len(text)-len(question):], id)
	if p.counted {
		lag := s.now() - p.intended
		s.mu.Lock()
		s.result.Lag.Record(lag)
		s.mu.Unlock()
	}
	if s.conf.Transport != dnstransport.UDP { // of a server that takes no more, the pacer must not wait
		_ = conn.SetWriteDeadline(time.Now().Add(s.conf.Timeout))
	}
	if _, err := conn.Write(text); err != nil {
		k.take(id, load.Closed, err.Error())
	}
}

// take ends a query, if it is still under way.
func (k *socket) take(id uint16, kind load.Kind, text string) {
	k.mu.Lock()
	p, there := k.open[id]
	delete(k.open, id)
	k.mu.Unlock()
	if there {
		k.session.end(p, kind, text)
	}
}

// drop ends all queries that were to be sent before a time.
func (k *socket) drop(before time.Duration, kind load.Kind, text string) {
	k.mu.Lock()
	var old []uint16
	for id, p := range k.open {
		if p.intended < before {
			old = append(old, id)
		}
	}
	k.mu.Unlock()
	for _, id := range old {
		k.take(id, kind, text)
	}
}

// sweep gives up queries whose time is over.
func (s *Session) sweep() {
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
			k.drop(before, load.Timeout, fmt.Sprintf("no answer within %v", s.conf.Timeout))
		}
	}
}

// live keeps a socket open, and reads what comes, until the session is closed.
func (k *socket) live() {
	s := k.session
	var first sync.Once
	for s.ctx.Err() == nil {
		conn, err := s.dial()
		k.mu.Lock()
		k.conn, k.why = conn, err
		if s.ctx.Err() != nil && conn != nil { // it was closed meanwhile
			_ = conn.Close()
		}
		k.mu.Unlock()
		first.Do(func() { close(k.up) })
		if err == nil {
			err = k.receive(conn)
			_ = conn.Close()
			k.mu.Lock()
			k.conn, k.why = nil, err
			k.mu.Unlock()
			k.drop(s.now()+time.Hour, load.Closed, err.Error())
		}
		_ = testbed.Pause(s.ctx, 10*time.Millisecond)
	}
}

// dial makes a socket or connection, and counts it.
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
	agreed := dnstransport.Transport(conn.RemoteAddr().Network()).Clear() // what it is, and not what it was to be
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

// receive reads answers until the connection is closed.
func (k *socket) receive(conn net.Conn) error {
	datagrams := k.session.conf.Transport == dnstransport.UDP
	from, answer := bufio.NewReader(conn), make([]byte, 64<<10)
	var length [2]byte
	for {
		n := 0
		var err error
		if datagrams {
			if n, err = conn.Read(answer); err != nil && !errors.Is(err, net.ErrClosed) {
				continue // nobody listens there: queries are lost one by one
			}
		} else if _, err = io.ReadFull(from, length[:]); err == nil {
			n = int(binary.BigEndian.Uint16(length[:]))
			_, err = io.ReadFull(from, answer[:n])
		}
		if err != nil {
			return err
		}
		if n < 2 {
			continue
		}
		k.answered(binary.BigEndian.Uint16(answer), answer[:n])
	}
}

// answered ends the query of that id; an answer that comes too late, or twice, ends none.
func (k *socket) answered(id uint16, answer []byte) {
	k.mu.Lock()
	p, there := k.open[id]
	k.mu.Unlock()
	if !there {
		return
	}
	kind, text := judge(k.session.questions[p.question], answer)
	k.take(id, kind, text)
}
