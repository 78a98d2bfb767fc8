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

// eventLoops read the responses of connections by epoll, if connections stay open and have no TLS. One goroutine per
// connection would cost a third more CPU time per request.
//
// The loops make system calls that cannot block, without announcing them to Go's scheduler: it might take a slow call
// for a blocked one. A loop without work waits in the poller of Go's runtime.
type eventLoops struct {
	loops  []*eventLoop
	polled []atomic.Pointer[polledConn] // connections that event loops read, by connection.number
	all    sync.WaitGroup
}

type eventLoop struct {
	epoll *os.File
	fd    int // descriptor of epoll
	set   *eventLoops
}

// polledConn is a network connection whose responses an event loop reads.
type polledConn struct {
	http1  *http1
	socket *socket
	ended  chan error
}

// newEventLoops starts the event loops of a session. It returns nil if the session's connections need
// goroutines.
func newEventLoops(s *session) (*eventLoops, error) {
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
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err == nil {
			err = unix.SetNonblock(epoll, true) // the runtime's poller only takes non-blocking descriptors
		}
		if err != nil {
			_ = unix.Close(epoll)
			l.close()
			return nil, fmt.Errorf("epoll: %w", err)
		}
		one := &eventLoop{epoll: os.NewFile(uintptr(epoll), "epoll"), fd: epoll, set: l}
		l.loops = append(l.loops, one)
		l.all.Go(one.run)
	}
	return l, nil
}

// close ends the event loops. All connections must have ended before.
func (l *eventLoops) close() {
	if l == nil {
		return
	}
	for _, one := range l.loops {
		one.epoll.Close()
	}
	l.all.Wait()
}

// run reads from each connection that has data, until the loop is closed.
func (l *eventLoop) run() {
	raw, err := l.epoll.SyscallConn()
	if err != nil {
		return // the loop is already closed
	}
	events := make([]unix.EpollEvent, 128)
	n := 0
	some := func(fd uintptr) bool {
		m, _, _ := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		n = int(m) // n is negative if a signal interrupted the call; no other error is possible
		return n > 0
	}
	for raw.Read(some) == nil { // Read fails when the descriptor is closed, and so ends the loop
		for _, e := range events[:n] {
			if c := l.set.polled[e.Fd].Load(); c != nil {
				c.readable(&l.set.polled[e.Fd])
			}
		}
	}
}

// readable reads from the connection once. If the event belongs to an earlier link of the connection, there is
// nothing to read.
func (c *polledConn) readable(entry *atomic.Pointer[polledConn]) {
	n, err := c.socket.Read(c.http1.parser.space())
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	if err := c.http1.received(n, err); err != nil {
		entry.CompareAndSwap(c, nil) // no effect if another link has taken the entry already
		c.ended <- err
	}
}

// read reads from a connection by an event loop, until the connection ends. ok is false if only a goroutine can read
// from it.
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
	if errors.Is(err, errRetired) { // no more requests: waits until the server closes the connection (see awaitEnd)
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}, 1000)
	}
	return true, err
}

// socket is a TCP connection outside the poller of Go's runtime. The embedded connection, from which it was made, is
// closed already.
type socket struct {
	net.Conn
	fd int

	mu     sync.RWMutex // held for reading while the descriptor is in use, and for writing while it is closed
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

// Read returns the bytes that have arrived, and does not wait for more. If no byte has arrived, the error is EAGAIN.
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

// Write writes all of a small request. It waits if the send buffer is full.
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

// Close ends the connection for all its users.
func (s *socket) Close() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return net.ErrClosed
	}
	return unix.Shutdown(s.fd, unix.SHUT_RDWR) // shuts down both directions; the event loop then wakes up and sees the connection's end
}

// release closes the descriptor. The event loop no longer reads from this descriptor.
func (s *socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		_ = unix.Close(s.fd)
	}
}
