// Package dnstransport is how queries of the workload dns are sent, as a layer, so that arms
// differ by it:
//
//   - dns-transport: {transport: tls}
//
// Proof, after every trial: the client says by which connections its queries went: over UDP or TCP in clear, or by which
// version and cipher of TLS. All must be as the layer has them; in arms without it none may.
package dnstransport

import (
	"context"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/testbed"
)

const (
	name     = "dns-transport"
	workload = "dns"
)

// Transport is how queries are sent.
type Transport string

// The transports.
const (
	UDP Transport = "udp"
	TCP Transport = "tcp"
	TLS Transport = "tls" // DNS over TLS (RFC 7858)
)

// Values lists the transports.
func (Transport) Values() []string { return []string{string(UDP), string(TCP), string(TLS)} }

// Clear is what is said of a connection without TLS: "udp in clear".
func (t Transport) Clear() string { return string(t) + " in clear" }

// carried says whether a connection of that description is of the transport.
func (t Transport) carried(connection string) bool {
	if t == TLS {
		return strings.HasPrefix(connection, "TLS ")
	}
	return connection == t.Clear()
}

// Config is the parameters of the layer.
type Config struct {
	Transport factor.Levels[Transport] `yaml:"transport" json:"transport" required:"true" doc:"how queries of the workload dns are sent: udp, tcp, or tls (DNS over TLS)"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "how queries of the workload dns are sent: over UDP, TCP, or TLS",
	Example: "transport: tls",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "queries of the workload dns"),
}

// Declare says whose queries the layer is about, and that it is told from another one of its kind.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Workload: workload, OwnProves: true}
}

// Up shows the transport to the workload.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	return &layer.Active{
		Holds: c.Transport.One(),
		After: func(_ context.Context, did layer.Did) ([]layer.Check, error) { return c.look(did, true), nil },
	}, nil
}

// ProveOff has nothing to show before a trial.
func (c *Config) ProveOff(context.Context, *layer.Session) ([]layer.Check, error) { return nil, nil }

// ProveOffAfter shows that queries went in another way. An arm's own layer of this kind shows by its own
// proof which one.
func (c *Config) ProveOffAfter(_ context.Context, _ *layer.Session, did layer.Did) ([]layer.Check, error) {
	return c.look(did, false), nil
}

// look looks at the connections of a trial.
func (c *Config) look(did layer.Did, on bool) []layer.Check {
	check := layer.Check{Layer: name, Name: "connections that queries went by", Expected: string(c.Transport.One())}
	return did.WentBy(workload, check, on, c.Transport.One().carried)
}
