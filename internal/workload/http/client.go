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

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload/http/load"
	"tare/internal/workload/http/target"
	"tare/internal/workload/service"
)

// The workload's helpers. A client keeps its connections for a whole trial. On a cluster Tare cannot write to
// a running program. For each request to a client, Tare therefore starts another process in the client's pod.
// This process passes the request to the client through a socket, and waits for the response.
var (
	clientHelper  = testbed.Helper{Name: "http-client", Run: helperrpc.Reading("the client's socket", runClient)}
	requestHelper = testbed.Helper{Name: "http-order", Run: helperrpc.Answering("the request", passRequest)}
	targetHelper  = testbed.Helper{Name: "http-target", Run: helperrpc.Reading("the server's configuration", runTarget)}
)

// Helpers are the workload's helpers.
var Helpers = []testbed.Helper{clientHelper, requestHelper, targetHelper}

// clientInput is the input of a client's process, and of the process that passes a request to it.
type clientInput struct {
	Socket  string              `json:"socket"` // name of an abstract socket in the network namespace of the pod
	Request *load.ClientRequest `json:"order,omitempty"`
}

// client is one client of a trial.
type client struct {
	*service.Running
	site   testbed.Site
	socket string
	ahead  time.Duration // time by which the client's clock is ahead of this machine's clock
}

// startClient starts a client in a client's pod and opens its session.
func startClient(ctx context.Context, site testbed.Site, name string, where testbed.Place, config load.Config, threads int) (*client, error) {
	c := &client{site: site, socket: "@tare-http-" + rand.Text()}
	cmd, err := helperrpc.Command(site, where, clientHelper.Name, clientInput{Socket: c.socket})
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
	if c.Running, err = service.Start(ctx, site, service.Program{Name: name, Where: where, Command: cmd}); err != nil {
		return nil, err
	}
	if _, _, err := c.ask(ctx, load.ClientRequest{Open: &load.OpenSession{Config: config, Threads: threads}}); err != nil {
		return nil, errors.Join(err, c.Down(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// ask sends a request to the client. It returns the result of a span, and the time by the client's clock.
func (c *client) ask(ctx context.Context, request load.ClientRequest) (*load.Result, time.Time, error) {
	ctx, stop := testbed.Until(ctx, c.Ended()) // a client that has ended gives no response
	defer stop()
	var response json.RawMessage
	err := helperrpc.Once(ctx, c.site, c.Where, requestHelper.Name, clientInput{c.socket, &request}, &response)
	if ended := c.Check(ctx); err != nil && ended != nil {
		err = ended
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	return load.ReadResponse(response)
}

// runClient is a client. It carries out the requests that come through its socket, one at a time.
func runClient(ctx context.Context, in clientInput) error {
	var client load.Client
	defer client.Close()
	return helperrpc.Listen(ctx, in.Socket, func(conn net.Conn) {
		_ = client.Serve(ctx, conn, conn) // fails if nobody waits for the response any more, which is no error
	})
}

// socketLimit is the time within which a client must listen on its socket.
const socketLimit = 10 * time.Second

// passRequest passes a request to a client and returns the response.
func passRequest(ctx context.Context, in clientInput) (json.RawMessage, error) {
	text, err := json.Marshal(in.Request)
	if err != nil {
		return nil, err
	}
	response, err := helperrpc.Exchange(ctx, in.Socket, socketLimit, append(text, '\n'))
	if err != nil {
		return nil, fmt.Errorf("the client: %w", err)
	}
	return response, nil
}

// runTarget is the builtin server.
func runTarget(ctx context.Context, c target.Config) error { return target.Run(ctx, c, os.Stdout) }
