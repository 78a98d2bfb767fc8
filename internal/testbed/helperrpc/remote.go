package helperrpc

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

	"tare/internal/testbed"
)

// Environment variables with the name of a socket. In a pod, serverVariable makes a process a helper, and
// clientVariable makes it carry one request.
const (
	serverVariable = "TARE_ORDERS_SERVED"
	clientVariable = "TARE_ORDERS_ASKED"
)

// remote is a connection to a helper in a pod, at an abstract socket in the pod's network namespace.
type remote struct {
	site   testbed.Site
	where  testbed.Place
	carry  testbed.Command // command that carries a request to the socket
	socket string
	ended  chan struct{} // closed when the helper ends
}

func startRemote(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) (*Helper, error) {
	r := &remote{site: site, where: where, carry: cmd, socket: "@tare-orders-" + rand.Text(), ended: make(chan struct{})}
	r.carry.Env, r.carry.Subject = append(slices.Clip(cmd.Env), clientVariable+"="+r.socket), false
	cmd.Env = append(slices.Clip(cmd.Env), serverVariable+"="+r.socket)
	process, err := site.Start(context.WithoutCancel(ctx), where, cmd)
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = process.Wait()
		close(r.ended)
	}()
	return &Helper{Process: process, connection: r}, nil
}

func (r *remote) exchange(ctx context.Context, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("no answer within %v", Limit))
	defer cancel()
	ctx, stop := testbed.Until(ctx, r.ended) // the helper may end during the request
	defer stop()
	cmd := r.carry
	cmd.Stdin = bytes.NewReader(request)
	text, err := outputOf(ctx, r.site, r.where, cmd)
	select {
	case <-r.ended:
		return nil, io.EOF
	default:
		return text, err
	}
}

func (r *remote) end(p testbed.Process) (bool, error) { return true, p.Kill() }

func (r *remote) close() {}

// Listen serves the connections to a socket, one after the other, until the context is done.
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

// Exchange sends a one-line request to a socket and returns the response. If it cannot connect, it tries again for the
// duration patience.
func Exchange(ctx context.Context, socket string, patience time.Duration, request []byte) ([]byte, error) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	for err != nil {
		if testbed.Pause(patient, 2*time.Millisecond) != nil {
			return nil, err
		}
		conn, err = new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(request); err != nil {
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

// relay reads a request from a stream, sends it to a helper's socket, and writes the helper's response.
func relay(ctx context.Context, socket string, from io.Reader, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	request, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	line, err := Exchange(ctx, socket, Limit, request)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("no answer: %w", os.ErrPermission)
	}
	if err != nil {
		return fmt.Errorf("the helper: %w", err)
	}
	_, err = to.Write(line)
	return err
}
