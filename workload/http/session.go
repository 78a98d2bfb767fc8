package http

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload/http/load"
	"tare/workload/http/target"
	"tare/workload/service"
)

// The workload's own processes. A client stays up over a trial, and its connections with it. On
// a cluster nothing can be written to a program that runs, so that orders come through a socket
// of the pod, each from a process of its own that waits for the answer.
var (
	clientHelper = testbed.Helper{Name: "http-client", Run: orders.Reading("the socket of orders", beClient)}
	orderHelper  = testbed.Helper{Name: "http-order", Run: orders.Answering("the order", giveOrder)}
	targetHelper = testbed.Helper{Name: "http-target", Run: orders.Reading("the server's configuration", beTarget)}
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

// openSession starts a client in a client's pod and opens its session.
func openSession(ctx context.Context, site testbed.Site, name string, where testbed.Place, config load.Config, threads int) (*session, error) {
	s := &session{site: site, socket: "@tare-http-" + rand.Text()}
	cmd, err := orders.Command(site, where, clientHelper.Name, calling{Socket: s.socket})
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
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
func (s *session) ask(ctx context.Context, order json.RawMessage) (answer json.RawMessage, err error) {
	ctx, stop := testbed.Until(ctx, s.Ended()) // a client that has ended answers nothing
	defer stop()
	err = orders.Once(ctx, s.site, s.Where, orderHelper.Name, calling{s.socket, order}, &answer)
	if ended := s.Check(ctx); err != nil && ended != nil {
		return nil, ended
	}
	return answer, err
}

// beClient is a client: it obeys the orders that come through its socket, one at a time.
func beClient(ctx context.Context, c calling) error {
	var client load.Client
	defer client.Close()
	return orders.Listen(ctx, c.Socket, func(conn net.Conn) {
		_ = client.Serve(ctx, conn, conn) // that nobody waits for the answer any more is no error
	})
}

// connectLimit is how long a client may take until its socket is there.
const connectLimit = 10 * time.Second

// giveOrder passes an order to a client, and gives the answer.
func giveOrder(ctx context.Context, c calling) (json.RawMessage, error) {
	answer, err := orders.Exchange(ctx, c.Socket, connectLimit, append(c.Order, '\n'))
	if err != nil {
		return nil, fmt.Errorf("the client: %w", err)
	}
	return answer, nil
}

// beTarget is the builtin server.
func beTarget(ctx context.Context, c target.Config) error { return target.Run(ctx, c, os.Stdout) }
