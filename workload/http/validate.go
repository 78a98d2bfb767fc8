package http

import (
	"fmt"
	"net/url"
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/workload/http/load"
)

// Bounds of the load.
const (
	mostClients = 256
	longest     = 24 * time.Hour
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	within := func(field string, levels factor.Levels[int], least, most int) {
		for i, n := range levels {
			if n < least || n > most {
				errs.Add(fmt.Sprintf("%s[%d]", field, i), "%d is not a number from %d to %d", n, least, most)
			}
		}
	}
	within("connections", c.Connections, 1, load.MostConnections)
	within("streams", c.Streams, 1, load.MostStreams)
	within("requestsPerConnection", c.PerConn, 0, 1<<30)
	within("clients", c.Clients, 1, mostClients)
	within("workers", c.Workers, 1, load.MostConnections)
	for i, r := range c.Rate {
		if r <= 0 || r > load.MostRate {
			errs.Add(fmt.Sprintf("rate[%d]", i), "%v is not a rate above 0/s, and at most %d/s", r, load.MostRate)
		}
	}
	if len(c.Rate) > 0 && len(c.Workers) > 0 {
		errs.Add("workers", "there is rate too: a loop is open (rate) or closed (workers)")
	}
	if len(c.Workers) > 0 && len(c.Workers)*len(c.Connections)*len(c.Streams)*len(c.Protocol) == 1 && c.workersFit() != "" {
		errs.Add("workers", "%s", c.workersFit())
	}
	sizes := func(field string, levels factor.Levels[quantity.Size]) {
		for i, size := range levels {
			if size < 0 || size > load.MostPayload {
				errs.Add(fmt.Sprintf("%s[%d]", field, i), "%v is not a size from 0B to 64MiB", size)
			}
		}
	}
	sizes("payload", c.Payload)
	sizes("answer", c.Answer)
	if c.Threads < 0 || c.Threads > 1024 {
		errs.Add("threads", "%d is not a number of CPUs from 0 to 1024", c.Threads)
	}
	if c.Duration.Std() < 10*time.Millisecond || c.Duration.Std() > longest {
		errs.Add("duration", "%v is not a time from 10ms to 24h", c.Duration)
	}
	if c.Warmup < 0 || c.Warmup.Std() > longest {
		errs.Add("warmup", "%v is not a time from 0s to 24h", c.Warmup)
	}
	if c.Timeout.Std() < time.Millisecond || c.Timeout.Std() > time.Minute {
		errs.Add("timeout", "%v is not a time from 1ms to 1m, which is as much as histograms hold", c.Timeout)
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

// workersFit says why the workers do not fit on the connections; "": they fit.
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
			errs.Add("url", "a server is given too: give only one of them")
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
