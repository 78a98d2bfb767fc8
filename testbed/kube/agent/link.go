package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// defaultQuiet is how long a connection on which something is waited for may be silent
// before the agent is asked whether it is there; and how long its answer may take.
// It also keeps the agent's lease and whatever is between from running out.
const defaultQuiet = 30 * time.Second

// link is one connection from the client's side. It ends for good at the first
// error.
type link struct {
	conn  io.ReadWriteCloser
	quiet time.Duration
	out   chan []byte
	dead  chan struct{}

	mu      sync.Mutex
	err     error
	serial  uint64
	pending map[uint64]chan<- answer
	heard   time.Time
	pinged  bool
	check   *time.Timer
}

// answer is a response with its body.
type answer struct {
	response
	body []byte
}

// newLink greets the agent on a new connection and says whose it is.
func newLink(ctx context.Context, conn io.ReadWriteCloser, version string, h hello, quiet time.Duration) (*link, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	l := &link{conn: conn, quiet: quiet, out: make(chan []byte, 16), dead: make(chan struct{}), pending: map[uint64]chan<- answer{}, heard: time.Now()}
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
	l.check = time.AfterFunc(l.quiet, l.listen)
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
		return &VersionError{Image: image, Here: plainVersion(version)}
	}
	frame, err := encode(request{Op: opHello, Hello: &h}, nil)
	if err != nil {
		return err
	}
	if _, err := l.conn.Write(frame); err != nil {
		return fmt.Errorf("greet the agent: %w", err)
	}
	var first response
	if _, err := decode(r, &first); err != nil {
		return fmt.Errorf("greet the agent: %w", err)
	}
	if first.Failure != nil {
		return fmt.Errorf("greet the agent: %.500q", first.Failure.Text)
	}
	return nil
}

// ask sends a request and waits for its answer. An error is the link's end, or
// the context's.
func (l *link) ask(ctx context.Context, q request, body []byte) (answer, error) {
	got := make(chan answer, 1)
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
		return answer{}, &remoteError{text: err.Error()}
	}
	select {
	case l.out <- frame:
	case <-l.dead:
		return answer{}, l.reason()
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	select {
	case a := <-got:
		return a, nil
	case <-l.dead:
		select {
		case a := <-got: // it came before the end
			return a, nil
		default:
			return answer{}, l.reason()
		}
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// read hands answers to those who wait for them.
func (l *link) read(r io.Reader) {
	for {
		var a answer
		var err error
		if a.body, err = decode(r, &a.response); err != nil {
			l.close(fmt.Errorf("the connection to the agent broke: %w", err))
			return
		}
		if a.ID == 0 && a.Failure != nil { // the agent ends the connection, and says why
			l.close(fmt.Errorf("the agent refused: %.500q", a.Failure.Text))
			return
		}
		l.mu.Lock()
		l.heard, l.pinged = time.Now(), false
		if got := l.pending[a.ID]; got != nil {
			got <- a // has room for one
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

// listen asks a silent agent for a sign of life if anybody waits for it.
func (l *link) listen() {
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

// close ends the link; the first reason counts.
func (l *link) close(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if reason == nil {
		reason = errors.New("the connection to the agent was closed")
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
