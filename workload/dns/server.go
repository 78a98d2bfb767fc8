package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/layer/dnstransport"
	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload"
	"tare/workload/dns/zone"
	"tare/workload/http"
	"tare/workload/service"
)

// The workload's own processes.
var (
	serverHelper = testbed.Helper{Name: "dns-server", Run: beServer}
	clientHelper = testbed.Helper{Name: "dns-client", Run: beClient}
)

// Helpers are the workload's own processes.
var Helpers = []testbed.Helper{serverHelper, clientHelper}

// serverOrder is one line to the builtin server; exactly one member is set.
type serverOrder struct {
	Listen *zone.Config `json:"listen,omitempty"` // answered by nothing, once it does
	Count  *string      `json:"count,omitempty"`  // a label, answered by its zone.Counts
}

// beServer is the builtin server. It serves orders from standard input until that ends.
func beServer(ctx context.Context) error {
	var server *zone.Server
	defer func() {
		if server != nil {
			_ = server.Close()
		}
	}()
	return orders.Main(ctx, func(ctx context.Context, o serverOrder) (any, error) {
		switch {
		case o.Listen != nil && server == nil:
			var err error
			server, err = zone.Listen(ctx, *o.Listen)
			return nil, err
		case o.Count != nil && server != nil:
			return server.Counts(*o.Count), nil
		}
		return nil, errors.New("an order that says nothing, or comes too early")
	})
}

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

// standing is the server at a site, and the proxies of the trial under way.
type standing struct {
	program   *service.Server // of the file
	builtin   *orders.Helper  // neither: the server is elsewhere
	address   map[testbed.Path]netip.AddrPort
	authority string // that signed its certificate, in PEM; "": not known
	trials    int    // so far
	proxies   []*proxy
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Standing, error) {
	up := new(standing)
	if c.Address != "" {
		return up, nil
	}
	if c.Server != nil {
		server, err := c.Server.SetUp(ctx, s)
		if err != nil {
			return nil, err
		}
		up.program, up.address = server, server.Address
		return up, nil
	}
	at, err := service.Addresses(s, 0)
	if err != nil {
		return nil, err
	}
	up.address = at
	listen := zone.Config{Listen: fmt.Sprintf(":%d", at[testbed.PodToPod].Port())}
	if !c.proxied() && c.transport(s.Site) == dnstransport.TLS {
		if listen.Cert, listen.Key, err = http.Certificate(at); err != nil {
			return nil, err
		}
		up.authority = listen.Cert
	}
	if up.builtin, err = orders.StartSubject(ctx, s.Site, testbed.ServerPod, serverHelper.Name); err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	if err := up.builtin.Ask(ctx, serverOrder{Listen: &listen}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("the server: %w", err), up.builtin.Close(context.WithoutCancel(ctx)))
	}
	return up, nil
}

// count reads the server's counts of a label.
func (up *standing) count(ctx context.Context, label string) (c zone.Counts, err error) {
	if err = up.builtin.Ask(ctx, serverOrder{Count: &label}, &c); err != nil {
		err = fmt.Errorf("the server: %w", err)
	}
	return c, err
}

// Check looks whether the server is there.
func (up *standing) Check(ctx context.Context) error {
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
func (up *standing) CPU() (sum time.Duration, err error) {
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
func (up *standing) Down(ctx context.Context) error {
	if up.program != nil {
		return up.program.Down(ctx)
	}
	if up.builtin == nil {
		return nil
	}
	err := errors.Join(up.end(), up.builtin.Close(ctx))
	up.builtin = nil
	return err
}

// label is a new one for a trial.
func (up *standing) label() string {
	up.trials++
	return fmt.Sprintf("t%d", up.trials)
}

// at is where the server is reached on the path of the trial.
func (c *Config) at(up *standing) (netip.AddrPort, error) {
	at, ok := up.address[c.Paths.One()]
	if !ok {
		return at, fmt.Errorf("the server cannot be reached from %s: its port %d is none that the service forwards", c.Paths.One(), up.address[testbed.PodToPod].Port())
	}
	return at, nil
}

// account begins an account of what a process of the workload's own uses. The function that it gives ends it.
func account(h *orders.Helper) (func() (testbed.Usage, error), error) {
	before, err := service.Begin(h)
	return func() (testbed.Usage, error) { return before.Since(h) }, err
}
