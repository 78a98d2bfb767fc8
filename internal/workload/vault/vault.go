// Package vault measures what a layer costs a secrets server: OpenBao, or Vault if it is installed, with 1 to 9 members
// and raft storage. The load signs, verifies, encrypts and decrypts with the transit engine, and reads and writes
// secrets.
//
//	workloads:
//	  - vault: {members: 5, workers: 300, duration: 10s}
//	  - vault: {profile: vault-benchmark}   # the load of a published study (profile.go)
//
// Tare starts the members in pods of their own, or uses an existing server at a URL. It initialises and unseals the
// members through their HTTP API (api.go), from the client's pod. Keys and tokens stay in memory and are never
// recorded. A member is the program itself, whose configuration and certificate are files in memory (setup.go). Members
// always use TLS among themselves. TLS for clients and the audit device are parameters. The layer vault-server can set
// both for each arm.
//
// The load goes to the leader over HTTP/1.1 or HTTP/2 (package load). It is a closed loop with workers, as in
// vault-benchmark, or an open loop at a rate. If the leader changes during a trial, the trial breaks the rule "server".
// Requests that fail count as errors. With an objective, a trial searches the largest number of workers. A try in which
// the leader changes is then one that the servers did not carry.
package vault

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/layer/vaultserver"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
	"tare/internal/workload/staircase"
)

const name = "vault"

// Config holds the parameters of the workload.
type Config struct {
	Profile    profile                           `yaml:"profile" json:"profile,omitempty" enum:"vault-benchmark" doc:"published study whose members, keys, operations, payloads, protocol, workers and times are used where none are given"`
	Members    factor.Levels[int]                `yaml:"members" json:"members" min:"1" max:"9" doc:"members of the cluster, each in a pod of its own. Raft needs more than half of them: an even number survives no more failures than one member less"`
	TLS        factor.Levels[bool]               `yaml:"tls" json:"tls" doc:"TLS on the members' listener for clients, by an authority that Tare makes for each set-up; members always use TLS among themselves"`
	Audit      factor.Levels[vaultserver.Audit]  `yaml:"audit" json:"audit" enum:"none,file" doc:"audit device: none, or file, which is on the leader's volume"`
	Operations operations                        `yaml:"operations" json:"operations" doc:"weight of each operation among the requests; sign, verify, encrypt and decrypt alike if absent"`
	Encryption factor.Levels[EncryptionKey]      `yaml:"encryption" json:"encryption" enum:"aes256-gcm96,aes128-gcm96,chacha20-poly1305,rsa-2048,rsa-3072,rsa-4096" doc:"type of the transit key for encrypt and decrypt"`
	Signing    factor.Levels[SigningKey]         `yaml:"signing" json:"signing" enum:"ed25519,ecdsa-p256,ecdsa-p384,ecdsa-p521,rsa-2048,rsa-3072,rsa-4096" doc:"type of the transit key for sign and verify"`
	Signature  signatures                        `yaml:"signature" json:"signature,omitzero" doc:"algorithm of RSA signatures, for each operation"`
	Payload    factor.Levels[quantity.Size]      `yaml:"payload" json:"payload" min:"1B" max:"256KiB" doc:"bytes to sign or encrypt, or of a secret"`
	Payloads   payloads                          `yaml:"payloads" json:"payloads,omitzero" doc:"payloads of single operations, in place of payload"`
	Protocol   factor.Levels[protocol]           `yaml:"protocol" json:"protocol" enum:"http/1.1,h2" doc:"http/1.1, or h2: HTTP/2 over TLS, with 250 requests at a time on each connection. Without TLS, h2 falls back to http/1.1, as the clients of Vault do"`
	Secrets    int                               `yaml:"secrets" json:"secrets" min:"1" max:"10000" doc:"number of secrets that kv-read and kv-write use"`
	Workers    factor.Levels[int]                `yaml:"workers" json:"workers,omitempty" min:"1" max:"100000" doc:"closed loop: this many requests are under way at a time, each on its own connection, and each response is followed by the next request; 300 if neither workers nor rate is given"`
	Rate       factor.Levels[quantity.Frequency] `yaml:"rate" json:"rate,omitempty" max:"10000000/s" doc:"open loop, in place of workers: requests per second of all clients together, each sent at its time whatever the server does"`
	Arrivals   load.Arrivals                     `yaml:"arrivals" json:"arrivals" enum:"constant,poisson" doc:"how an open loop spaces its requests: constant, or poisson"`
	Conns      int                               `yaml:"connections" json:"connections" min:"1" max:"100000" doc:"connections of an open loop, of all clients together"`
	Clients    factor.Levels[int]                `yaml:"clients" json:"clients" min:"1" max:"256" doc:"processes that share the load"`
	Threads    int                               `yaml:"threads" json:"threads,omitempty" min:"0" max:"1024" doc:"CPUs that each client may use at a time; 0 for all"`
	Duration   factor.Levels[quantity.Duration]  `yaml:"duration" json:"duration" min:"10ms" max:"24h" doc:"measured time of a trial"`
	Quantiles  load.Quantiles                    `yaml:"quantiles" json:"quantiles,omitempty" doc:"quantiles of the latency that every trial must have: p50, p90, p99, p99.9. At each rate a trial is measured for as long as the highest of them needs, and at least for duration"`
	Warmup     quantity.Duration                 `yaml:"warmup" json:"warmup" min:"0s" max:"24h" doc:"time before the measured time, with the same load"`
	Timeout    quantity.Duration                 `yaml:"timeout" json:"timeout" min:"1ms" max:"1m" doc:"time after which a request without a response has failed"`
	Objective  *http.Objective                   `yaml:"objective" json:"objective,omitempty" doc:"limits on errors and latency. A trial then searches its capacity, the largest number of workers that meets them, in place of measuring one number. The search begins at workers"`
	Within     quantity.Duration                 `yaml:"within" json:"within" min:"1s" max:"10m" doc:"time within which the servers must be ready"`
	Pace       int                               `yaml:"performanceMultiplier" json:"performanceMultiplier" min:"1" max:"10" doc:"multiplier of raft's timeouts. At 1, which upstream recommends for production, a member is suspected after a second without a heartbeat; 5 is upstream's default"`
	Program    string                            `yaml:"program" json:"program" doc:"program of the servers: bao, vault, or a path"`
	Image      string                            `yaml:"image" json:"image,omitempty" doc:"image of the members' pods on a cluster, which holds the program; the testbed's if absent"`
	Volume     quantity.Size                     `yaml:"volume" json:"volume" min:"16MiB" doc:"size of each member's volume, for its data and its audit file"`
	URL        string                            `yaml:"url" json:"url,omitempty" doc:"URL of an existing server, in place of servers that Tare starts: http://HOST[:PORT], or https. Tare adds engines, a policy and a token, and removes them again"`
	Token      reference.Text                    `yaml:"token" json:"token,omitempty" doc:"token for the server at the url, as a reference: $VAULT_TOKEN, $(file:/PATH)"`
	CA         string                            `yaml:"ca" json:"ca,omitempty" doc:"file with the certificates to trust at the url, in PEM; the system's if absent"`
	Judged     []string                          `yaml:"headline" json:"headline,omitempty" doc:"metrics that get a verdict, corrected for many comparisons; if absent rate and latency-mean of a closed loop, or the quantiles or else p50 and p99 of an open loop, and the CPU time per request"`

	trusted string // contents of CA
}

// New returns the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Members: factor.Of(1), TLS: factor.Of(false), Audit: factor.Of(vaultserver.NoAudit),
		Encryption: factor.Of(EncryptionKey("aes256-gcm96")), Signing: factor.Of(SigningKey("ed25519")),
		Payload: factor.Of(quantity.Size(128)), Protocol: factor.Of(http1), Secrets: 100,
		Arrivals: load.Constant, Conns: 64, Clients: factor.Of(1),
		Duration: factor.Of(quantity.Duration(10 * time.Second)), Warmup: quantity.Duration(time.Second), Timeout: quantity.Duration(30 * time.Second),
		Within: quantity.Duration(time.Minute), Pace: 5, Program: "bao", Volume: 1 << 30,
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    name,
	Summary: "OpenBao or Vault: transit and KV requests to 1 to 9 members; latency, success, CPU per request",
	New:     New,
	Probe:   probe,
	Helpers: Helpers,
}

// Helpers are the workload's helpers.
var Helpers = slices.Concat([]testbed.Helper{memberHelper, requestHelper, service.Helper}, http.Helpers)

// Declare declares the pods that the members need.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Fill: c.fill, ReadFiles: c.readFiles, Validate: c.validate, Tests: experiment.TestsServer, Needs: experiment.Needs{Network: true}}
	if c.URL == "" {
		d.Needs.MemberVolume, d.Needs.Image = c.Volume, c.Image
		for _, n := range c.Members {
			d.Needs.Members = max(d.Needs.Members, n)
		}
	}
	return d
}

// usual is the number of workers if the file gives neither workers nor a rate.
const usual = 300

// load returns the configuration of the workload http that generates the load.
func (c *Config) load() *http.Config {
	h := &http.Config{
		Arrivals: c.Arrivals, Clients: c.Clients, Connections: factor.Of(c.Conns), Threads: c.Threads,
		Duration: c.Duration.One(), Warmup: c.Warmup, Timeout: c.Timeout, Late: 0.3, Judged: c.Judged, Quantiles: c.Quantiles,
		URL: c.URL, Objective: c.Objective,
	}
	if h.Rate, h.Workers = c.Rate, c.workers(); len(h.Workers) > 0 {
		h.Connections = h.Workers
	}
	return h
}

// workers returns the numbers of workers; nil in an open loop.
func (c *Config) workers() factor.Levels[int] {
	if len(c.Rate) == 0 && len(c.Workers) == 0 {
		return factor.Of(usual)
	}
	return c.Workers
}

// extra lists metrics of package load that this workload has and the workload http lacks.
var extra = []string{"latency-max", "latency-min"}

// Measures returns the metrics of a trial: the metrics of the workload http, the shortest and longest
// latency, and the latency of each operation.
func (c *Config) Measures() experiment.Measures {
	m := c.load().MeasuresWith(extra...)
	m.Expected += 200 * time.Millisecond
	m.Limit += 2 * callLimit
	if n := c.Members.One(); n%2 == 0 && c.URL == "" {
		m.Remark = vaultserver.Quorum(n)
	}
	if c.Objective != nil {
		m.Limit += staircase.MostTries * c.Within.Std()
		return m
	}
	for _, o := range c.Operations.drawn() {
		for _, name := range []string{o.name + "-latency-mean", o.name + "-latency-p99"} {
			m.Metrics = append(m.Metrics, experiment.Metric{Name: name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
		}
	}
	return m
}

// findProgram returns the path of the program on this machine. It searches PATH, and for bao the directory of `make
// openbao`, too.
func findProgram(program string) (string, error) {
	if program != "bao" {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("the program of the servers: %w", err)
		}
		return filepath.Abs(path)
	}
	path, err := testbed.Installed(program, "openbao")
	if err != nil {
		return "", fmt.Errorf("the program of the servers: %w (install it with: make openbao)", err)
	}
	return path, nil
}

func probe(ctx context.Context) (all []testbed.Finding) {
	for _, program := range []string{"bao", "vault"} {
		path, err := findProgram(program)
		if err == nil || program == "bao" {
			all = append(all, workload.ProbeVersion(ctx, program, path, err, "make openbao"))
		}
	}
	return all
}

func (c *Config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	return workload.ReadFile(read, "ca", c.CA, &c.trusted)
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Rate) > 0 && len(c.Workers) > 0 {
		errs.Add("rate", "there is workers too: a loop is open (rate) or closed (workers)")
	}
	if c.Program == "" {
		errs.Add("program", "no program is given")
	}
	c.validateKeys(&errs)
	if c.Objective != nil {
		c.Objective.Validate(&errs, c.workers())
		if len(c.Judged) > 0 {
			errs.Add("headline", "a search measures the capacity, which is always a headline: leave headline out")
		}
	}
	c.validateURL(&errs)
	c.Quantiles.Check(&errs, len(c.Rate) == 0)
	for _, d := range c.Duration {
		load.CheckHeadline(&errs, c.Judged, []string{"latency-mean", "rate"}, c.Rate, func(rate float64) quantity.Duration { return c.Quantiles.Measured(rate, d) }, "requests")
	}
	return errs
}

func (c *Config) validateURL(errs *experiment.FieldErrors) {
	*errs = append(*errs, c.Token.Validate("token")...)
	if c.URL == "" {
		if c.Token != "" {
			errs.Add("token", "there is no url: servers that Tare starts get a token that it makes")
		}
		if c.CA != "" {
			errs.Add("ca", "there is no url: servers that Tare starts have certificates that it makes")
		}
		return
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Path != "" && u.Path != "/":
		errs.Add("url", "%q is not http://HOST[:PORT] or https", c.URL)
	case u.User != nil:
		errs.Add("url", "it holds a user, which would be recorded with the run")
	}
	if c.Token == "" {
		errs.Add("token", "the server at the url asks for a token: give a reference to it, such as $VAULT_TOKEN")
	}
	if len(c.Members) != 1 || len(c.TLS) != 1 || len(c.Audit) != 1 {
		errs.Add("url", "an existing server keeps its own members, tls and audit: leave them out")
	}
}
