package orders

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"tare/safetext"
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
	go func() { // nobody answers any more
		select {
		case <-r.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	var out, why bytes.Buffer
	cmd := r.carry
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), &out, &why
	process, err := r.site.Start(ctx, r.where, cmd)
	if err != nil {
		return nil, err
	}
	_, err = process.Wait()
	select {
	case <-r.ended:
		return nil, io.EOF
	default:
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, safetext.Line(why.String()))
	}
	return out.Bytes(), nil
}

func (r *remote) end(p testbed.Process) (bool, error) { return true, p.Kill() }

func (r *remote) close() {}

// serveSocket obeys the orders of one caller after the other.
func serveSocket(ctx context.Context, socket string, obey func(context.Context, []byte) (any, error)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		if ownUser(conn) {
			_ = Serve(ctx, conn, conn, obey) // a caller that is gone needs no answer
		}
		_ = conn.Close()
	}
}

// carry takes an order to a helper that may only be starting, and gives its answer.
func carry(ctx context.Context, socket string, from io.Reader, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	for err != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the helper: %w", err)
		case <-time.After(2 * time.Millisecond):
		}
		conn, err = new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := io.Copy(conn, from); err != nil {
		return err
	}
	if half, ok := conn.(*net.UnixConn); ok {
		_ = half.CloseWrite()
	}
	n, err := io.Copy(to, conn)
	if err == nil && n == 0 {
		return fmt.Errorf("the helper gives no answer: %w", os.ErrPermission)
	}
	return err
}
