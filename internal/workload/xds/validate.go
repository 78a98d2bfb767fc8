package xds

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/layer/placeholder"
	"tare/internal/workload"
	"tare/internal/workload/xds/fleet"
)

// Bounds of the load.
const (
	mostSidecars = 100_000
	highestRate  = 10_000 // in 1/s
	longest      = time.Hour
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	workload.CheckNumbers(&errs, "sidecars", c.Sidecars, mostSidecars, "sidecars")
	for i, n := range c.Sidecars {
		for _, clients := range c.Clients {
			if n < clients {
				errs.Add(fmt.Sprintf("sidecars[%d]", i), "%d sidecars are too few for %d clients", n, clients)
			}
		}
	}
	for i, r := range c.Rate {
		if r <= 0 || r > highestRate {
			errs.Add(fmt.Sprintf("rate[%d]", i), "%v is not a rate above 0/s, and at most %d/s", r, highestRate)
		}
	}
	for i, share := range c.Churn {
		if share > 1 {
			errs.Add(fmt.Sprintf("churn[%d]", i), "%v is more than all sidecars", share)
		}
	}
	c.validateServer(&errs)
	errs = append(errs, c.Token.Validate("token")...)
	errs = append(errs, c.Configure.Validate("configure")...)
	if len(c.Configure) > 0 && c.Configure[0] == "" {
		errs.Add("configure", "no program is given: write it as a list, [program, argument…]")
	}
	if c.Objective != nil {
		c.validateObjective(&errs)
	}
	if c.Change != nil {
		errs = append(errs, c.Change.Run.ValidateCommand("change.run")...)
		within(&errs, "change.every", c.Change.Every, 0)
	}
	for _, text := range []struct{ field, text string }{{"node.id", c.Node.ID}, {"node.cluster", c.Node.Cluster}, {"node.metadata", string(c.Node.Metadata)}} {
		if err := placeholder.Check(text.text, fleet.AddressVariable, fleet.IndexVariable); err != nil {
			errs.Add(text.field, "%v", err)
		}
	}
	if c.Node.ID == "" {
		errs.Add("node.id", "the id is empty, and no server serves a sidecar without one")
	}
	if _, err := c.Node.metadata(); err != nil {
		errs.Add("node.metadata", "%v", err)
	}
	within(&errs, "readyTimeout", c.Ready, 100*time.Millisecond)
	within(&errs, "settle", c.Settle, 0)
	within(&errs, "late", c.Late, time.Millisecond)
	return errs
}

// within adds an error if a duration is not from least to longest.
func within(errs *experiment.FieldErrors, field string, d quantity.Duration, least time.Duration) {
	workload.CheckTime(errs, field, d, least, longest)
}

func (c *Config) validateServer(errs *experiment.FieldErrors) {
	switch {
	case c.Server != nil && c.Address != "":
		errs.Add("address", "there is a server too: give only one of them")
	case c.Server != nil:
		*errs = append(*errs, c.Server.Validate("server")...)
	case c.Metrics > 0 && c.Address != "":
		errs.Add("metricsPort", "metrics are read from a server that Tare starts only; on a cluster, the testbed can observe other servers")
	case c.Address == "":
		errs.Add("address", "no server is given: give the address of a running server (address), or its program (server)")
	default:
		host, port, err := net.SplitHostPort(c.Address)
		if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 || host == "" {
			errs.Add("address", "%q is not HOST:PORT", c.Address)
		}
	}
	if c.TLS == nil {
		return
	}
	*errs = append(*errs, c.TLS.Key.Validate("tls.key")...)
	switch {
	case c.TLS.Key != "" && len(c.TLS.Key.References()) == 0:
		errs.Add("tls.key", "a key in the file would be kept with the run: refer to it, $(file:/PATH)")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		errs.Add("tls.cert", "give both the certificate and its key")
	}
}
