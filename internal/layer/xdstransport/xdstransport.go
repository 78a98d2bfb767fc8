// Package xdstransport is a layer that sets the transport between the simulated sidecars of the workload xds and their
// server. With the layer, arms can differ in the transport:
//
//   - xds-transport: {security: tls}
//   - xds-transport: {protocol: sotw}
//
// Proof, after every trial: the sidecars report the connections by which they became ready. Each report has the
// protocol, and either "in clear" or the TLS version and cipher. With the layer, every connection must have the layer's
// values. Without the layer, no connection may have them.
package xdstransport

import (
	"context"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
)

const (
	name     = "xds-transport"
	workload = "xds"
)

// Protocol is a variant of the aggregated discovery service (ADS).
type Protocol string

const (
	Delta Protocol = "delta" // a response has only the resources that changed
	SotW  Protocol = "sotw"  // state of the world: a response has all resources
)

// Values lists the variants.
func (Protocol) Values() []string { return []string{string(Delta), string(SotW)} }

// Security is the choice whether connections are encrypted.
type Security string

const (
	Plaintext Security = "plaintext"
	TLS       Security = "tls"
)

// Connection describes the connection by which a sidecar became ready: its protocol and encryption.
type Connection struct {
	Protocol Protocol
	TLS      string // version and cipher: "TLS 1.3, TLS_AES_128_GCM_SHA256"; "": in clear
}

// String returns the description of the connection that the run records: "delta, in clear".
func (c Connection) String() string {
	if c.TLS == "" {
		return string(c.Protocol) + ", in clear"
	}
	return string(c.Protocol) + ", " + c.TLS
}

// Config holds the layer's parameters.
type Config struct {
	Protocol factor.Levels[Protocol] `yaml:"protocol" json:"protocol,omitempty" doc:"variant of the aggregated discovery service: delta, or sotw (state of the world); absent: the workload's"`
	Security factor.Levels[Security] `yaml:"security" json:"security,omitempty" enum:"plaintext,tls" doc:"tls, with a certificate that Tare creates for the workload's server, or plaintext; absent: the workload's"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "how sidecars of the workload xds connect: delta or state of the world, TLS or not",
	Example: "security: tls",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "sidecars of the workload xds"),
}

// Declare declares that the layer needs the workload xds. The layer also makes proofs in arms that have another layer
// of its kind.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Workload: workload, ProvesBeside: true, Validate: c.validate}
}

func (c *Config) validate() []experiment.FieldError {
	if len(c.Protocol)+len(c.Security) == 0 {
		return []experiment.FieldError{{Field: "security", Message: "neither security nor protocol is given: the layer would do nothing"}}
	}
	return nil
}

// Up hands the layer's parameters to the workload (Holds).
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	return &layer.Active{
		Holds: c,
		After: func(_ context.Context, did layer.Did) ([]layer.Check, error) { return c.look(did, true), nil },
	}, nil
}

// ProveOff makes no check: the transport shows only after a trial.
func (c *Config) ProveOff(context.Context, *layer.Session) ([]layer.Check, error) { return nil, nil }

// ProveOffAfter shows that no sidecar connected with the layer's values. Parameters that the arm's own layer of this
// kind sets are not checked.
func (c *Config) ProveOffAfter(_ context.Context, s *layer.Session, did layer.Did) ([]layer.Check, error) {
	return layer.Without(c, s.Own).look(did, false), nil
}

// parts splits the description of a connection, as the method String writes it, into the protocol and the encryption.
func parts(connection string) (protocol Protocol, security Security) {
	p, tls, _ := strings.Cut(connection, ", ")
	if strings.HasPrefix(tls, "TLS ") {
		return Protocol(p), TLS
	}
	return Protocol(p), Plaintext
}

func (c *Config) look(did layer.Did, on bool) (checks []layer.Check) {
	look := func(what, expected string, is func(connection string) bool) {
		checks = append(checks, did.CheckConnections(workload, layer.Check{Layer: name, Name: what, Expected: expected}, on, is)...)
	}
	if len(c.Protocol) > 0 {
		look("protocol of the sidecars' connections", string(c.Protocol.One()), func(connection string) bool {
			protocol, _ := parts(connection)
			return protocol == c.Protocol.One()
		})
	}
	if len(c.Security) > 0 {
		look("encryption of the sidecars' connections", string(c.Security.One()), func(connection string) bool {
			_, security := parts(connection)
			return security == c.Security.One()
		})
	}
	return checks
}
