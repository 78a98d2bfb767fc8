package vault

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/layer/vaultserver"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http"
	"tare/internal/workload/http/load"
)

type trial struct {
	*http.Trial
	up         *servers
	before     *vaultserver.State
	foreign    string        // URL of an existing server; "": the load goes to the leader
	within     time.Duration // time within which the servers must have a leader
	operations []operation
}

// Prepare finds the leader of the servers, opens the connections and sends the warm-up.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	if c.Objective == nil {
		return workload.Uncut(ctx, c, t)
	}
	r, err := c.begin(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return r.Capacity(ctx, r.leader) }, nil
}

// PrepareSlices prepares a trial of n slices. The slices share the trial's duration and connections.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	return c.begin(ctx, t, n)
}

func (c *Config) begin(ctx context.Context, t *workload.Trial, n int) (*trial, error) {
	up, ok := t.Standing.(*servers)
	if !ok {
		return nil, errors.New("no servers are up")
	}
	before, err := up.State(ctx)
	if err != nil {
		return nil, up.fail(ctx, err)
	}
	about := struct {
		*vaultserver.State
		Keys map[string]string `json:"keys,omitempty"`
	}{before, up.prepared.Keys}
	if err := workload.KeepIndented(t.Raw, "servers.json", about); err != nil {
		return nil, err
	}
	r := &trial{up: up, before: before, foreign: c.URL, within: c.Within.Std(), operations: c.Operations.drawn()}
	up.audited = 0
	if err := r.emptyAudit(ctx); err != nil {
		return nil, err
	}
	config := load.Config{Protocol: load.HTTP1, URL: cmp.Or(c.URL, before.Leader), Timeout: c.Timeout.Std(), Requests: c.requests(&up.prepared)}
	if up.tls || up.authority != "" {
		config.TLS = &load.TLS{CA: up.authority}
	}
	driver := c.load()
	if c.Protocol.One() == h2 && strings.HasPrefix(config.URL, "https:") {
		config.Protocol, config.Streams = load.H2, streams
		clients := c.Clients.One()
		each := (c.load().Connections.One() + clients - 1) / clients // requests at a time of a client
		driver.Connections = factor.Of((each + streams - 1) / streams * clients)
	}
	r.Trial, err = driver.Drive(ctx, t, n, config, up.members)
	return r, err
}

// emptyAudit empties the leader's audit file. Otherwise the file would fill its volume over many trials.
func (r *trial) emptyAudit(ctx context.Context) error {
	if r.up.auditFile == "" {
		return nil
	}
	if err := r.up.ask(ctx, r.up.place(r.before.Leader), callLimit, request{Empty: r.up.auditFile}, nil); err != nil {
		return r.up.fail(ctx, err)
	}
	return nil
}

// countAudit adds the size of the leader's audit file to what was audited in this trial.
func (r *trial) countAudit(ctx context.Context) error {
	if r.up.auditFile == "" {
		return nil
	}
	size := int64(0)
	if err := r.up.ask(ctx, r.up.place(r.before.Leader), callLimit, request{Size: r.up.auditFile}, &size); err != nil {
		return r.up.fail(ctx, err)
	}
	r.up.audited += size
	return nil
}

// leader returns the URL of the leader after a try of a search, and whether the leader has changed in the try: raft
// replaces a leader whose heartbeats come too late under the load. leader waits until the servers have a leader.
func (r *trial) leader(ctx context.Context) (url, failed string, err error) {
	if err := r.countAudit(ctx); err != nil {
		return "", "", err
	}
	waiting, stop := context.WithTimeout(ctx, r.within)
	defer stop()
	var now *vaultserver.State
	if err := retry(waiting, func(ctx context.Context) error { now, err = r.up.State(ctx); return err }); err != nil {
		return "", "", r.up.fail(ctx, err)
	}
	if r.changed(now) {
		failed = fmt.Sprintf("the leader changed: %s, then %s", r.before.Leader, now.Leader)
	}
	r.before = now
	return cmp.Or(r.foreign, now.Leader), failed, r.emptyAudit(ctx)
}

func (r *trial) changed(now *vaultserver.State) bool {
	return now.Leader != r.before.Leader || now.Since != r.before.Since
}

// fail returns an error that breaks the rule "server", and makes Tare set the servers up again. A lost connection to
// the cluster and a cancellation are returned unchanged.
func (up *servers) fail(ctx context.Context, err error) error {
	if _, lost := errors.AsType[*testbed.Disturbance](err); lost || ctx.Err() != nil {
		return err
	}
	up.failure = err
	return &workload.Invalid{Rule: workload.RuleServer, Detail: err.Error()}
}

// Finish ends the clients and returns the result of the trial. The trial is invalid if the servers changed
// their leader.
func (r *trial) Finish(ctx context.Context) (workload.Result, error) {
	result, sent, err := r.End(ctx)
	if err != nil {
		return result, err
	}
	if err := r.countAudit(ctx); err != nil { // before State's request, which would add to the audit file
		return result, err
	}
	after, err := r.up.State(ctx)
	if err != nil {
		return result, r.up.fail(ctx, err)
	}
	if r.changed(after) {
		return result, workload.Invalidf(workload.RuleServer, "the leader changed during the trial: %s since %s, then %s since %s", r.before.Leader, r.before.Since, after.Leader, after.Since)
	}
	result.Values, result.Unavailable = sent.Values(extra...)
	for _, o := range r.operations {
		h := sent.Named[o.name]
		if h == nil {
			continue
		}
		result.Values[o.name+"-latency-mean"] = h.Mean().Seconds()
		if h.Count() >= 100*load.Beyond {
			result.Values[o.name+"-latency-p99"] = h.At(0.99).Seconds()
		}
	}
	return result, nil
}

// EncryptionKey is a type of transit key that encrypts.
type EncryptionKey string

// SigningKey is a type of transit key that signs.
type SigningKey string

func (k SigningKey) isRSA() bool { return strings.HasPrefix(string(k), "rsa-") }

// operations holds the weight of each operation. The number of requests for an operation is in proportion to its
// weight.
type operations struct {
	Sign    float64 `yaml:"sign" json:"sign,omitempty" min:"0" doc:"weight of transit/sign"`
	Verify  float64 `yaml:"verify" json:"verify,omitempty" min:"0" doc:"weight of transit/verify, always of the same signature"`
	Encrypt float64 `yaml:"encrypt" json:"encrypt,omitempty" min:"0" doc:"weight of transit/encrypt"`
	Decrypt float64 `yaml:"decrypt" json:"decrypt,omitempty" min:"0" doc:"weight of transit/decrypt, always of the same ciphertext"`
	Read    float64 `yaml:"kv-read" json:"kv-read,omitempty" min:"0" doc:"weight of reading a secret of the KV engine, version 2"`
	Write   float64 `yaml:"kv-write" json:"kv-write,omitempty" min:"0" doc:"weight of writing a secret"`
}

// mostEncrypted returns the largest number of bytes that a key can encrypt. For RSA it is one block by OAEP with
// SHA-256 (RFC 8017, 7.1.1). Other keys have no limit.
func mostEncrypted(key EncryptionKey) int {
	bits, rsa := strings.CutPrefix(string(key), "rsa-")
	if !rsa {
		return math.MaxInt
	}
	n, _ := strconv.Atoi(bits) // names of RSA keys end in the number of bits, such as rsa-2048
	return n/8 - 66
}

type operation struct {
	name   string
	weight float64
}

// drawn lists the operations that have a weight. If none has, it lists the four operations of transit with equal
// weights.
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

// payload returns a random text of n bytes, which the load signs, encrypts or stores. Every set-up gets the same
// text.
func payload(n int) string {
	random := rand.New(rand.NewPCG(1, 0x7461_7265))
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz234567"[random.IntN(32)]
	}
	return string(text)
}

// bodies holds the bodies of the requests to transit, by operation. For verify it is the body that makes the signature,
// and for decrypt the body that makes the ciphertext.
type bodies map[string]map[string]string

// with returns the body of an operation with one more field.
func (b bodies) with(operation, field, value string) map[string]string {
	body := maps.Clone(b[operation])
	body[field] = value
	return body
}

func (c *Config) bodies() bodies {
	all := bodies{}
	for operation, field := range map[string]string{"sign": "input", "verify": "input", "encrypt": "plaintext", "decrypt": "plaintext"} {
		text := payload(c.Payloads.of(operation, c.Payload.One()))
		all[operation] = map[string]string{field: base64.StdEncoding.EncodeToString([]byte(text))}
	}
	if c.Signing.One().isRSA() {
		for operation, algorithm := range map[string]signature{"sign": c.Signature.Sign, "verify": c.Signature.Verify} {
			if algorithm != "" {
				all[operation]["signature_algorithm"] = string(algorithm)
			}
		}
	}
	return all
}

func (c *Config) requests(p *prepared) []load.Request {
	bodies := c.bodies()
	transit, kv := "/v1/"+transitMount(p.Mount)+"/", "/v1/"+kvMount(p.Mount)+"/data/"
	var list []load.Request
	add := func(o operation, path string, body any) {
		r := load.Request{Name: o.name, Path: path, Weight: o.weight, Headers: [][2]string{{"X-Vault-Token", p.LoadToken}, {"X-Vault-Request", "true"}}}
		if body != nil {
			r.Method = "POST"
			r.Body, _ = json.Marshal(body) // encoding texts cannot fail
		}
		list = append(list, r)
	}
	for _, o := range c.Operations.drawn() {
		switch o.name {
		case "sign":
			add(o, transit+"sign/"+signingKey, bodies["sign"])
		case "verify":
			add(o, transit+"verify/"+signingKey, bodies.with("verify", "signature", p.Signature))
		case "encrypt":
			add(o, transit+"encrypt/"+encryptionKey, bodies["encrypt"])
		case "decrypt":
			add(o, transit+"decrypt/"+encryptionKey, map[string]string{"ciphertext": p.Ciphertext})
		default:
			var body any
			if o.name == "kv-write" {
				body = secretOf(payload(int(c.Payload.One())))
			}
			o.weight /= float64(c.Secrets)
			for i := range c.Secrets {
				add(o, kv+secretName(i), body)
			}
		}
	}
	return list
}

func secretName(i int) string { return fmt.Sprintf("secret-%d", i) }

func secretOf(text string) any { return map[string]any{"data": map[string]string{"value": text}} }
