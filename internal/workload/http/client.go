package http

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/http/target"
	"tare/internal/workload/service"
)

// The workload's helpers. A client runs for the complete trial. requestHelper passes one request to the client through
// a socket, since Tare cannot write to a running program on a cluster.
var (
	clientHelper  = testbed.Helper{Name: "http-client", Run: helperrpc.Reading("the client's socket", runClient)}
	requestHelper = testbed.Helper{Name: "http-order", Run: helperrpc.Answering("the request", passRequest)}
	targetHelper  = testbed.Helper{Name: "http-target", Run: helperrpc.Reading("the server's configuration", func(ctx context.Context, c target.Config) error {
		return target.Run(ctx, c, os.Stdout)
	})}
)

// Helpers are the workload's helpers.
var Helpers = []testbed.Helper{clientHelper, requestHelper, targetHelper}

// clientInput is the input of two helpers: the client, and the helper that passes a request to the running client.
type clientInput struct {
	Socket  string              `json:"socket"` // name of an abstract socket in the network namespace of the pod
	Request *load.ClientRequest `json:"order,omitempty"`
}

type client struct {
	*service.Running
	site   testbed.Site
	socket string
	ahead  time.Duration // time by which the client's clock is ahead of this machine's clock
}

func startClient(ctx context.Context, site testbed.Site, name string, where testbed.Place, config load.Config) (*client, error) {
	c := &client{site: site, socket: "@tare-http-" + rand.Text()}
	cmd, err := helperrpc.Command(site, where, clientHelper.Name, clientInput{Socket: c.socket})
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
	if c.Running, err = service.Start(ctx, site, service.Program{Name: name, Where: where, Command: cmd}); err != nil {
		return nil, err
	}
	if _, _, err := c.ask(ctx, load.ClientRequest{Open: &config}); err != nil {
		return nil, errors.Join(err, c.Down(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// ask sends a request to the client. It returns the response: the result of a span of load, and the time by the
// client's clock.
func (c *client) ask(ctx context.Context, request load.ClientRequest) (*load.Result, time.Time, error) {
	ctx, stop := testbed.Until(ctx, c.Ended()) // stop waiting if the client has ended
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

// now returns the time by the client's clock.
func (c *client) now(ctx context.Context) (time.Time, error) {
	_, now, err := c.ask(ctx, load.ClientRequest{Clock: true})
	return now, err
}

// runClient is the main function of a client process. It carries out the requests that arrive at its socket, one at a
// time.
func runClient(ctx context.Context, in clientInput) error {
	var client load.Client
	defer client.Close()
	return helperrpc.Listen(ctx, in.Socket, func(conn net.Conn) {
		_ = client.Serve(ctx, conn, conn) // an error means that the process which sends the requests has ended
	})
}

// socketLimit is the time within which a client must listen on its socket.
const socketLimit = 10 * time.Second

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

// minLead is the least time between a request to clients and their common start.
const minLead = 300 * time.Millisecond

// commonStart returns the time, by this machine's clock, at which all clients begin to send: late enough for requests
// to reach every client. For a single client the time is zero: at once.
func (r *Trial) commonStart(ctx context.Context) (time.Time, error) {
	if len(r.clients) == 1 {
		return time.Time{}, nil
	}
	asked := time.Now()
	_, err := service.Each(r.clients, func(_ int, c *client) (time.Time, error) { return c.now(ctx) })
	return time.Now().Add(max(r.lead, minLead, 3*time.Since(asked))), err
}

// warmUp makes all clients send the warm-up. If a client gets its request after the start, warmUp doubles the lead time
// for all later starts, and repeats.
func (r *Trial) warmUp(ctx context.Context) error {
	for {
		_, err := r.send(ctx, r.config.rate(), load.Span{Duration: r.config.Warmup.Std()}, 0)
		invalid, ok := errors.AsType[*workload.Invalid](err)
		if !ok || invalid.Rule != workload.RuleLate || r.lead > 4*minLead {
			return err
		}
		r.lead = 2 * max(r.lead, minLead)
	}
}

// clock is the difference between a client's clock and this machine's clock.
type clock struct {
	Client string        `json:"client"`
	Place  testbed.Place `json:"place"`
	Ahead  time.Duration `json:"ahead"`  // time by which the client's clock is ahead of this machine's
	Within time.Duration `json:"within"` // largest error of Ahead: half of the time until the response came
	Used   bool          `json:"used"`   // true: Ahead is used; false: Ahead is smaller than its error, and is ignored
}

// readClocks measures how far the clocks of several clients on other machines are ahead of this machine's. A difference
// within its error counts as 0.
func (r *Trial) readClocks(ctx context.Context) error {
	remote, ok := testbed.As[testbed.Remote](r.t.Site)
	if !ok || len(r.clients) == 1 {
		return nil
	}
	all, err := service.Each(r.clients, func(_ int, c *client) (k clock, err error) {
		if remote.Self(c.Where) != "" {
			k = clock{Client: c.Name, Place: c.Where}
			k.Ahead, k.Within, err = service.ClockAhead(func() (time.Time, error) { return c.now(ctx) })
			k.Used = k.Ahead.Abs() > k.Within
		}
		return k, err
	})
	if err != nil {
		return err
	}
	for i, c := range all {
		if c.Used {
			r.clients[i].ahead = c.Ahead
		}
	}
	return workload.KeepIndented(r.t.Raw, "clocks.json", slices.DeleteFunc(all, func(c clock) bool { return c.Client == "" }))
}

// Shared returns a name for the server: cells with equal names share one server. "": the load goes to a URL, so Tare
// starts no server.
func (c *Config) Shared() string {
	switch {
	case c.URL != "":
		return ""
	case c.Server != nil:
		return c.Server.Shared()
	}
	return fmt.Sprintf("builtin http server, %d threads, tls %v", c.Threads, c.TLS != nil)
}

type server struct {
	*service.Server
	authority string // certificate that clients trust, in PEM; "": clients trust the certificates in the file's tls.ca, or the system's
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	if c.Server != nil {
		up, err := c.Server.SetUp(ctx, s)
		if err != nil {
			return nil, err
		}
		return &server{Server: up}, nil
	}
	at, err := service.Addresses(s, 0)
	if err != nil {
		return nil, err
	}
	config := target.Config{Listen: fmt.Sprintf(":%d", at[testbed.PodToPod].Port()), Threads: c.Threads}
	up := new(server)
	if c.TLS != nil {
		if config.Cert, config.Key, err = service.SelfSigned(at); err != nil {
			return nil, err
		}
		up.authority = config.Cert
	}
	cmd, err := helperrpc.Command(s.Site, testbed.ServerPod, targetHelper.Name, config)
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
	if up.Server, err = service.Up(ctx, s, at, service.Ready{}, cmd); err != nil {
		return nil, err
	}
	return up, nil
}

func (c *Config) destination(up *server) (string, error) {
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil {
			return "", err
		}
		if c.Path != "" {
			p, err := url.Parse(c.Path)
			if err != nil {
				return "", fmt.Errorf("path: %w", err)
			}
			u.Path, u.RawPath, u.RawQuery = p.Path, p.RawPath, p.RawQuery
		}
		return u.String(), nil
	}
	at, err := up.Address.On(c.Paths.One())
	if err != nil {
		return "", err
	}
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + at.String() + cmp.Or(c.Path, "/"), nil
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Rate) > 0 && len(c.Workers) > 0 {
		errs.Add("workers", "there is rate too: a loop is open (rate) or closed (workers)")
	}
	if len(c.Workers) > 0 && len(c.Workers)*len(c.Connections)*len(c.Streams)*len(c.Protocol) == 1 && c.Objective == nil && c.workersFit() != "" {
		errs.Add("workers", "%s", c.workersFit())
	}
	if c.Objective != nil {
		c.Objective.Validate(&errs, c.Workers)
		if len(c.Quantiles) > 0 {
			errs.Add("quantiles", "a search measures the capacity: limit a quantile by objective")
		}
		if len(c.Judged) > 0 {
			errs.Add("headline", "a search measures the capacity, which is always a headline: leave headline out")
		}
	}
	c.validateServer(&errs)
	c.Quantiles.Check(&errs, len(c.Workers) > 0)
	load.CheckHeadline(&errs, c.Judged, []string{"latency-mean", "rate"}, c.Rate, c.measured, "requests")
	return errs
}

// workersFit returns an error message if there are more workers than the connections can carry requests at the same
// time. Otherwise it returns "".
func (c *Config) workersFit() string {
	streams := c.Streams[0]
	if c.Protocol[0] == load.HTTP1 {
		streams = 1
	}
	if room := c.Connections[0] * streams; c.Workers[0] > room {
		return fmt.Sprintf("%d workers, but only %d requests can be under way on %d connections: give more connections", c.Workers[0], room, c.Connections[0])
	}
	return ""
}

func (c *Config) validateServer(errs *experiment.FieldErrors) {
	if c.Server != nil {
		*errs = append(*errs, c.Server.Validate("server")...)
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		switch {
		case c.Server != nil:
			errs.Add("url", "there is a server too: give only one of them")
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			errs.Add("url", "%q is not http://HOST[:PORT][/PATH] or https", c.URL)
		case u.User != nil:
			errs.Add("url", "it holds a user, which would be recorded with the run")
		case (u.Scheme == "https") != (c.TLS != nil) && c.TLS != nil:
			errs.Add("tls", "the url is not https")
		}
	}
	if !c.builtin() && len(c.Answer) > 0 {
		errs.Add("answer", "only the builtin server responds with a size that is asked for: leave out answer, or server and url")
	}
	if c.Path != "" && c.Path[0] != '/' {
		errs.Add("path", "%q does not begin with /", c.Path)
	}
	if c.TLS != nil && c.TLS.CA != "" && c.builtin() {
		errs.Add("tls.ca", "the builtin server has a certificate that Tare makes: leave tls.ca out")
	}
}
