package dns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/layer/dnstransport"
	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload"
	"tare/workload/dns/zone"
	"tare/workload/service"
)

// The workload's own processes.
var (
	serverHelper = testbed.Helper{Name: "dns-server", Run: runServer}
	clientHelper = testbed.Helper{Name: "dns-client", Run: runClient}
)

// Helpers are the workload's own processes.
var Helpers = []testbed.Helper{serverHelper, clientHelper}

// serverRequest is one line to the builtin server; exactly one member is set.
type serverRequest struct {
	Listen *zone.Config `json:"listen,omitempty"` // answered by nothing, once it does
	Count  *string      `json:"count,omitempty"`  // a label, answered by its zone.Counts
}

// runServer is the builtin server. It serves orders from standard input until that ends.
func runServer(ctx context.Context) error {
	var listening *zone.Server
	defer func() {
		if listening != nil {
			_ = listening.Close()
		}
	}()
	return orders.Main(ctx, func(ctx context.Context, o serverRequest) (any, error) {
		switch {
		case o.Listen != nil && listening == nil:
			var err error
			listening, err = zone.Listen(ctx, *o.Listen)
			return nil, err
		case o.Count != nil && listening != nil:
			return listening.Counts(*o.Count), nil
		}
		return nil, errEarly
	})
}

// errEarly is the error of a request that has no content or comes too early.
var errEarly = errors.New("a request without content, or too early")

// Shared names the server that cells share. Tare's own has a certificate for TLS alone.
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

// transport is how queries are sent at a site: as a layer there says, if one does.
func (c *Config) transport(site testbed.Site) dnstransport.Transport {
	t := c.Transport.One()
	for _, set := range testbed.Held[dnstransport.Transport](site) {
		t = set
	}
	return t
}

// server is the server at a site, and the proxies of the trial under way.
type server struct {
	program   *service.Server // of the file
	builtin   *orders.Helper  // neither: the server is elsewhere
	address   service.ByPath
	authority string // that signed its certificate, in PEM; "": not known
	trials    int    // so far
	proxies   []*proxy
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Standing, error) {
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
	if up.builtin, err = orders.StartSubject(ctx, s.Site, testbed.ServerPod, serverHelper.Name); err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	if err := up.builtin.Ask(ctx, serverRequest{Listen: &listen}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("the server: %w", err), up.builtin.Close(context.WithoutCancel(ctx)))
	}
	return up, nil
}

// count reads the server's counts of a label.
func (up *server) count(ctx context.Context, label string) (c zone.Counts, err error) {
	if err = up.builtin.Ask(ctx, serverRequest{Count: &label}, &c); err != nil {
		err = fmt.Errorf("the server: %w", err)
	}
	return c, err
}

// Check looks whether the server is there.
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

// CPU is what the server has used so far, and the proxies that are up, for workload.Running.
func (up *server) CPU() (sum time.Duration, err error) {
	switch {
	case up.program != nil:
		return up.program.CPU()
	case up.builtin != nil:
		sum, err = up.builtin.CPU()
	}
	for _, p := range up.proxies {
		if p.Check(context.Background()) == nil { // else it is among the children
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

// label is a new one for a trial.
func (up *server) label() string {
	up.trials++
	return fmt.Sprintf("t%d", up.trials)
}
