package http

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
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
	if len(c.Workers) > 0 && len(c.Workers)*len(c.Connections)*len(c.Streams)*len(c.Protocol) == 1 && c.workersFit() != "" {
		errs.Add("workers", "%s", c.workersFit())
	}
	if c.Objective != nil {
		c.Objective.validate(&errs)
		if len(c.Workers) > 0 {
			errs.Add("objective", "a closed loop has no rate to search: leave workers out")
		}
		if len(c.Judged) > 0 {
			errs.Add("headline", "a search measures the capacity, which is always a headline: leave headline out")
		}
	}
	c.validateServer(&errs)
	load.CheckHeadline(&errs, c.Judged, []string{"latency-mean", "rate"}, c.Rate, c.Duration, "requests")
	return errs
}

// workersFit returns the reason why the workers do not fit on the connections; "": they fit.
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
