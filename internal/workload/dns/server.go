package dns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/layer/dnstransport"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/dns/zone"
	"tare/internal/workload/service"
)

var (
	serverHelper = testbed.Helper{Name: "dns-server", Run: runServer}
	clientHelper = testbed.Helper{Name: "dns-client", Run: runClient}
)

// Helpers are the workload's helpers.
var Helpers = []testbed.Helper{serverHelper, clientHelper}

// serverRequest is one request to the builtin server. Exactly one field is set.
type serverRequest struct {
	Listen *zone.Config `json:"listen,omitempty"` // starts the server; the response comes once the server listens
	Count  *string      `json:"count,omitempty"`  // asks for the zone.Counts of this label
}

// runServer is the builtin server, which runs as a helper. It carries out requests from standard input until the
// input ends.
func runServer(ctx context.Context) error {
	var listening *zone.Server
	defer func() {
		if listening != nil {
			_ = listening.Close()
		}
	}()
	return helperrpc.Main(ctx, func(ctx context.Context, r serverRequest) (any, error) {
		switch {
		case r.Listen != nil && listening == nil:
			var err error
			listening, err = zone.Listen(ctx, *r.Listen)
			return nil, err
		case r.Count != nil && listening != nil:
			return listening.Counts(*r.Count), nil
		}
		return nil, errEarly
	})
}

var errEarly = errors.New("a request without content, or too early")

// Shared returns a name for the server: cells with equal names share one server.
func (c *Config) Shared() string {
	switch {
	case c.proxied():
		return "builtin dns server of proxies"
	case c.Address != "":
		return "dns server at " + c.Address
	case c.Server != nil:
		return "dns " + c.Server.Shared()
	case c.Transport.One() == dnstransport.TLS:
		return "builtin dns server with TLS"
	}
	return "builtin dns server"
}

// transport returns the transport of queries at a site. A layer at the site may replace the workload's
// transport.
func (c *Config) transport(site testbed.Site) dnstransport.Transport {
	t := c.Transport.One()
	for _, set := range testbed.Held[dnstransport.Transport](site) {
		t = set
	}
	return t
}

// server is the server at a site, with the proxies of the trial under way.
type server struct {
	program   *service.Server   // the user's program
	builtin   *helperrpc.Helper // Tare's own server; nil if the server is a program or an existing server
	address   service.ByPath
	authority string // certificate of the builtin server, in PEM; "" without TLS
	trials    int    // number of trials at this site so far
	proxies   []*proxy
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	up := new(server)
	if c.Address != "" {
		return up, nil
	}
	if c.Server != nil {
		program, err := c.Server.SetUp(ctx, s)
		if err != nil {
			return nil, err
		}
		up.program, up.address = program, program.Address
		return up, nil
	}
	at, err := service.Addresses(s, 0)
	if err != nil {
		return nil, err
	}
	up.address = at
	listen := zone.Config{Listen: fmt.Sprintf(":%d", at[testbed.PodToPod].Port())}
	if !c.proxied() && c.transport(s.Site) == dnstransport.TLS {
		if listen.Cert, listen.Key, err = service.SelfSigned(at); err != nil {
			return nil, err
		}
		up.authority = listen.Cert
	}
	if up.builtin, err = helperrpc.StartSubject(ctx, s.Site, testbed.ServerPod, serverHelper.Name); err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	if err := up.builtin.Ask(ctx, serverRequest{Listen: &listen}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("the server: %w", err), up.builtin.Close(context.WithoutCancel(ctx)))
	}
	return up, nil
}

func (up *server) count(ctx context.Context, label string) (c zone.Counts, err error) {
	if err = up.builtin.Ask(ctx, serverRequest{Count: &label}, &c); err != nil {
		err = fmt.Errorf("the server: %w", err)
	}
	return c, err
}

// Check checks that the server is up.
func (up *server) Check(ctx context.Context) error {
	switch {
	case up.program != nil:
		return up.program.Check(ctx)
	case up.builtin != nil:
		_, err := up.count(ctx, "")
		return err
	}
	return nil
}

// CPU implements workload.Running. It returns the CPU time used so far by the server and by the running proxies.
func (up *server) CPU() (sum time.Duration, err error) {
	switch {
	case up.program != nil:
		return up.program.CPU()
	case up.builtin != nil:
		sum, err = up.builtin.CPU()
	}
	for _, p := range up.proxies {
		if p.Check(context.Background()) == nil { // counts only running proxies: a parent's CPU time includes that of ended ones
			cpu, e := p.CPU()
			sum, err = sum+cpu, errors.Join(err, e)
		}
	}
	return sum, err
}

// Down ends the server.
func (up *server) Down(ctx context.Context) error {
	if up.program != nil {
		return up.program.Down(ctx)
	}
	if up.builtin == nil {
		return nil
	}
	err := errors.Join(up.endProxies(), up.builtin.Close(ctx))
	up.builtin = nil
	return err
}

func (up *server) label() string {
	up.trials++
	return fmt.Sprintf("t%d", up.trials)
}
