// Package dnstransport is a layer that sets the transport of the workload dns's queries, so that arms can differ in it:
//
//   - dns-transport: {transport: tls}
//
// Proof, after every trial: the client reports the connections that carried its queries: UDP in clear, TCP in clear, or
// TLS with version and cipher. With the layer, every connection must have its transport. In an arm without the layer
// none may have it.
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

// Transport is the protocol that carries DNS queries.
type Transport string

const (
	UDP Transport = "udp"
	TCP Transport = "tcp"
	TLS Transport = "tls" // DNS over TLS (RFC 7858)
)

// Clear returns the description of a connection without TLS: "udp in clear".
func (t Transport) Clear() string { return string(t) + " in clear" }

func (t Transport) carried(connection string) bool {
	if t == TLS {
		return strings.HasPrefix(connection, "TLS ")
	}
	return connection == t.Clear()
}

type config struct {
	Transport factor.Levels[Transport] `yaml:"transport" json:"transport" required:"true" enum:"udp,tcp,tls" doc:"transport of queries of the workload dns: udp, tcp, or tls (DNS over TLS)"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "transport of queries of the workload dns: UDP, TCP, or TLS",
	Example: "transport: tls",
	New:     func() layer.Layer { return &config{} },
	Probe:   testbed.AlwaysWorks(name, "queries of the workload dns"),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Workload: workload, OwnProves: true}
}

func (c *config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	return &layer.Active{
		Holds: c.Transport.One(),
		After: func(_ context.Context, did layer.Did) ([]layer.Check, error) { return c.look(did, true), nil },
	}, nil
}

// ProveOff makes no check: the transport shows only after a trial.
func (c *config) ProveOff(context.Context, *layer.Session) ([]layer.Check, error) { return nil, nil }

// ProveOffAfter shows that no query used the transport. It is not called for an arm with its own dns-transport, whose
// proof shows the transport.
func (c *config) ProveOffAfter(_ context.Context, _ *layer.Session, did layer.Did) ([]layer.Check, error) {
	return c.look(did, false), nil
}

func (c *config) look(did layer.Did, on bool) []layer.Check {
	check := layer.Check{Layer: name, Name: "connections of queries", Expected: string(c.Transport.One())}
	return did.CheckConnections(workload, check, on, c.Transport.One().carried)
}
