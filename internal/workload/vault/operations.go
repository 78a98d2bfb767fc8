package vault

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"tare/internal/workload/http/load"
)

// EncryptionKey is a type of transit key that encrypts.
type EncryptionKey string

func (EncryptionKey) Values() []string {
	return []string{"aes256-gcm96", "aes128-gcm96", "chacha20-poly1305", "rsa-2048", "rsa-3072", "rsa-4096"}
}

// SigningKey is a type of transit key that signs.
type SigningKey string

func (SigningKey) Values() []string {
	return []string{"ed25519", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "rsa-2048", "rsa-3072", "rsa-4096"}
}

// operations holds the weight of each operation. The requests with an operation are in proportion to its weight.
type operations struct {
	Sign    float64 `yaml:"sign" json:"sign,omitempty" min:"0" doc:"weight of transit/sign"`
	Verify  float64 `yaml:"verify" json:"verify,omitempty" min:"0" doc:"weight of transit/verify, always of the same signature"`
	Encrypt float64 `yaml:"encrypt" json:"encrypt,omitempty" min:"0" doc:"weight of transit/encrypt"`
	Decrypt float64 `yaml:"decrypt" json:"decrypt,omitempty" min:"0" doc:"weight of transit/decrypt, always of the same ciphertext"`
	Read    float64 `yaml:"kv-read" json:"kv-read,omitempty" min:"0" doc:"weight of reading a secret of the KV engine, version 2"`
	Write   float64 `yaml:"kv-write" json:"kv-write,omitempty" min:"0" doc:"weight of writing a secret"`
}

// mostEncrypted returns the largest number of bytes that a key can encrypt. An RSA key encrypts one block by OAEP
// with SHA-256 (RFC 8017, 7.1.1). Other keys have no limit.
func mostEncrypted(key EncryptionKey) int {
	switch key {
	case "rsa-2048":
		return 2048/8 - 66
	case "rsa-3072":
		return 3072/8 - 66
	case "rsa-4096":
		return 4096/8 - 66
	}
	return math.MaxInt
}

type operation struct {
	name   string
	weight float64
}

// drawn lists the operations with a weight. If no operation has a weight, drawn lists the four operations of
// transit with equal weights.
func (o operations) drawn() []operation {
	if o == (operations{}) {
		o = operations{Sign: 1, Verify: 1, Encrypt: 1, Decrypt: 1}
	}
	var list []operation
	for _, each := range []operation{{"sign", o.Sign}, {"verify", o.Verify}, {"encrypt", o.Encrypt}, {"decrypt", o.Decrypt}, {"kv-read", o.Read}, {"kv-write", o.Write}} {
		if each.weight > 0 {
			list = append(list, each)
		}
	}
	return list
}

// Names of the mounts, which differ from the names of other engines at the server.
func transitMount(mount string) string { return mount + "-transit" }
func kvMount(mount string) string      { return mount + "-kv" }

const (
	encryptionKey = "encryption"
	signingKey    = "signing"
)

// payload returns n bytes of random text to sign, encrypt or store. Every set-up gets the same text.
func payload(n int) string {
	random := rand.New(rand.NewPCG(1, 0x7461_7265))
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz234567"[random.IntN(32)]
	}
	return string(text)
}

// requests lists the requests of a trial. Requests to KV are spread over the secrets.
func (c *Config) requests(p *prepared) []load.Request {
	text := payload(int(c.Payload.One()))
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	transit, kv := "/v1/"+transitMount(p.Mount)+"/", "/v1/"+kvMount(p.Mount)+"/data/"
	var list []load.Request
	add := func(o operation, weight float64, path string, body any) {
		r := load.Request{Name: o.name, Path: path, Weight: weight, Headers: [][2]string{{"X-Vault-Token", p.LoadToken}, {"X-Vault-Request", "true"}}}
		if body != nil {
			r.Method = "POST"
			r.Body, _ = json.Marshal(body) // encoding texts cannot fail
		}
		list = append(list, r)
	}
	for _, o := range c.Operations.drawn() {
		switch o.name {
		case "sign":
			add(o, o.weight, transit+"sign/"+signingKey, map[string]string{"input": encoded})
		case "verify":
			add(o, o.weight, transit+"verify/"+signingKey, map[string]string{"input": encoded, "signature": p.Signature})
		case "encrypt":
			add(o, o.weight, transit+"encrypt/"+encryptionKey, map[string]string{"plaintext": encoded})
		case "decrypt":
			add(o, o.weight, transit+"decrypt/"+encryptionKey, map[string]string{"ciphertext": p.Ciphertext})
		default:
			for i := range c.Secrets {
				var body any
				if o.name == "kv-write" {
					body = secretOf(text)
				}
				add(o, o.weight/float64(c.Secrets), kv+secretName(i), body)
			}
		}
	}
	return list
}

func secretName(i int) string { return fmt.Sprintf("secret-%d", i) }

func secretOf(text string) any { return map[string]any{"data": map[string]string{"value": text}} }
