package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// After defaultQuiet without a response to a pending request, a client sends a ping. Pings renew the session's lease,
// and keep proxies from closing the connection.
const defaultQuiet = 30 * time.Second

// link is the client's side of one connection. The first error ends the link.
type link struct {
	conn  io.ReadWriteCloser
	quiet time.Duration // time without a response after which the link sends a ping, see defaultQuiet
	out   chan []byte   // frames to send
	dead  chan struct{} // closed when err is set

	mu      sync.Mutex
	err     error                   // reason why the link ended; nil while it works
	serial  uint64                  // id of the latest request
	pending map[uint64]chan<- reply // receivers of responses, by request id
	heard   time.Time               // time of the latest response
	pinged  bool                    // set while a ping waits for its response
	check   *time.Timer             // calls pingIfSilent
}

type reply struct {
	response
	body []byte
}

func newLink(ctx context.Context, conn io.ReadWriteCloser, version string, h hello, quiet time.Duration) (*link, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	l := &link{
		conn: conn, quiet: quiet, out: make(chan []byte, 16), dead: make(chan struct{}),
		pending: map[uint64]chan<- reply{}, heard: time.Now(),
	}
	r := bufio.NewReader(conn)
	err := l.greet(r, version, h)
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = fmt.Errorf("the agent does not greet: %w", context.Cause(ctx))
		}
		return nil, err
	}
	l.mu.Lock()
	l.check = time.AfterFunc(l.quiet, l.pingIfSilent)
	l.mu.Unlock()
	go l.read(r)
	go l.write()
	return l, nil
}

func (l *link) greet(r *bufio.Reader, version string, h hello) error {
	if _, err := io.WriteString(l.conn, greeting(version)); err != nil {
		return fmt.Errorf("greet the agent: %w", err)
	}
	number, image, err := readGreeting(r)
	if err != nil {
		return err
	}
	if number != protocol || !sameVersion(image, version) {
		return &versionError{Image: image, Here: plainVersion(version)}
	}
	frame, err := encode(request{Op: opHello, Hello: &h}, nil)
	if err != nil {
		return err
	}
	if _, err := l.conn.Write(frame); err != nil {
		return fmt.Errorf("greet the agent: %w", err)
	}
	var first response
	if _, err := decode(r, &first, nil); err != nil {
		return fmt.Errorf("greet the agent: %w", err)
	}
	if first.Failure != nil {
		return fmt.Errorf("greet the agent: %.500q", first.Failure.Text)
	}
	return nil
}

func (l *link) ask(ctx context.Context, q request, body []byte) (reply, error) {
	got := make(chan reply, 1)
	l.mu.Lock()
	l.serial++
	q.ID = l.serial
	l.pending[q.ID] = got
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.pending, q.ID)
		l.mu.Unlock()
	}()
	frame, err := encode(q, body)
	if err != nil {
		return reply{}, &failure{Text: err.Error()}
	}
	select {
	case l.out <- frame:
	case <-l.dead:
		return reply{}, l.reason()
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
	select {
	case a := <-got:
		return a, nil
	case <-l.dead:
		select {
		case a := <-got: // the response came just before the link ended
			return a, nil
		default:
			return reply{}, l.reason()
		}
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

func (l *link) read(r io.Reader) {
	for {
		var a reply
		var err error
		if a.body, err = decode(r, &a.response, nil); err != nil {
			l.close(fmt.Errorf("the connection to the agent broke: %w", err))
			return
		}
		if a.ID == 0 && a.Failure != nil { // the agent sends a failure without an id when it ends the connection
			l.close(fmt.Errorf("the agent refused: %.500q", a.Failure.Text))
			return
		}
		l.mu.Lock()
		l.heard, l.pinged = time.Now(), false
		if got := l.pending[a.ID]; got != nil {
			got <- a // never blocks: the channel has room for this response
			delete(l.pending, a.ID)
		}
		l.mu.Unlock()
	}
}

func (l *link) write() {
	for {
		select {
		case <-l.dead:
			return
		case frame := <-l.out:
			if _, err := l.conn.Write(frame); err != nil {
				l.close(fmt.Errorf("the connection to the agent broke: %w", err))
				return
			}
		}
	}
}

// pingIfSilent pings a silent agent if requests are pending. If the last ping had no response, it ends the link.
func (l *link) pingIfSilent() {
	l.mu.Lock()
	silent, waiting := time.Since(l.heard), len(l.pending) > 0
	lost := waiting && l.pinged
	ask := waiting && !l.pinged && silent >= l.quiet/2
	l.pinged = l.pinged && waiting || ask
	l.mu.Unlock()
	if lost {
		l.close(fmt.Errorf("the agent has not answered for %v", silent.Round(time.Second)))
		return
	}
	if ask {
		go func() { _, _ = l.ask(context.Background(), request{Op: opPing}, nil) }()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.check.Reset(l.quiet)
	}
}

// close ends the link. Only the first call's reason is kept.
func (l *link) close(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = reason
	close(l.dead)
	if l.check != nil {
		l.check.Stop()
	}
	_ = l.conn.Close()
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
