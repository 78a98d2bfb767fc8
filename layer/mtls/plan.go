package mtls

import (
	"fmt"
	"net/netip"
)

// plan is all that the configuration of a proxy is made from.
type plan struct {
	settings
	Side   side
	From   netip.Addr // that the client's proxy connects from; invalid: the kernel chooses
	Mark   int
	Listen uint16
}

// Ciphers is the name of the cipher asked for: that of TLS 1.2 depends on the certificates.
func (p plan) Ciphers() string {
	if p.Cipher == "" {
		return ""
	}
	if p.TLS13() {
		return map[Cipher]string{AES128: "TLS_AES_128_GCM_SHA256", AES256: "TLS_AES_256_GCM_SHA384", ChaCha: "TLS_CHACHA20_POLY1305_SHA256"}[p.Cipher]
	}
	name := map[Cipher]string{AES128: "AES128-GCM-SHA256", AES256: "AES256-GCM-SHA384", ChaCha: "CHACHA20-POLY1305"}[p.Cipher]
	if p.Key.rsa() {
		return "ECDHE-RSA-" + name
	}
	return "ECDHE-ECDSA-" + name
}

// TLS13 says whether TLS is of that version.
func (p plan) TLS13() bool { return p.Version == TLS13 }

// EnvoyVersion is a version of TLS in Envoy's configuration.
func (v Version) EnvoyVersion() string {
	return map[Version]string{TLS12: "TLSv1_2", TLS13: "TLSv1_3"}[v]
}

// Source is what the client's proxy connects from.
func (p plan) Source() netip.Addr {
	if p.From.IsValid() {
		return p.From
	}
	return netip.IPv4Unspecified()
}

// IsClient says whether it is the client's proxy.
func (p plan) IsClient() bool { return p.Side == clientSide }

// Encrypts says whether the proxies speak TLS with each other.
func (p plan) Encrypts() bool { return p.encrypts() }

// HTTP says whether they take requests apart.
func (p plan) HTTP() bool { return p.Protocol == HTTP }

// Peer is the identity that the other proxy must have.
func (p plan) Peer() string {
	if p.IsClient() {
		return serverIdentity
	}
	return clientIdentity
}

// Tell is the format in which a connection is told of: see parseTold.
func (p plan) Tell() string {
	return fmt.Sprintf("%s %%UPSTREAM_LOCAL_ADDRESS%% %%DOWNSTREAM_TLS_VERSION%% %%DOWNSTREAM_TLS_CIPHER%% %%DOWNSTREAM_PEER_URI_SAN%%", toldMark)
}

// TellKey is what switches it on.
func (p plan) TellKey() string { return tellKey }

// AdminName is the name by which the proxy answers.
func (p plan) AdminName() string {
	if p.Program == HAProxy {
		return "abns@tare-mtls-" + p.Side.String()
	}
	return "@tare-mtls-" + p.Side.String()
}

// ToldMark begins what the proxy tells of a connection.
func (p plan) ToldMark() string { return toldMark }

// NoLimit is the number of connections and requests that may be open at a time: as many as there are.
func (p plan) NoLimit() uint32 { return 1<<32 - 1 }
