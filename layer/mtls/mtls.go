// Package mtls is the layer of a service mesh's data plane: every TCP connection from the
// client pod to the server pod, or to its service, goes through a proxy on either side, and
// between the two through mutual TLS.
//
//   - mtls: {mode: plaintext-proxies}
//   - mtls: {protocol: http, workers: [1, 2, 4]}
//
// Two things cost in a mesh: that there are proxies, and that they encrypt. The mode
// plaintext-proxies is the first alone, so that an experiment with three arms tells them
// apart.
//
// # How it works
//
// As in Istio, programs notice nothing. Rules of nftables redirect connections to the ports
// of the service (testbed.Network.Ports) to the proxy, which asks the kernel where they were
// to go (SO_ORIGINAL_DST) and connects there itself. The client's proxy marks its sockets
// (SO_MARK), by which the rules leave them alone. With the placement sidecar proxies and
// rules are in the pods, with the placement node they are on the pods' nodes. UDP passes by.
//
// The proxies are processes (Envoy, or HAProxy). On this machine they are found on PATH or where
// `make envoy` puts it. On a cluster each runs in a container of its own in the pod, a sidecar,
// that has the capabilities NET_ADMIN, for the rules, and NET_RAW, to watch; there is no
// placement node there. Rules and probes are the work of a helper at each place (helper.go).
//
// # Identities
//
// Each set-up has a certificate authority of its own, whose key is never written. Client and
// server have SPIFFE identities, each proxy demands that of the other. The proxies read
// their keys from files of mode 0600 in a temporary directory, which is removed as soon as
// they have. On a cluster the keys come through the agent's connection to the sidecar, and those
// files are in memory: no specification and no Secret has them.
//
// # Proofs
//
// Before every trial a random marker is sent from pod to pod. It must arrive by another
// connection than it was sent on, pass through the counters of both proxies, and not be seen
// on the wire (in clear, with plaintext-proxies). The server's proxy must have seen the
// client's identity and the TLS version asked for. A client without a certificate, one with
// that of a stranger, and one without TLS must be refused there; one with the client's
// must be let in. After the trial both proxies must have moved what it sent, by no other
// version of TLS, and have refused nobody. Without the layer, the marker must
// arrive by the very connection that it was sent on, and no rule of the layer may be there.
//
// On a cluster the wire is watched where it leaves the client's pod: what nodes do to packets
// after that is not seen. The pods of arms without the layer have no sidecar, and so nothing that
// may list rules or watch: there the marker's own connection is all that shows.
package mtls

import (
	"slices"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
)

// kind is the layer's name in the file.
const kind = "mtls"

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    kind,
	Summary: "a proxy on either side, as in a service mesh, with or without mutual TLS between them: Envoy or HAProxy",
	New:     New,
	Probe:   probe,
	Helper:  Helper,
}

// Mode says what the proxies do with connections.
type Mode string

// The modes.
const (
	Plaintext Mode = "plaintext-proxies" // pass them on
	Mutual    Mode = "mtls"              // encrypt them between each other
)

// Values lists the modes.
func (Mode) Values() []string { return []string{string(Plaintext), string(Mutual)} }

// Program is whose proxy it is.
type Program string

// The programs.
const (
	Envoy   Program = "envoy"
	HAProxy Program = "haproxy"
)

// Values lists the programs.
func (Program) Values() []string { return []string{string(Envoy), string(HAProxy)} }

// Protocol is what the proxies take connections for.
type Protocol string

// The protocols.
const (
	TCP  Protocol = "tcp"  // bytes
	HTTP Protocol = "http" // requests, which are spread over connections of the proxies' own
)

// Values lists the protocols.
func (Protocol) Values() []string { return []string{string(TCP), string(HTTP)} }

// Placement says where the proxies are.
type Placement string

// The placements.
const (
	Sidecar Placement = "sidecar" // in the pods
	Node    Placement = "node"    // on the pods' nodes
)

// Values lists the placements.
func (Placement) Values() []string { return []string{string(Sidecar), string(Node)} }

// Version is a version of TLS, as Envoy and OpenSSL name it.
type Version string

// The versions.
const (
	TLS12 Version = "TLSv1.2"
	TLS13 Version = "TLSv1.3"
)

// Values lists the versions.
func (Version) Values() []string { return []string{string(TLS12), string(TLS13)} }

// Cipher encrypts the bytes of a connection.
type Cipher string

// The ciphers.
const (
	AES128 Cipher = "aes-128-gcm"
	AES256 Cipher = "aes-256-gcm"
	ChaCha Cipher = "chacha20-poly1305"
)

// Values lists the ciphers.
func (Cipher) Values() []string { return []string{string(AES128), string(AES256), string(ChaCha)} }

// Config is the layer's parameters.
type Config struct {
	Mode                  factor.Levels[Mode]      `yaml:"mode" json:"mode" doc:"plaintext-proxies: proxies only; mtls: with mutual TLS between them"`
	Proxy                 factor.Levels[Program]   `yaml:"proxy" json:"proxy" doc:"program that serves as proxy"`
	Protocol              factor.Levels[Protocol]  `yaml:"protocol" json:"protocol" doc:"tcp passes on bytes, whatever they are; http takes requests apart, as a mesh does, and carries nothing else"`
	Placement             factor.Levels[Placement] `yaml:"placement" json:"placement" doc:"sidecar: a proxy in each pod; node: one on the node of each pod"`
	Workers               factor.Levels[int]       `yaml:"workers" json:"workers" min:"1" max:"64" doc:"threads of each proxy that carry connections"`
	Key                   factor.Levels[Key]       `yaml:"key" json:"key" doc:"key of the certificates"`
	Version               factor.Levels[Version]   `yaml:"version" json:"version" doc:"version of TLS"`
	Cipher                factor.Levels[Cipher]    `yaml:"cipher" json:"cipher,omitempty" doc:"cipher; the proxies' choice if absent. Envoy lets it be chosen with TLSv1.2 only"`
	Resumption            factor.Levels[bool]      `yaml:"resumption" json:"resumption" doc:"new connections resume the TLS session of earlier ones, without certificates"`
	RequestsPerConnection factor.Levels[int]       `yaml:"requestsPerConnection" json:"requestsPerConnection,omitempty" min:"1" doc:"with http: requests after which the client's proxy opens another connection to the server's; without end if absent"`
	Image                 string                   `yaml:"image" json:"image,omitempty" doc:"on a cluster, the image of the containers in which the proxies run: any that has the program on PATH; make systems builds the default"`
}

// DefaultImage is what make systems builds.
const DefaultImage = "tare-systems:latest"

// New gives the layer with its defaults.
func New() layer.Layer {
	return &Config{
		Mode: factor.Of(Mutual), Proxy: factor.Of(Envoy), Protocol: factor.Of(TCP), Placement: factor.Of(Sidecar),
		Workers: factor.Of(2), Key: factor.Of(P256), Version: factor.Of(TLS13), Resumption: factor.Of(true),
		Image: DefaultImage,
	}
}

// Declare says that the layer needs two pods, on a cluster with containers that may redirect
// their connections.
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
	if slices.Contains(c.Placement, Node) {
		needs.Only = experiment.TestbedLocal
	}
	return needs
}

// tools are the proxies.
func (c *Config) tools() []experiment.Tool {
	var tools []experiment.Tool
	for _, p := range c.Proxy {
		i := p.implementation()
		path, _ := i.find()
		tools = append(tools, experiment.Tool{Name: i.program, Path: path, Version: i.version})
	}
	return tools
}

// validate checks what parameters mean together, at all levels.
func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	encrypts := slices.Contains(c.Mode, Mutual)
	haproxy, envoy := slices.Contains(c.Proxy, HAProxy), slices.Contains(c.Proxy, Envoy)
	if len(c.Cipher) > 0 && envoy && slices.Contains(c.Version, TLS13) {
		errs.Add("cipher", "Envoy chooses the cipher of %s itself: give version: %s as well, or leave the cipher out", TLS13, TLS12)
	}
	if len(c.Cipher) > 0 && !encrypts {
		errs.Add("cipher", "with mode: %s nothing is encrypted", Plaintext)
	}
	if len(c.RequestsPerConnection) > 0 && slices.Contains(c.Protocol, TCP) {
		errs.Add("requestsPerConnection", "with protocol: %s a connection is passed on as one connection, whatever is in it: give protocol: %s", TCP, HTTP)
	}
	for _, n := range c.RequestsPerConnection {
		if haproxy && n > 1 {
			errs.Add("requestsPerConnection", "%d: HAProxy has either 1 or, without this parameter, no end of them", n)
		}
	}
	return errs
}

// settings are the parameters at one level.
type settings struct {
	Mode       Mode
	Program    Program
	Protocol   Protocol
	Placement  Placement
	Workers    int
	Key        Key
	Version    Version
	Cipher     Cipher // "": the proxies choose
	Resumption bool
	Requests   int // per connection; 0: without end
	Image      string
}

func (c *Config) settings() settings {
	return settings{
		Mode: c.Mode.One(), Program: c.Proxy.One(), Protocol: c.Protocol.One(), Placement: c.Placement.One(),
		Workers: c.Workers.One(), Key: c.Key.One(), Version: c.Version.One(), Cipher: c.Cipher.OrZero(),
		Resumption: c.Resumption.One(), Requests: c.RequestsPerConnection.OrZero(), Image: c.Image,
	}
}

// encrypts says whether the proxies speak TLS with each other.
func (s settings) encrypts() bool { return s.Mode == Mutual }
