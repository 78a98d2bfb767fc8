// Package mtls is the layer of a service mesh's data plane. Every TCP connection from the client pod to the server pod,
// or to its service, goes through a proxy on either side, with mutual TLS between the proxies.
//
//   - mtls: {mode: plaintext-proxies}
//   - mtls: {protocol: http, workers: [1, 2, 4]}
//
// A mesh has two costs: the proxies, and their encryption. The mode plaintext-proxies has only the cost of the proxies.
//
// # How it works
//
// As in Istio, programs notice nothing. Rules of nftables redirect connections to the ports of the service
// (testbed.Network.Ports) to the proxy. The proxy asks the kernel for the original destination (SO_ORIGINAL_DST) and
// connects to it. The client's proxy marks its sockets (SO_MARK), and the rules do not redirect marked connections. UDP
// bypasses the proxies.
//
// The proxies are processes of Envoy or HAProxy. On this machine they run in the pods (placement: sidecar) or on the
// pods' nodes (placement: node). On a cluster they run in sidecars with the capabilities NET_ADMIN (for the rules) and
// NET_RAW (for watching the wire). A helper at each place installs the rules and makes the probes (helper.go).
//
// # Identities
//
// Each set-up has a certificate authority of its own, whose key is never written. Client and server have SPIFFE
// identities, and each proxy demands the other proxy's identity. The proxies read their keys from files of mode 0600 in
// a temporary directory, which is removed afterwards. On a cluster the keys come through the agent's connection to the
// sidecar, and the files are in memory: no pod specification and no Secret contains the keys.
//
// # Proofs
//
// Before every trial a random marker from pod to pod must arrive by another connection than the one on which it was
// sent. Both proxies must count its bytes, and the wire must not show it in clear (with plaintext-proxies, it must).
// The server's proxy must have seen the client's identity and the set TLS version. It must refuse clients without TLS,
// without a certificate, or with a stranger's certificate. After the trial both proxies must have moved the trial's
// bytes, with no other TLS version, and must have refused nobody. Without the layer, the marker must arrive by the
// connection that it was sent on, and no rule of the layer may exist.
//
// On a cluster the wire is watched at the client pod's interface: Tare does not see later changes by nodes. Pods of
// arms without the layer have no sidecar to list rules or watch the wire. The marker's connection is then the only
// evidence.
package mtls

import (
	"context"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
)

const kind = "mtls" // the layer's name in the experiment file

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    kind,
	Summary: "a proxy on either side, as in a service mesh, with or without mutual TLS between them: Envoy or HAProxy",
	New:     newLayer,
	Probe:   probe,
	Helper:  help,
}

type mode string

const (
	plaintext mode = "plaintext-proxies" // the proxies pass connections on unchanged
	mutual    mode = "mtls"              // the proxies use mutual TLS with each other
)

type program string

const (
	Envoy   program = "envoy"
	haProxy program = "haproxy"
)

type protocol string

const (
	tcp  protocol = "tcp"  // bytes, which are not parsed
	HTTP protocol = "http" // requests, which are spread over connections that the proxies open
)

type placement string

const (
	sidecar placement = "sidecar" // in the pods
	node    placement = "node"    // on the pods' nodes
)

type version string

const (
	tls12 version = "TLSv1.2"
	tls13 version = "TLSv1.3"
)

type cipher string

const (
	aes128 cipher = "aes-128-gcm"
	aes256 cipher = "aes-256-gcm"
	chaCha cipher = "chacha20-poly1305"
)

// Config holds the layer's parameters.
type Config struct {
	Mode                  factor.Levels[mode]      `yaml:"mode" json:"mode" enum:"plaintext-proxies,mtls" doc:"plaintext-proxies: proxies only; mtls: with mutual TLS between them"`
	Proxy                 factor.Levels[program]   `yaml:"proxy" json:"proxy" enum:"envoy,haproxy" doc:"the proxy program"`
	Protocol              factor.Levels[protocol]  `yaml:"protocol" json:"protocol" enum:"tcp,http" doc:"tcp: the proxies pass bytes on; http: they parse requests, as a mesh does, and carry no other protocol"`
	Placement             factor.Levels[placement] `yaml:"placement" json:"placement" enum:"sidecar,node" doc:"sidecar: a proxy in each pod; node: one on the node of each pod"`
	Workers               factor.Levels[int]       `yaml:"workers" json:"workers" min:"1" max:"64" doc:"threads of each proxy that carry connections"`
	Key                   factor.Levels[key]       `yaml:"key" json:"key" enum:"ecdsa-p256,ecdsa-p384,rsa-2048,rsa-3072,rsa-4096" doc:"key of the certificates"`
	Version               factor.Levels[version]   `yaml:"version" json:"version" enum:"TLSv1.2,TLSv1.3" doc:"TLS version"`
	Cipher                factor.Levels[cipher]    `yaml:"cipher" json:"cipher,omitempty" enum:"aes-128-gcm,aes-256-gcm,chacha20-poly1305" doc:"TLS cipher; absent: the proxies choose. For Envoy it can only be set with TLSv1.2"`
	Resumption            factor.Levels[bool]      `yaml:"resumption" json:"resumption" doc:"new connections resume the TLS session of earlier ones, without certificates"`
	RequestsPerConnection factor.Levels[int]       `yaml:"requestsPerConnection" json:"requestsPerConnection,omitempty" min:"1" doc:"with http: number of requests on one connection between the proxies, after which the client's proxy opens another; absent: unlimited"`
	Image                 string                   `yaml:"image" json:"image,omitempty" doc:"on a cluster, the image of the proxies' containers, with the program on PATH; make systems builds the default"`
}

// DefaultImage is the image that `make systems` builds.
const DefaultImage = "tare-systems:latest"

func newLayer() layer.Layer {
	return &Config{
		Mode: factor.Of(mutual), Proxy: factor.Of(Envoy), Protocol: factor.Of(tcp), Placement: factor.Of(sidecar),
		Workers: factor.Of(2), Key: factor.Of(p256), Version: factor.Of(tls13), Resumption: factor.Of(true),
		Image: DefaultImage,
	}
}

// Declare declares that the layer needs two pods and, on a cluster, sidecars that may redirect connections.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate:  c.validate,
		Needs:     c.needs(),
		Elsewhere: "the placement sidecar does this",
		Tools:     c.tools(),
		OwnProves: true,
	}
}

func (c *Config) needs() experiment.Needs {
	needs := experiment.Needs{Network: true, PodSecurity: []experiment.PodSecurity{
		{Level: "privileged", Why: "capability NET_ADMIN, to redirect connections to a proxy (layer " + kind + ")"}}}
	if slices.Contains(c.Placement, node) {
		needs.Only = experiment.TestbedLocal
	}
	return needs
}

func (c *Config) tools() []experiment.Tool {
	var tools []experiment.Tool
	for _, p := range c.Proxy {
		i := p.implementation()
		path, _ := i.find()
		tools = append(tools, experiment.Tool{Name: i.program, Path: path, Version: i.version})
	}
	return tools
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	encrypts := slices.Contains(c.Mode, mutual)
	haproxy, envoy := slices.Contains(c.Proxy, haProxy), slices.Contains(c.Proxy, Envoy)
	if len(c.Cipher) > 0 && envoy && slices.Contains(c.Version, tls13) {
		errs.Add("cipher", "Envoy chooses the cipher of %s itself: set version: %s as well, or leave the cipher out", tls13, tls12)
	}
	if len(c.Cipher) > 0 && !encrypts {
		errs.Add("cipher", "with mode: %s nothing is encrypted", plaintext)
	}
	if len(c.RequestsPerConnection) > 0 && slices.Contains(c.Protocol, tcp) {
		errs.Add("requestsPerConnection", "with protocol: %s the proxies do not see requests: set protocol: %s", tcp, HTTP)
	}
	for _, n := range c.RequestsPerConnection {
		if haproxy && n > 1 {
			errs.Add("requestsPerConnection", "%d: HAProxy supports only 1 or, without this parameter, an unlimited number", n)
		}
	}
	return errs
}

func (c Config) implementation() *implementation { return c.Proxy.One().implementation() }

// Encrypts reports whether the proxies use TLS with each other.
func (c Config) Encrypts() bool { return c.Mode.One() == mutual }

// probe tries the layer with each proxy program, at a temporary site of the local testbed.
func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{find(ctx, Envoy), find(ctx, haProxy)}
}

func find(ctx context.Context, p program) testbed.Finding {
	f := testbed.Finding{Name: string(p), Status: testbed.Works}
	if _, err := p.implementation().find(); err != nil {
		f.Status, f.Detail, f.Hint = testbed.Missing, err.Error(), p.implementation().hint
		return f
	}
	c := newLayer().(*Config)
	c.Proxy = factor.Of(p)
	checks, err := layer.Try(ctx, experiment.Needs{Network: true}, c.Up)
	if len(checks) > 0 {
		f.Detail = checks[serverSide].Observed
	}
	return f.Tried(err)
}
