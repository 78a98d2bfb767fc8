// Package dnstransport sets the transport of queries of the workload dns, as a layer, so that arms can differ in it:
//
//   - dns-transport: {transport: tls}
//
// Proof, after every trial: the client reports the connections of its queries, UDP or TCP in clear, or the version
// and cipher of TLS. All must have the layer's transport; in arms without the layer none may.
package dnstransport

import (
	"context"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
)

const (
	name     = "dns-transport"
	workload = "dns"
)

// Transport is the transport of queries.
type Transport string

const (
	UDP Transport = "udp"
	TCP Transport = "tcp"
	TLS Transport = "tls" // DNS over TLS (RFC 7858)
)

// Values lists the transports.
func (Transport) Values() []string { return []string{string(UDP), string(TCP), string(TLS)} }

// Clear returns the description of a connection without TLS: "udp in clear".
func (t Transport) Clear() string { return string(t) + " in clear" }

// carried reports whether a connection with this description has the transport.
func (t Transport) carried(connection string) bool {
	if t == TLS {
		return strings.HasPrefix(connection, "TLS ")
	}
	return connection == t.Clear()
}

// Config holds the layer's parameters.
type Config struct {
	Transport factor.Levels[Transport] `yaml:"transport" json:"transport" required:"true" doc:"transport of queries of the workload dns: udp, tcp, or tls (DNS over TLS)"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "transport of queries of the workload dns: UDP, TCP, or TLS",
	Example: "transport: tls",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "queries of the workload dns"),
}

// Declare declares that the layer is for the workload dns, and has proofs in arms with another layer of its kind.
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

// ProveOffAfter shows that no query used the transport. It is skipped if the arm has its own layer of this kind,
// whose proof shows the transport.
func (c *Config) ProveOffAfter(_ context.Context, _ *layer.Session, did layer.Did) ([]layer.Check, error) {
	return c.look(did, false), nil
}

// look checks the connections of a trial.
func (c *Config) look(did layer.Did, on bool) []layer.Check {
	check := layer.Check{Layer: name, Name: "connections of queries", Expected: string(c.Transport.One())}
	return did.CheckConnections(workload, check, on, c.Transport.One().carried)
}
