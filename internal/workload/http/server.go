package http

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/http/target"
	"tare/internal/workload/service"
)

// Shared names the server that cells share; "": no server stays up, since the load goes to a URL.
func (c *Config) Shared() string {
	switch {
	case c.URL != "":
		return ""
	case c.Server != nil:
		return c.Server.Shared()
	}
	return fmt.Sprintf("builtin http server, %d threads, tls %v", c.Threads, c.TLS != nil)
}

// server is the server at a site.
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

// destination returns the URL of requests.
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

// SelfSigned makes a self-signed certificate and its key for a server, in PEM.
func SelfSigned(at service.ByPath) (cert, key string, err error) { return service.SelfSigned(at) }
