package orders

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"tare/testbed"
)

// The variables that tell a helper in a pod which of the two it is: the one that obeys what
// comes to the socket, or one that takes an order there.
const (
	servedVariable = "TARE_ORDERS_SERVED"
	askedVariable  = "TARE_ORDERS_ASKED"
)

// remote is the way to a helper in a pod: an abstract socket of the pod's network namespace.
// It answers its own user alone.
type remote struct {
	site   testbed.Site
	where  testbed.Place
	carry  testbed.Command // starts a process that takes an order to the socket
	socket string
	ended  chan struct{} // closed when the helper has
}

func startRemote(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) (*Helper, error) {
	r := &remote{site: site, where: where, carry: cmd, socket: "@tare-orders-" + rand.Text(), ended: make(chan struct{})}
	r.carry.Env, r.carry.Subject = append(slices.Clip(cmd.Env), askedVariable+"="+r.socket), false
	cmd.Env = append(slices.Clip(cmd.Env), servedVariable+"="+r.socket)
	process, err := site.Start(context.WithoutCancel(ctx), where, cmd)
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = process.Wait()
		close(r.ended)
	}()
	return &Helper{process: process, line: r}, nil
}

func (r *remote) exchange(ctx context.Context, order []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("no answer within %v", Limit))
	defer cancel()
	ctx, stop := testbed.Until(ctx, r.ended) // nobody answers any more
	defer stop()
	cmd := r.carry
	cmd.Stdin = bytes.NewReader(order)
	text, err := answerOf(ctx, r.site, r.where, cmd)
	select {
	case <-r.ended:
		return nil, io.EOF
	default:
		return text, err
	}
}

func (r *remote) end(p testbed.Process) (bool, error) { return true, p.Kill() }

func (r *remote) close() {}

// Listen serves the callers of a socket, one after the other, until the context is done.
func Listen(ctx context.Context, socket string, serve func(net.Conn)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		serve(conn)
		_ = conn.Close()
	}
}

// Exchange takes an order, which is one line, to a socket, and gives the line that answers it.
// The socket's helper may only be starting, for so long.
func Exchange(ctx context.Context, socket string, starting time.Duration, order []byte) ([]byte, error) {
	patient, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	for err != nil {
		select {
		case <-patient.Done():
			return nil, err
		case <-time.After(2 * time.Millisecond):
		}
		conn, err = new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(order); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return line, nil
}

// carry takes an order to a helper, and gives its answer.
func carry(ctx context.Context, socket string, from io.Reader, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	order, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	line, err := Exchange(ctx, socket, Limit, order)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("no answer: %w", os.ErrPermission)
	}
	if err != nil {
		return fmt.Errorf("the helper: %w", err)
	}
	_, err = to.Write(line)
	return err
}
