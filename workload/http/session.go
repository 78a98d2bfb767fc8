package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tare/safetext"
	"tare/testbed"
	"tare/workload/http/load"
	"tare/workload/http/target"
	"tare/workload/service"
)

// The workload's own processes. A client stays up over a trial, and its connections with it. On
// a cluster nothing can be written to a program that runs, so that orders come through a socket
// of the pod, each from a process of its own that waits for the answer.
var (
	clientHelper = testbed.Helper{Name: "http-client", Run: beClient}
	orderHelper  = testbed.Helper{Name: "http-order", Run: giveOrder}
	targetHelper = testbed.Helper{Name: "http-target", Run: beTarget}
)

// Helpers are the workload's own processes.
var Helpers = []testbed.Helper{clientHelper, orderHelper, targetHelper}

// calling is what a client or an order is told on its standard input.
type calling struct {
	Socket string          `json:"socket"` // abstract, in the network namespace of the pod
	Order  json.RawMessage `json:"order,omitempty"`
}

// session is one client of a trial.
type session struct {
	*service.Running
	site   testbed.Site
	socket string
	ahead  time.Duration // by which the clock of its place is ahead of this machine's
}

var sockets atomic.Int64

// openSession starts a client in a client's pod and opens its session.
func openSession(ctx context.Context, site testbed.Site, name string, where testbed.Place, config load.Config, threads int) (*session, error) {
	s := &session{site: site, socket: fmt.Sprintf("@tare-http-%d-%d-%d", os.Getpid(), time.Now().UnixNano(), sockets.Add(1))}
	text, err := json.Marshal(calling{Socket: s.socket})
	if err != nil {
		return nil, err
	}
	cmd := testbed.HelperAt(site, where, clientHelper.Name)
	cmd.Stdin, cmd.Subject = bytes.NewReader(text), true
	if s.Running, err = service.Start(ctx, site, service.Program{Name: name, Where: where, Command: cmd}); err != nil {
		return nil, err
	}
	if _, err := s.give(ctx, load.OpenOrder(config, threads)); err != nil {
		return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// run runs a span of load.
func (s *session) run(ctx context.Context, span load.Span) (*load.Result, error) {
	return s.give(ctx, load.RunOrder(span))
}

// give gives an order and waits for what it came to.
func (s *session) give(ctx context.Context, order json.RawMessage) (*load.Result, error) {
	answer, err := s.ask(ctx, order)
	if err != nil {
		return nil, err
	}
	return load.ReadReply(answer)
}

// ask gives an order and waits for the answer.
func (s *session) ask(ctx context.Context, order json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(calling{s.socket, order})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a client that has ended answers nothing
		select {
		case <-s.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	var out, why bytes.Buffer
	cmd := testbed.HelperAt(s.site, s.Where, orderHelper.Name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &why
	process, err := s.site.Start(ctx, s.Where, cmd)
	if err != nil {
		return nil, err
	}
	if _, err := process.Wait(); err != nil {
		if ended := s.Check(ctx); ended != nil {
			return nil, ended
		}
		return nil, fmt.Errorf("%w: %s", err, safetext.Line(why.String()))
	}
	return out.Bytes(), nil
}

// beClient is a client: it obeys the orders that come through its socket, one at a time.
func beClient(ctx context.Context) error {
	var c calling
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return fmt.Errorf("the socket of orders: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", c.Socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	callers := &callers{listener: listener}
	return load.Serve(ctx, callers, callers)
}

// callers are connections that come one after the other, as one stream each way.
type callers struct {
	listener net.Listener
	mu       sync.Mutex
	now      net.Conn
}

// Read reads from the connection that there is, or the next one.
func (c *callers) Read(b []byte) (int, error) {
	for {
		conn, err := c.current()
		if err != nil {
			return 0, io.EOF // the listener is closed
		}
		n, err := conn.Read(b)
		if n > 0 {
			return n, nil
		}
		if err != nil {
			_ = conn.Close()
			c.mu.Lock()
			c.now = nil
			c.mu.Unlock()
		}
	}
}

func (c *callers) current() (net.Conn, error) {
	c.mu.Lock()
	conn := c.now
	c.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	conn, err := c.listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = conn
	return conn, nil
}

// Write answers whoever is there. That nobody is any more, is no error.
func (c *callers) Write(b []byte) (int, error) {
	c.mu.Lock()
	conn := c.now
	c.mu.Unlock()
	if conn != nil {
		_, _ = conn.Write(b)
	}
	return len(b), nil
}

// connectLimit is how long a client may take until its socket is there.
const connectLimit = 10 * time.Second

// giveOrder passes an order to a client, and the answer to its standard output.
func giveOrder(ctx context.Context) error {
	var c calling
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return fmt.Errorf("the order: %w", err)
	}
	var conn net.Conn
	for begun, err := time.Now(), error(nil); conn == nil; {
		if conn, err = new(net.Dialer).DialContext(ctx, "unix", c.Socket); err == nil {
			break
		}
		if ctx.Err() != nil || time.Since(begun) > connectLimit {
			return fmt.Errorf("the client: %w", err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(append(c.Order, '\n')); err != nil {
		return err
	}
	var reply json.RawMessage
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		return fmt.Errorf("the client's answer: %w", err)
	}
	_, err := os.Stdout.Write(reply)
	return err
}

// beTarget is the builtin server.
func beTarget(ctx context.Context) error {
	var c target.Config
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return fmt.Errorf("the server's configuration: %w", err)
	}
	return target.Run(ctx, c, os.Stdout)
}
