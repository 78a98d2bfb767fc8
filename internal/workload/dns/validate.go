package dns

import (
	"fmt"
	"net"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer/dnstransport"
	"tare/internal/workload/dns/query"
	"tare/internal/workload/http/load"
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	for i, ttl := range c.TTL {
		if ttl.Std()%time.Second != 0 {
			errs.Add(fmt.Sprintf("ttl[%d]", i), "%v is not a whole number of seconds, the unit in which DNS counts", ttl)
		}
	}
	if c.Server != nil {
		errs = append(errs, c.Server.Validate("server")...)
	}
	if c.proxied() {
		c.validateProxies(&errs)
	} else {
		c.validateLoad(&errs)
	}
	return errs
}

// validateProxies checks a configuration with proxies.
func (c *Config) validateProxies(errs *experiment.FieldErrors) {
	for _, f := range []struct {
		field string
		given bool
	}{{"rate", len(c.Rate) > 0}, {"names", len(c.Names) > 0}, {"server", c.Server != nil}, {"address", c.Address != ""}, {"tls", c.TLS != nil}, {"headline", len(c.Judged) > 0}} {
		if f.given {
			errs.Add(f.field, "it is for queries at a rate, but proxies send their own queries to the builtin server: leave it out, or proxies")
		}
	}
	periods, field := c.TTL, "ttl"
	if len(c.Refresh) > 0 {
		periods, field = c.Refresh, "refresh"
	}
	for i, period := range periods {
		if period > 0 && !wholePeriods(c.Duration, period) {
			errs.Add("duration", "%v is neither a whole number of %v (%s[%d]) nor three of them: the count would depend on when the measured time begins", c.Duration, period, field, i)
		}
	}
}

// validateLoad checks a configuration with a rate.
func (c *Config) validateLoad(errs *experiment.FieldErrors) {
	if len(c.Refresh) > 0 {
		errs.Add("refresh", "only proxies use it: give proxies, or leave it out")
	}
	if slices.Contains(c.Resolution, none) {
		errs.Add("resolution", "only proxies use it: give proxies, or leave it out")
	}
	if c.Server != nil && c.Address != "" {
		errs.Add("address", "there is a server too: give only one of them")
	}
	if _, port, err := net.SplitHostPort(c.Address); c.Address != "" && (err != nil || port == "") {
		errs.Add("address", "%q is not HOST:PORT", c.Address)
	}
	switch {
	case c.builtin() && len(c.Names) > 0:
		errs.Add("names", "the builtin server has names of its own: leave them out, or give a server or an address")
	case !c.builtin() && len(c.Names) == 0:
		errs.Add("names", "give at least one name that the server knows")
	}
	for i, name := range c.Names {
		if err := query.CheckName(name); err != nil {
			errs.Add(fmt.Sprintf("names[%d]", i), "%v", err)
		}
	}
	if c.TLS != nil && (c.builtin() || !slices.Contains(c.Transport, dnstransport.TLS)) {
		errs.Add("tls", "it is for a server that is not Tare's own, with transport: tls")
	}
	load.CheckHeadline(errs, c.Judged, []string{"latency-mean"}, c.Rate, c.Duration, "queries")
}
