package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loops read connections in clear that stay up, as event loops over epoll, without the
// runtime's poller: a goroutine per connection costs a third more CPU time per request, for a
// read that finds nothing, for being parked and for being woken.
//
// System calls that cannot block go round the scheduler: it would take each that is slow for one
// that blocks, and hand the processor over. A loop that has nothing to do waits in the
// runtime's poller, for its epoll to be readable.
type eventLoops struct {
	loops  []*eventLoop
	polled []atomic.Pointer[polledConn] // by number
	all    sync.WaitGroup
}

// loop is one event loop.
type eventLoop struct {
	epoll *os.File
	fd    int // of epoll
	set   *eventLoops
}

// polledConn is a connection that a loop reads.
type polledConn struct {
	http1  *http1
	socket *socket
	ended  chan error
}

// newEventLoops starts the loops of a session, or is nil where its connections are not for them.
func newEventLoops(s *Session) (*eventLoops, error) {
	if s.conf.Protocol != HTTP1 || s.tls != nil || s.conf.RequestsPerConnection > 0 {
		return nil, nil
	}
	for _, r := range s.requests {
		if len(r.keep) > atOnce {
			return nil, nil
		}
	}
	l := &eventLoops{polled: make([]atomic.Pointer[polledConn], len(s.connections))}
	for range min(runtime.GOMAXPROCS(0), len(s.connections)) {
		one, err := newEventLoop(l)
		if err != nil {
			l.close()
			return nil, err
		}
		l.loops = append(l.loops, one)
		l.all.Go(one.run)
	}
	return l, nil
}

func newEventLoop(set *eventLoops) (*eventLoop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(epoll, true); err != nil { // else the runtime's poller does not take it
		_ = unix.Close(epoll)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &eventLoop{epoll: os.NewFile(uintptr(epoll), "epoll"), fd: epoll, set: set}, nil
}

// close ends the loops. Their connections have ended.
func (l *eventLoops) close() {
	if l == nil {
		return
	}
	for _, one := range l.loops {
		one.epoll.Close()
	}
	l.all.Wait()
}

// run reads what is readable until close.
func (l *eventLoop) run() {
	raw, err := l.epoll.SyscallConn()
	if err != nil {
		return // closed already
	}
	events := make([]unix.EpollEvent, 128)
	n := 0
	some := func(fd uintptr) bool {
		m, _, _ := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		n = int(m) // below 0 for an error; there is none but a signal's
		return n > 0
	}
	for raw.Read(some) == nil { // until it is closed
		for _, e := range events[:n] {
			if c := l.set.polled[e.Fd].Load(); c != nil {
				c.readable(&l.set.polled[e.Fd])
			}
		}
	}
}

// readable reads once. (An event may be of the lane's connection before: then there is
// nothing to read.)
func (c *polledConn) readable(entry *atomic.Pointer[polledConn]) {
	n, err := c.socket.Read(c.http1.parser.space())
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	if err := c.http1.received(n, err); err != nil {
		entry.CompareAndSwap(c, nil) // the lane's next connection may be there already
		c.ended <- err
	}
}

// read has a loop read the connection, and waits for its end. ok is false where the connection
// is not for a loop.
func (l *eventLoops) read(h *http1) (ok bool, err error) {
	s, ok := h.conn.(*socket)
	if !ok {
		return false, nil
	}
	defer s.release()
	number := h.link.conn.number
	one := l.loops[number%len(l.loops)]
	c := &polledConn{http1: h, socket: s, ended: make(chan error, 1)}
	l.polled[number].Store(c)
	defer l.polled[number].CompareAndSwap(c, nil)
	if err := unix.EpollCtl(one.fd, unix.EPOLL_CTL_ADD, s.fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(number)}); err != nil {
		return true, os.NewSyscallError("epoll_ctl", err)
	}
	err = <-c.ended
	_ = unix.EpollCtl(one.fd, unix.EPOLL_CTL_DEL, s.fd, nil)
	if errors.Is(err, errRetired) { // the server closes first: see awaitEnd
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}, 1000)
	}
	return true, err
}

// socket is a TCP connection that the runtime's poller does not know. Only Read, Write and
// Close are its own: the connection that it was is closed.
type socket struct {
	net.Conn
	fd int

	mu     sync.RWMutex // so that the descriptor is no other connection's while it is used
	closed bool
}

// detach takes a connection away from the runtime's poller.
func (l *eventLoops) detach(conn net.Conn) (net.Conn, error) {
	if l == nil {
		return conn, nil
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: conn, fd: -1}
	var failed error
	if err := raw.Control(func(fd uintptr) { s.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("dup", failed)
	}
	return s, conn.Close()
}

// Read reads without waiting.
func (s *socket) Read(p []byte) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	for {
		n, _, err := unix.RawSyscall(unix.SYS_READ, uintptr(s.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch {
		case err == unix.EINTR:
			continue
		case err != 0:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		}
		return int(n), nil
	}
}

// Write writes all of a small request, and waits where the send buffer is full nevertheless.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	done := 0
	for done < len(p) {
		if s.closed {
			return done, net.ErrClosed
		}
		n, _, err := unix.RawSyscall(unix.SYS_WRITE, uintptr(s.fd), uintptr(unsafe.Pointer(&p[done])), uintptr(len(p)-done))
		switch err {
		case 0:
			done += int(n)
		case unix.EINTR:
		case unix.EAGAIN:
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}, 1000)
		default:
			return done, os.NewSyscallError("write", err)
		}
	}
	return done, nil
}

// Close ends the connection at once for all who use it.
func (s *socket) Close() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return net.ErrClosed
	}
	return unix.Shutdown(s.fd, unix.SHUT_RDWR) // wakes the loop, and fails Write
}

// release gives the descriptor back, when nobody reads any more.
func (s *socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		_ = unix.Close(s.fd)
	}
}
