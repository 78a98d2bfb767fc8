// Package xdstransport is how the simulated sidecars of the workload xds speak to their server, as a layer, so that
// arms differ by it:
//
//   - xds-transport: {security: tls}
//   - xds-transport: {protocol: sotw}
//
// Proof, before every trial: a sidecar connects as those of the trial will, and says by which connection it
// became ready: the protocol, and in clear or by which version and cipher of TLS. Without the layer it must be another.
package xdstransport

import (
	"context"
	"errors"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/testbed"
)

const name = "xds-transport"

// Protocol is a variant of the aggregated discovery service (ADS).
type Protocol string

// The variants.
const (
	Delta Protocol = "delta" // resources that changed
	SotW  Protocol = "sotw"  // the state of the world: all resources each time
)

// Values lists the variants.
func (Protocol) Values() []string { return []string{string(Delta), string(SotW)} }

// Security is whether connections are encrypted.
type Security string

// The ways.
const (
	Plaintext Security = "plaintext"
	TLS       Security = "tls"
)

// Values lists the ways.
func (Security) Values() []string { return []string{string(Plaintext), string(TLS)} }

// Connection is how a sidecar became ready.
type Connection struct {
	Protocol Protocol
	TLS      string // version and cipher: "TLS 1.3, TLS_AES_128_GCM_SHA256"; "": in clear
}

// String gives it as the record has it: "delta, in clear".
func (c Connection) String() string {
	if c.TLS == "" {
		return string(c.Protocol) + ", in clear"
	}
	return string(c.Protocol) + ", " + c.TLS
}

// Sidecars are those of a workload at a site (testbed.Held).
type Sidecars interface {
	// Look has one connect as in a trial, and gives by which connection it became ready, as Connection.String does.
	Look(ctx context.Context) (connection string, err error)
}

// Config is the parameters of the layer.
type Config struct {
	Protocol factor.Levels[Protocol] `yaml:"protocol" json:"protocol,omitempty" doc:"variant of the aggregated discovery service: delta, or sotw (state of the world); that of the workload if absent"`
	Security factor.Levels[Security] `yaml:"security" json:"security,omitempty" doc:"tls, with a certificate that Tare makes for the workload's server, or plaintext; that of the workload if absent"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "how sidecars of the workload xds connect: delta or state of the world, TLS or not",
	Example: "security: tls",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "sidecars of the workload xds"),
}

// Declare says that the layer is told from another one of its kind.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{ProvesBeside: true, Validate: c.validate}
}

func (c *Config) validate() []experiment.FieldError {
	if len(c.Protocol)+len(c.Security) == 0 {
		return []experiment.FieldError{{Field: "security", Message: "neither security nor protocol is given: the layer would do nothing"}}
	}
	return nil
}

// Up shows itself to the workload.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	return &layer.Active{
		Holds:  c,
		Before: func(ctx context.Context, site testbed.Site) ([]layer.Check, error) { return c.look(ctx, site, true) },
	}, nil
}

// ProveOff shows that sidecars connect in another way. What an arm's own layer of this kind sets, its own
// proof shows.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if s.Own != nil {
		return nil, nil
	}
	return c.look(ctx, s.Site, false)
}

var errNone = errors.New("no workload xds has sidecars here: the layer does nothing for others")

// look has a sidecar of every workload connect.
func (c *Config) look(ctx context.Context, site testbed.Site, on bool) ([]layer.Check, error) {
	var checks []layer.Check
	for _, sidecars := range testbed.Held[Sidecars](site) {
		connection, err := sidecars.Look(ctx)
		if err != nil {
			return checks, err
		}
		check := func(what, expected string, is bool) {
			if !on {
				expected = "not " + expected
			}
			checks = append(checks, layer.Check{Layer: name, Name: what, Expected: expected, Observed: connection, OK: is == on})
		}
		protocol, security, _ := strings.Cut(connection, ", ")
		if len(c.Protocol) > 0 {
			check("protocol that a sidecar became ready by", string(c.Protocol.One()), protocol == string(c.Protocol.One()))
		}
		if len(c.Security) > 0 {
			check("connection that a sidecar became ready by", string(c.Security.One()), strings.HasPrefix(security, "TLS ") == (c.Security.One() == TLS))
		}
	}
	if len(checks) == 0 {
		return nil, errNone
	}
	return checks, nil
}
