package vault

import (
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

type profile string

// vaultBenchmark is the load of the study "Application benchmarks" of Constellation (August 2023): vault-benchmark of
// its time with 1,300 workers for 10 s, without a warm-up, against five members with TLS. The four operations are
// equally frequent. Their keys are RSA keys of 2048 bits: one for each operation in the study, here one for sign and
// verify and one for encrypt and decrypt. The study's configuration gives only two parameters of
// operations. All others are vault-benchmark's defaults: it signs by pss, verifies a signature by pkcs1v15, and both of
// an empty input; it encrypts 128 bytes, and decrypts a ciphertext of 64 bytes. The sizes of the requests in the study's
// raw results (101, 474, 202 and 384 bytes) agree. Its client has HTTP/2 over TLS and a timeout of 60 s.
//
// Sources: edgelesssys/vault-benchmarks at 0e9d86c, benchmark/transit-aks.yaml and data/1300w; hashicorp/vault-benchmark at
// 19b41d0, benchmarktests/target_secret_transit.go and attack.go.
const vaultBenchmark profile = "vault-benchmark"

// fill sets the parameters of the profile that the file does not give.
func (c *Config) fill(given func(field string) bool) {
	if c.Profile != vaultBenchmark {
		return
	}
	for field, set := range map[string]func(){
		"members":    func() { c.Members = factor.Of(5) },
		"tls":        func() { c.TLS = factor.Of(true) },
		"operations": func() { c.Operations = operations{Sign: 25, Verify: 25, Encrypt: 25, Decrypt: 25} },
		"encryption": func() { c.Encryption = factor.Of[EncryptionKey]("rsa-2048") },
		"signing":    func() { c.Signing = factor.Of[SigningKey]("rsa-2048") },
		"signature":  func() { c.Signature = signatures{Sign: "pss", Verify: "pkcs1v15"} },
		"payloads": func() {
			if !given("payload") {
				c.Payloads = payloads{Sign: new(quantity.Size(0)), Verify: new(quantity.Size(0)), Encrypt: new(quantity.Size(128)), Decrypt: new(quantity.Size(64))}
			}
		},
		"protocol": func() { c.Protocol = factor.Of(h2) },
		"workers": func() {
			if !given("rate") {
				c.Workers = factor.Of(1300)
			}
		},
		"duration": func() { c.Duration = factor.Of(quantity.Duration(10 * time.Second)) },
		"warmup":   func() { c.Warmup = 0 },
		"timeout":  func() { c.Timeout = quantity.Duration(time.Minute) },
	} {
		if !given(field) {
			set()
		}
	}
}

// signatures holds the algorithm of RSA signatures for each operation.
type signatures struct {
	Sign   signature `yaml:"sign" json:"sign,omitempty" enum:"pss,pkcs1v15" doc:"algorithm by which sign signs; the servers' default, pss, if absent"`
	Verify signature `yaml:"verify" json:"verify,omitempty" enum:"pss,pkcs1v15" doc:"algorithm of the signature that verify verifies; the servers' default, pss, if absent"`
}

type signature string

// payloads holds the payloads of single operations; nil: the payload of all.
type payloads struct {
	Sign    *quantity.Size `yaml:"sign" json:"sign,omitempty" min:"0B" max:"256KiB" doc:"bytes to sign"`
	Verify  *quantity.Size `yaml:"verify" json:"verify,omitempty" min:"0B" max:"256KiB" doc:"bytes whose signature is verified"`
	Encrypt *quantity.Size `yaml:"encrypt" json:"encrypt,omitempty" min:"0B" max:"256KiB" doc:"bytes to encrypt"`
	Decrypt *quantity.Size `yaml:"decrypt" json:"decrypt,omitempty" min:"0B" max:"256KiB" doc:"bytes in the ciphertext that is decrypted"`
}

// of returns the payload of an operation, in bytes, where all have the given one.
func (p payloads) of(operation string, all quantity.Size) int {
	own := map[string]*quantity.Size{"sign": p.Sign, "verify": p.Verify, "encrypt": p.Encrypt, "decrypt": p.Decrypt}[operation]
	if own != nil {
		all = *own
	}
	return int(all)
}

// protocol is the version of HTTP.
type protocol string

const (
	http1 protocol = "http/1.1"
	h2    protocol = "h2"
	// streams is the number of requests at a time on a connection with HTTP/2: Go's servers, and so OpenBao and Vault,
	// allow 250.
	streams = 250
)

func (c *Config) validateKeys(errs *experiment.FieldErrors) {
	for _, o := range c.Operations.drawn() {
		if o.name != "encrypt" && o.name != "decrypt" {
			continue
		}
		for _, key := range c.Encryption {
			for _, all := range c.Payload {
				if size := c.Payloads.of(o.name, all); size > mostEncrypted(key) {
					errs.Add("payload", "%v do not fit a key %s, which encrypts %d bytes at most", quantity.Size(size), key, mostEncrypted(key))
					return
				}
			}
		}
	}
	if c.Signature != (signatures{}) && !slices.ContainsFunc(c.Signing, SigningKey.isRSA) {
		errs.Add("signature", "no key of signing is an RSA key, and only RSA signatures have these algorithms")
	}
}
