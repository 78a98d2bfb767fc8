package vault

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/workload/http"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Members = factor.Of(2) }, ""},
		{func(c *Config) { c.Signature.Verify = "pkcs1v15" }, "signature: no key of signing is an RSA key"},
		{func(c *Config) {
			c.Encryption, c.Payloads.Decrypt = factor.Of[EncryptionKey]("rsa-2048"), new(quantity.Size(191))
		}, "payload: 191B do not fit a key rsa-2048"},
		{func(c *Config) { c.Objective = &http.Objective{} }, ""},
		{func(c *Config) { c.Objective = &http.Objective{Most: 299} }, "workers[0]: 300 is more than the 299 of objective.most"},
		{func(c *Config) { c.Objective, c.Judged = &http.Objective{}, []string{"rate"} }, "headline: a search measures the capacity"},
		{func(c *Config) { c.Objective, c.Rate = &http.Objective{}, factor.Of[quantity.Frequency](9) }, "objective: it limits no latency"},
		{func(c *Config) { c.Workers, c.Rate = factor.Of(1), factor.Of[quantity.Frequency](1) }, "rate: there is workers too"},
		{func(c *Config) {
			c.Encryption, c.Payload = factor.Of[EncryptionKey]("rsa-2048"), factor.Of[quantity.Size](191)
		}, "payload: 191B do not fit a key rsa-2048, which encrypts 190 bytes at most"},
		{func(c *Config) {
			c.Encryption, c.Payload, c.Operations = factor.Of[EncryptionKey]("rsa-2048"), factor.Of[quantity.Size](191), operations{Sign: 1}
		}, ""},
		{func(c *Config) { c.Token = "$T" }, "token: there is no url"},
		{func(c *Config) { c.URL = "https://v:8200" }, "token: the server at the url asks for a token"},
		{func(c *Config) { c.URL, c.Token, c.TLS = "https://v:8200", "$T", factor.Of(true, false) }, "url: an existing server keeps its own"},
		{func(c *Config) { c.URL, c.Token = "https://v/v1", "$T" }, "url: "},
		{func(c *Config) { c.Judged = []string{"latency"} }, "headline[0]: "},
	} {
		c := New().(*Config)
		test.change(c)
		var all []string
		for _, e := range c.validate() {
			all = append(all, e.Field+": "+e.Message)
		}
		if got := strings.Join(all, "\n"); test.want == "" && got != "" || !strings.HasPrefix(got, test.want) || len(all) > 1 {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// Cells share servers if only their loads differ.
func TestShared(t *testing.T) {
	a, b := New().(*Config), New().(*Config)
	b.Workers, b.Operations, b.Duration, b.Protocol, b.Profile = factor.Of(7), operations{Sign: 1}, nil, factor.Of(h2), vaultBenchmark
	if a.Shared() != b.Shared() {
		t.Error("another load has servers of its own")
	}
	b.Signing = factor.Of[SigningKey]("rsa-2048")
	if a.Shared() == b.Shared() {
		t.Error("another key is at the same servers")
	}
}

// Requests are drawn by their weights. Requests to KV are spread over the secrets.
func TestRequests(t *testing.T) {
	c := New().(*Config)
	c.Operations, c.Secrets = operations{Sign: 3, Read: 1}, 4
	sum := map[string]float64{}
	for _, r := range c.requests(&prepared{Mount: "m", LoadToken: "t", Signature: "s"}) {
		sum[r.Name] += r.Weight
		if r.Name == "kv-read" && (!strings.HasPrefix(r.Path, "/v1/m-kv/data/secret-") || r.Body != nil) {
			t.Errorf("%+v", r)
		}
	}
	if sum["sign"] != 3 || sum["kv-read"] != 1 || len(sum) != 2 {
		t.Errorf("weights %v", sum)
	}
	if text := payload(100); len(text) != 100 || text != payload(100) {
		t.Errorf("payload %q", text)
	}
}

// The profile sends what vault-benchmark sent in the study, and the file's own values win.
func TestProfile(t *testing.T) {
	c := New().(*Config)
	c.Profile, c.Members = vaultBenchmark, factor.Of(2)
	c.fill(func(field string) bool { return field == "members" })
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	h := c.load()
	got := fmt.Sprintln(c.Members, c.TLS, h.Workers, h.Duration, h.Warmup, h.Timeout, c.Encryption, c.Signing, c.Protocol)
	for _, r := range c.requests(&prepared{Mount: "m", Signature: "S", Ciphertext: "C"}) {
		got += fmt.Sprintln(r.Path, r.Weight, string(r.Body))
	}
	want := `[2] [true] [1300] 10s 0s 1m [rsa-2048] [rsa-2048] [h2]
/v1/m-transit/sign/signing 25 {"input":"","signature_algorithm":"pss"}
/v1/m-transit/verify/signing 25 {"input":"","signature":"S","signature_algorithm":"pkcs1v15"}
/v1/m-transit/encrypt/encryption 25 {"plaintext":"` + base64.StdEncoding.EncodeToString([]byte(payload(128))) + `"}
/v1/m-transit/decrypt/encryption 25 {"ciphertext":"C"}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if n := len(c.bodies()["decrypt"]["plaintext"]); n != base64.StdEncoding.EncodedLen(64) {
		t.Errorf("the ciphertext holds %d characters", n)
	}
	c = New().(*Config)
	c.Profile, c.Rate = vaultBenchmark, factor.Of[quantity.Frequency](100)
	c.fill(func(field string) bool { return field == "rate" || field == "payload" })
	if len(c.Workers) > 0 || c.Payloads != (payloads{}) {
		t.Errorf("a rate has %v workers, a payload beside %+v", c.Workers, c.Payloads)
	}
}
