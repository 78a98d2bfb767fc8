package mtls

import (
	"fmt"
	"net/netip"
)

// plan holds all values that are needed for the configuration of a proxy.
type plan struct {
	settings
	Side   side
	From   netip.Addr // source address of the client's proxy; invalid: the kernel chooses
	Mark   int
	Listen uint16
}

// Ciphers returns OpenSSL's name of the cipher; "" if the proxies choose. With TLS 1.2 the name depends on
// the kind of the certificates' key.
func (p plan) Ciphers() string {
	if p.Cipher == "" {
		return ""
	}
	if p.TLS13() {
		return map[cipher]string{aes128: "TLS_AES_128_GCM_SHA256", aes256: "TLS_AES_256_GCM_SHA384", chaCha: "TLS_CHACHA20_POLY1305_SHA256"}[p.Cipher]
	}
	name := map[cipher]string{aes128: "AES128-GCM-SHA256", aes256: "AES256-GCM-SHA384", chaCha: "CHACHA20-POLY1305"}[p.Cipher]
	if p.Key.rsa() {
		return "ECDHE-RSA-" + name
	}
	return "ECDHE-ECDSA-" + name
}

// TLS13 reports whether TLS 1.3 is set.
func (p plan) TLS13() bool { return p.Version == tls13 }

// EnvoyVersion returns the name of a TLS version in Envoy's configuration.
func (v version) EnvoyVersion() string {
	return map[version]string{tls12: "TLSv1_2", tls13: "TLSv1_3"}[v]
}

// Source returns the source address of the client's proxy.
func (p plan) Source() netip.Addr {
	if p.From.IsValid() {
		return p.From
	}
	return netip.IPv4Unspecified()
}

// IsClient reports whether the plan is for the client's proxy.
func (p plan) IsClient() bool { return p.Side == clientSide }

// Encrypts reports whether the proxies use TLS with each other.
func (p plan) Encrypts() bool { return p.encrypts() }

// HTTP reports whether the proxies parse requests.
func (p plan) HTTP() bool { return p.Protocol == HTTP }

// Peer returns the identity that the other proxy must have.
func (p plan) Peer() string {
	if p.IsClient() {
		return serverIdentity
	}
	return clientIdentity
}

// LogFormat returns the format of the record that a proxy prints for a connection (parseRecord reads it).
func (p plan) LogFormat() string {
	return fmt.Sprintf("%s %%UPSTREAM_LOCAL_ADDRESS%% %%DOWNSTREAM_TLS_VERSION%% %%DOWNSTREAM_TLS_CIPHER%% %%DOWNSTREAM_PEER_URI_SAN%%", recordMark)
}

// LogKey returns the key that turns on the records of connections.
func (p plan) LogKey() string { return logKey }

// AdminName returns the name of the proxy's admin address.
func (p plan) AdminName() string {
	if p.Program == haProxy {
		return "abns@tare-mtls-" + p.Side.String()
	}
	return "@tare-mtls-" + p.Side.String()
}

// RecordMark returns the beginning of each record of a connection.
func (p plan) RecordMark() string { return recordMark }

// NoLimit returns the largest possible limit on open connections or requests. Envoy has no other way to say
// that there is no limit.
func (p plan) NoLimit() uint32 { return 1<<32 - 1 }
