package http

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload"
	"tare/workload/http/target"
	"tare/workload/service"
)

// Shared names the server that cells share; nothing stays up for one that is elsewhere.
func (c *Config) Shared() string {
	switch {
	case c.URL != "":
		return ""
	case c.Server != nil:
		return c.Server.Shared()
	}
	return fmt.Sprintf("builtin http server, %d threads, tls %v", c.Threads, c.TLS != nil)
}

// standing is the server at a site.
type standing struct {
	*service.Server
	authority string // that signed its certificate, in PEM; "": not known
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Standing, error) {
	if c.Server != nil {
		server, err := c.Server.SetUp(ctx, s)
		if err != nil {
			return nil, err
		}
		return &standing{Server: server}, nil
	}
	at, err := service.Addresses(s, 0)
	if err != nil {
		return nil, err
	}
	order := target.Config{Listen: fmt.Sprintf(":%d", at[testbed.PodToPod].Port()), Threads: c.Threads}
	up := new(standing)
	if c.TLS != nil {
		if order.Cert, order.Key, err = Certificate(at); err != nil {
			return nil, err
		}
		up.authority = order.Cert
	}
	cmd, err := orders.Command(s.Site, testbed.ServerPod, targetHelper.Name, order)
	if err != nil {
		return nil, err
	}
	cmd.Subject = true
	if up.Server, err = service.Up(ctx, s, at, service.Ready{}, cmd); err != nil {
		return nil, err
	}
	return up, nil
}

// destination is the URL where requests go.
func (c *Config) destination(up *standing) (string, error) {
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
	at, ok := up.Address[c.Paths.One()]
	if !ok {
		return "", fmt.Errorf("the server cannot be reached from %s: its port %d is none that the service forwards", c.Paths.One(), up.Address[testbed.PodToPod].Port())
	}
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	path := c.Path
	if path == "" {
		path = "/"
	}
	return scheme + "://" + net.JoinHostPort(at.Addr().String(), fmt.Sprint(at.Port())) + path, nil
}

// names are the addresses that a certificate must hold.
func names(at map[testbed.Path]netip.AddrPort) []net.IP {
	var list []net.IP
	for _, a := range at {
		list = append(list, a.Addr().AsSlice())
	}
	return list
}
