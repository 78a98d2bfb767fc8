// Package xdstransport is how the simulated sidecars of the workload xds speak to their server, as a layer, so that
// arms differ by it:
//
//   - xds-transport: {security: tls}
//   - xds-transport: {protocol: sotw}
//
// Proof, after every trial: its sidecars say by which connections they became ready: the protocol, and in clear or by
// which version and cipher of TLS. All must be as the layer has them; in arms without it none may.
package xdstransport

import (
	"context"
	"errors"
	"slices"
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
	// Connections are those by which sidecars of the last trial became ready, each once, as Connection.String gives them; none if
	// there was no trial so far.
	Connections() []string
}

// Config is the parameters of the layer.
type Config struct {
	Protocol factor.Levels[Protocol] `yaml:"protocol" json:"protocol,omitempty" doc:"variant of the aggregated discovery service: delta, or sotw (state of the world); that of the workload if absent"`
	Security factor.Levels[Security] `yaml:"security" json:"security,omitempty" doc:"tls, with a certificate that Tare makes for the workload's server, or plaintext; what the workload says if absent"`
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
	var at testbed.Site
	return &layer.Active{
		Holds: c,
		Before: func(_ context.Context, site testbed.Site) ([]layer.Check, error) {
			at = site
			return nil, connecting(site)
		},
		After: func(context.Context, layer.Did) ([]layer.Check, error) { return c.look(at, true), nil },
	}, nil
}

// ProveOff has nothing to show before a trial.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	return nil, connecting(s.Site)
}

// ProveOffAfter shows that sidecars connected in another way. What an arm's own layer of this kind sets, its own
// proof shows.
func (c *Config) ProveOffAfter(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	rest := *c
	if own, ok := s.Own.(*Config); ok {
		if len(own.Protocol) > 0 {
			rest.Protocol = nil
		}
		if len(own.Security) > 0 {
			rest.Security = nil
		}
	}
	return rest.look(s.Site, false), nil
}

// connecting is an error where no workload has sidecars.
func connecting(site testbed.Site) error {
	if len(testbed.Held[Sidecars](site)) == 0 {
		return errors.New("no workload xds has sidecars here: the layer does nothing for others")
	}
	return nil
}

// look looks at the connections of every workload's last trial.
func (c *Config) look(site testbed.Site, on bool) []layer.Check {
	var checks []layer.Check
	for _, sidecars := range testbed.Held[Sidecars](site) {
		seen := sidecars.Connections()
		check := func(what, expected string, is func(protocol, security string) bool) {
			if len(seen) == 0 {
				return
			}
			ok := !slices.ContainsFunc(seen, func(connection string) bool {
				protocol, security, _ := strings.Cut(connection, ", ")
				return is(protocol, security) != on
			})
			if !on {
				expected = "not " + expected
			}
			checks = append(checks, layer.Check{Layer: name, Name: what, Expected: expected, Observed: strings.Join(seen, " | "), OK: ok})
		}
		if len(c.Protocol) > 0 {
			check("protocol that sidecars became ready by", string(c.Protocol.One()), func(protocol, _ string) bool { return protocol == string(c.Protocol.One()) })
		}
		if len(c.Security) > 0 {
			check("connections that sidecars became ready by", string(c.Security.One()), func(_, security string) bool {
				return strings.HasPrefix(security, "TLS ") == (c.Security.One() == TLS)
			})
		}
	}
	return checks
}
