// Package dnstransport is how queries of the workload dns are sent, as a layer, so that arms
// differ by it:
//
//   - dns-transport: {transport: tls}
//
// Proof, before every trial: queries are sent as those of the trial will be, and the client says by which
// connection they were answered: over UDP or TCP in clear, or by which version and cipher of TLS. Without the
// layer they must go another way.
package dnstransport

import (
	"context"
	"errors"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/testbed"
)

const name = "dns-transport"

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

// Queries are those of a workload at a site (testbed.Held).
type Queries interface {
	// Look sends some as a trial does, and gives by which connection they were answered: Transport.Clear, or
	// "TLS 1.3, TLS_AES_128_GCM_SHA256".
	Look(ctx context.Context) (connection string, err error)
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

// Declare says that the layer is told from another one of its kind.
func (c *Config) Declare() experiment.Declaration { return experiment.Declaration{ProvesBeside: true} }

// Up shows the transport to the workload.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	return &layer.Active{
		Holds:  c.Transport.One(),
		Before: func(ctx context.Context, site testbed.Site) ([]layer.Check, error) { return c.look(ctx, site, true) },
	}, nil
}

// ProveOff shows that queries are sent in another way. What an arm's own layer of this kind sets, its own
// proof shows.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if s.Own != nil {
		return nil, nil
	}
	return c.look(ctx, s.Site, false)
}

var errNone = errors.New("no workload dns sends queries here: the layer does nothing for others")

// look has every workload send queries.
func (c *Config) look(ctx context.Context, site testbed.Site, on bool) ([]layer.Check, error) {
	var checks []layer.Check
	for _, q := range testbed.Held[Queries](site) {
		connection, err := q.Look(ctx)
		if err != nil {
			return checks, err
		}
		check := layer.Check{Layer: name, Name: "connection that queries are answered by", Expected: string(c.Transport.One()), Observed: connection}
		check.OK = c.Transport.One().carried(connection) == on
		if !on {
			check.Expected = "not " + check.Expected
		}
		checks = append(checks, check)
	}
	if len(checks) == 0 {
		return nil, errNone
	}
	return checks, nil
}
