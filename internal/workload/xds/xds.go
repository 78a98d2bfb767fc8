// Package xds measures the cost of a layer for a control plane that speaks Envoy's discovery protocols, such as istiod.
// Simulated sidecars, each with its own connection, connect at a given rate. They subscribe as Envoy does (package
// sidecar), and wait for pushes. A push is what the server sends after a change of its configuration.
//
//	workloads:
//	  - xds:
//	      server: {run: [./control-plane, --listen, ":$(TARE_PORT)"]}
//	      sidecars: [100, 1000]
//	      rate: 50/s
//	      change: {run: [./change-one-endpoint.sh], times: 10}
//
// # A trial
//
// In the measured part all sidecars connect, at the rate. The trial waits until each has received the resources that it
// asked for. With churn, all sidecars connect before the measured part, in which a share of the sidecars disconnects
// and reconnects. Then come the changes: a command changes the server's configuration, and the trial waits until the
// push has reached the last sidecar. After the trial all sidecars disconnect, and the server comes to rest.
//
// The load is open: the time until a sidecar is ready counts from the time at which it was due to connect. The time
// therefore includes the wait of a sidecar that the server rejected. A rejected sidecar reconnects as Envoy does, after
// a random pause. The bound of the pause doubles each time.
//
// With an objective, a trial searches for the largest number of sidecars that the server carries.
//
// The files: server.go has the server and the clients, which hold sidecars (package fleet). trial.go has the stages and
// changes of a trial. capacity.go has the search, and record.go computes the metrics.
package xds

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/experiment/strictyaml"
	"tare/internal/layer/placeholder"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/service"
	"tare/internal/workload/staircase"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/istiod"
	"tare/internal/workload/xds/sidecar"
)

const name = "xds"

// Config is the parameters of the workload.
type Config struct {
	Server    *service.Config                   `yaml:"server" json:"server,omitempty" doc:"program of the xDS server; either this, istiod or address"`
	Istiod    *istiod.Config                    `yaml:"istiod" json:"istiod,omitempty" doc:"Istio's control plane as the server, on this machine and without Kubernetes. Tare makes its configuration and the changes"`
	Address   string                            `yaml:"address" json:"address,omitempty" doc:"HOST:PORT of a server that already runs"`
	Sidecars  factor.Levels[int]                `yaml:"sidecars" json:"sidecars" doc:"simulated sidecars, all clients together"`
	Rate      factor.Levels[quantity.Frequency] `yaml:"rate" json:"rate" doc:"sidecars that connect, or disconnect, per second"`
	Protocol  factor.Levels[sidecar.Protocol]   `yaml:"protocol" json:"protocol" doc:"variant of the aggregated discovery service: delta, or sotw (state of the world)"`
	Churn     factor.Levels[quantity.Percent]   `yaml:"churn" json:"churn" doc:"share of the sidecars that disconnects and reconnects while measuring; with 0% all sidecars connect while measuring"`
	Metrics   int                               `yaml:"metricsPort" json:"metricsPort,omitempty" min:"0" max:"65535" doc:"port at which a server serves /metrics in Prometheus' format; its Go heap in use is then measured"`
	Configure reference.Arguments               `yaml:"configure" json:"configure,omitempty" doc:"program and arguments that make the server's configuration before the sidecars connect. It runs where the program of change runs; TARE_SIDECARS holds the number of sidecars"`
	Objective *Objective                        `yaml:"objective" json:"objective,omitempty" doc:"search for the most sidecars that the server carries, beginning with the number in sidecars"`
	Change    *change                           `yaml:"change" json:"change,omitempty" doc:"changes of the server's configuration while all sidecars are connected"`
	TLS       *tls                              `yaml:"tls" json:"tls,omitempty" doc:"how sidecars encrypt; in plaintext if absent"`
	Token     reference.Text                    `yaml:"token" json:"token,omitempty" doc:"bearer token in the metadata of each stream, by reference: $ISTIO_TOKEN, $(file:/PATH)"`
	Node      node                              `yaml:"node" json:"node" doc:"identity that the sidecars give the server; in its texts $(TARE_INDEX) is the sidecar's number, and $(TARE_IP) an address that no other sidecar has"`
	Paths     factor.Levels[testbed.Path]       `yaml:"paths" factor:"path" json:"paths" doc:"paths from the client's pod to the server's"`
	Clients   factor.Levels[int]                `yaml:"clients" json:"clients" min:"1" max:"256" doc:"processes that share the sidecars, on a cluster pods"`
	Ready     quantity.Duration                 `yaml:"readyTimeout" json:"readyTimeout" doc:"longest time after the last sidecar was due until all are ready, and longest time of a push to all"`
	Settle    quantity.Duration                 `yaml:"settle" json:"settle" doc:"time for the server to come to rest after the sidecars have disconnected"`
	Late      quantity.Duration                 `yaml:"late" json:"late" doc:"limit on the lateness in connecting, at its 99th percentile; beyond it the generator counts as late"`
}

// tls holds the certificates that sidecars trust, and their own.
type tls struct {
	CA         string         `yaml:"ca" json:"ca,omitempty" doc:"file with the certificates to trust, in PEM; the system's if absent"`
	Cert       string         `yaml:"cert" json:"cert,omitempty" doc:"file with the sidecars' own certificate, in PEM"`
	Key        reference.Text `yaml:"key" json:"key,omitempty" doc:"key of that certificate in PEM, by reference: $(file:/PATH)"`
	ServerName string         `yaml:"serverName" json:"serverName,omitempty" doc:"name in the server's certificate; the host of its address if absent"`

	authority, certificate string // contents of the files CA and Cert
}

// node is the identity that sidecars give the server.
type node struct {
	ID       string              `yaml:"id" json:"id" doc:"identity; istiod expects sidecar~IP~NAME.NAMESPACE~NAMESPACE.svc.DOMAIN"`
	Cluster  string              `yaml:"cluster" json:"cluster,omitempty" doc:"service cluster of the sidecar"`
	Metadata strictyaml.Document `yaml:"metadata" json:"metadata,omitempty" doc:"metadata of the node, as a map"`
}

// change is the command that changes the server's configuration, and its schedule.
type change struct {
	Run   reference.Arguments `yaml:"run" json:"run,omitempty" doc:"program and arguments that change the configuration; absent for istiod, whose changes move an endpoint. It runs in the server's pod, or with address on the machine of tare; TARE_CHANGE holds a number that no other change of the run has"`
	Times int                 `yaml:"times" json:"times,omitempty" min:"0" max:"10000" doc:"changes in a trial; 1 if absent"`
	Every quantity.Duration   `yaml:"every" json:"every,omitempty" doc:"time between changes; a change begins only after the last one has reached all sidecars; 1s if absent"`
	Push  []resource          `yaml:"push" json:"push,omitempty" doc:"types of resources whose first response counts as the push; any if absent, eds for istiod"`
}

// resource is a type of resources: clusters (cds), endpoints, listeners or routes.
type resource string

// Values lists the types in the order of package sidecar's constants.
func (resource) Values() []string { return []string{"cds", "eds", "lds", "rds"} }

// types lists the types of resources that show a push. A sidecar has received the push when the first response of
// one of these types arrives.
func (c *change) types() []sidecar.Type {
	return lists.Map(c.Push, func(r resource) sidecar.Type { return sidecar.Type(slices.Index(r.Values(), string(r))) })
}

func (c *Config) times() int {
	if c.Change == nil {
		return 0
	}
	return max(c.Change.Times, 1)
}

func (c *change) every() time.Duration { return cmp.Or(c.Every.Std(), time.Second) }

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Sidecars: factor.Of(100), Rate: factor.Of(quantity.Frequency(50)), Protocol: factor.Of(sidecar.Delta),
		Churn: factor.Of(quantity.Percent(0)), Paths: factor.Of(testbed.PodToPod), Clients: factor.Of(1),
		Node:  node{ID: "sidecar~$(TARE_IP)~tare-$(TARE_INDEX).default~default.svc.cluster.local"},
		Ready: quantity.Duration(time.Minute), Settle: quantity.Duration(time.Second), Late: quantity.Duration(100 * time.Millisecond),
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    name,
	Summary: "simulated sidecars at an xDS server such as istiod: time until ready, push time, bytes and CPU per sidecar",
	Example: "address: \"127.0.0.1:15010\"",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "by sidecars of its own"),
	Helpers: []testbed.Helper{service.Helper, fleet.Helper, istiod.Helper},
}

// Declare lists the pods that the workload needs: pods for the sidecars, and one for the server if the workload
// starts it.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{Fill: c.fill, ReadFiles: c.readFiles, Validate: c.validate, Tests: experiment.TestsServer,
		Elsewhere: "istiod without Kubernetes runs on the local testbed only: examples/kubernetes/istio-scenario-one.yaml measures the istiod of a cluster"}
	if most := slices.Max(append([]int{1}, c.Clients...)); most > 1 {
		d.Needs.Clients = most
	}
	d.Needs.Network = c.Address == "" || d.Needs.Clients > 0
	d.Needs.OwnPod = !d.Needs.Network
	c.Server.Declare(&d)
	if c.Istiod != nil {
		d.Programs = append(d.Programs, istiod.Program())
		d.Needs.Only = experiment.TestbedLocal
	}
	where := experiment.OnMachine
	if c.Server != nil {
		where = experiment.AtSite
	}
	commands := []reference.Arguments{c.Configure}
	if c.Change != nil {
		commands = append(commands, c.Change.Run)
	}
	for _, run := range commands {
		if len(run) > 0 {
			d.Programs = append(d.Programs, experiment.Program{Name: run[0], Where: where})
		}
	}
	return d
}

// fill sets the identity of sidecars, and the type of pushes, as istiod needs them.
func (c *Config) fill(given func(string) bool) {
	if c.Istiod == nil {
		return
	}
	if len(c.Istiod.Services) == 0 {
		c.Istiod.Services = factor.Of(1)
	}
	if !given("node") {
		c.Node = node{ID: istiod.NodeID, Metadata: istiod.NodeMetadata}
	}
	if c.Change != nil && len(c.Change.Push) == 0 {
		c.Change.Push = []resource{"eds"}
	}
}

func (c *Config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	if c.TLS == nil {
		return nil
	}
	return append(workload.ReadFile(read, "tls.ca", c.TLS.CA, &c.TLS.authority), workload.ReadFile(read, "tls.cert", c.TLS.Cert, &c.TLS.certificate)...)
}

// measured returns the number of sidecars that connect in the measured part: all, or the share Churn.
func (c *Config) measured() int {
	n := c.Sidecars.One()
	if share := float64(c.Churn.One()); share > 0 {
		return max(int(share*float64(n)+0.5), 1)
	}
	return n
}

// rampTime returns how long it takes to connect or disconnect n sidecars at the rate.
func (c *Config) rampTime(n int) time.Duration {
	return time.Duration(float64(n) / float64(c.Rate.One()) * float64(time.Second))
}

// Names of metrics that are no mean or quantile of times.
const (
	connectRate  = "connect-rate"        // sidecars that became ready per second
	readyLast    = "ready-last"          // time until the last sidecar was ready, in s
	pushLast     = "push-last"           // time until a push reached the last sidecar, in s; the mean over all changes
	sidecarBytes = "sidecar-bytes"       // bytes of the responses while sidecars connect, per sidecar
	pushBytes    = "push-bytes"          // bytes of the responses to a change, per sidecar
	errorShare   = "errors"              // number of errors divided by the attempts to connect
	limitedShare = "limited"             // number of refusals by the server's limit divided by the attempts to connect
	memoryReady  = "server-memory-ready" // resident memory of the server after the sidecars have connected, in bytes
	memoryPeak   = "server-memory-peak"  // highest resident memory of the server, in bytes
	heapReady    = "server-heap-ready"   // heap of the server in use when all sidecars are ready, in bytes
	heapPush     = "server-heap-push"    // bytes of the server's heap that are in use after the last push
)

// Measures returns the metrics of a trial, and its duration.
func (c *Config) Measures() experiment.Measures {
	n, changes := c.measured(), c.times()
	m := experiment.Measures{Cost: &experiment.Cost{Prefix: "sidecar", Unit: "sidecar", Parts: []string{"client"}}}
	if c.Address == "" {
		m.Cost.Parts = []string{"client", "server"}
	}
	if c.Objective != nil {
		m.Metrics = c.Objective.metrics(n)
		m.Expected, m.Limit = time.Duration(staircase.Coarse.Usual+2)*c.longestTry(n), staircase.MostTries*c.longestTry(overload*c.Objective.most(n))+time.Minute
		return m
	}
	add := func(name, unit string, better experiment.Better, scale experiment.Scale) *experiment.Metric {
		m.Metrics = append(m.Metrics, experiment.Metric{Name: name, Unit: unit, Better: better, Scale: scale})
		return &m.Metrics[len(m.Metrics)-1]
	}
	m.Metrics = workload.TimeMetrics("ready", n, quantiles)
	furthest := &m.Metrics[len(m.Metrics)-1]
	furthest.Headline, furthest.Optional = true, false
	add(readyLast, "s", experiment.Lower, experiment.Ratio).Optional = true
	add(connectRate, "1/s", experiment.Higher, experiment.Ratio).Discrete = true
	add(sidecarBytes, "B", experiment.Lower, experiment.Ratio).Discrete = true
	if changes > 0 {
		m.Metrics = append(m.Metrics, workload.TimeMetrics("push", n*changes, quantiles)...)
		add(pushLast, "s", experiment.Lower, experiment.Ratio).Headline = true
		add(pushBytes, "B", experiment.Lower, experiment.Ratio).Discrete = true
	}
	add(errorShare, "", experiment.Lower, experiment.Difference).Discrete = true
	add(limitedShare, "", experiment.Lower, experiment.Difference).Discrete = true
	if c.Address == "" {
		for _, name := range []string{memoryReady, memoryPeak} {
			memory := add(name, "B", experiment.Lower, experiment.Ratio)
			memory.Discrete, memory.Optional = true, true
		}
	}
	if c.Metrics > 0 || c.Istiod != nil {
		add(heapReady, "B", experiment.Lower, experiment.Ratio).Optional = true
		if changes > 0 {
			add(heapPush, "B", experiment.Lower, experiment.Ratio).Optional = true
		}
	}

	planned := c.rampTime(n)
	if c.Churn.One() > 0 {
		planned += c.rampTime(n) + c.rampTime(c.Sidecars.One()) // with churn: all sidecars connect, then n of them disconnect and connect again
	}
	if changes > 0 {
		planned += time.Duration(changes) * c.Change.every()
	}
	m.Expected = planned + c.Settle.Std() + 500*time.Millisecond
	m.Limit = 2*planned + time.Duration(3+2*changes)*(c.Ready.Std()+time.Second) + c.Settle.Std() + time.Minute
	return m
}

const (
	mostSidecars = 100_000
	highestRate  = 10_000 // sidecars that connect per second
	longest      = time.Hour
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	workload.CheckNumbers(&errs, "sidecars", c.Sidecars, mostSidecars, "sidecars")
	for i, n := range c.Sidecars {
		for _, clients := range c.Clients {
			if n < clients {
				errs.Add(fmt.Sprintf("sidecars[%d]", i), "%d sidecars are too few for %d clients", n, clients)
			}
		}
	}
	for i, r := range c.Rate {
		if r <= 0 || r > highestRate {
			errs.Add(fmt.Sprintf("rate[%d]", i), "%v is not a rate above 0/s, and at most %d/s", r, highestRate)
		}
	}
	for i, share := range c.Churn {
		if share > 1 {
			errs.Add(fmt.Sprintf("churn[%d]", i), "%v is more than all sidecars", share)
		}
	}
	c.validateServer(&errs)
	errs = append(errs, c.Token.Validate("token")...)
	errs = append(errs, c.Configure.Validate("configure")...)
	if len(c.Configure) > 0 && c.Configure[0] == "" {
		errs.Add("configure", "no program is given: write it as a list, [program, argument…]")
	}
	if c.Objective != nil {
		c.validateObjective(&errs)
	}
	if c.Change != nil {
		if c.Istiod == nil {
			errs = append(errs, c.Change.Run.ValidateCommand("change.run")...)
		}
		within(&errs, "change.every", c.Change.Every, 0)
	}
	for _, text := range []struct{ field, text string }{{"node.id", c.Node.ID}, {"node.cluster", c.Node.Cluster}, {"node.metadata", string(c.Node.Metadata)}} {
		if err := placeholder.Check(text.text, fleet.AddressVariable, fleet.IndexVariable); err != nil {
			errs.Add(text.field, "%v", err)
		}
	}
	if c.Node.ID == "" {
		errs.Add("node.id", "the id is empty, and no server serves a sidecar without one")
	}
	if _, err := c.Node.metadata(); err != nil {
		errs.Add("node.metadata", "%v", err)
	}
	within(&errs, "readyTimeout", c.Ready, 100*time.Millisecond)
	within(&errs, "settle", c.Settle, 0)
	within(&errs, "late", c.Late, time.Millisecond)
	return errs
}

// within adds an error if the duration is shorter than least, or longer than the constant longest.
func within(errs *experiment.FieldErrors, field string, d quantity.Duration, least time.Duration) {
	workload.CheckTime(errs, field, d, least, longest)
}

func (c *Config) validateIstiod(errs *experiment.FieldErrors) {
	*errs = append(*errs, c.Istiod.Env.Validate("istiod.env")...)
	for _, f := range []struct {
		field string
		given bool
	}{{"server", c.Server != nil}, {"address", c.Address != ""}, {"metricsPort", c.Metrics > 0}, {"configure", len(c.Configure) > 0}, {"tls", c.TLS != nil}, {"change.run", c.Change != nil && len(c.Change.Run) > 0}} {
		if f.given {
			errs.Add(f.field, "Tare itself starts, configures and changes istiod: leave it out, or istiod")
		}
	}
}

func (c *Config) validateServer(errs *experiment.FieldErrors) {
	switch {
	case c.Istiod != nil:
		c.validateIstiod(errs)
	case c.Server != nil && c.Address != "":
		errs.Add("address", "there is a server too: give only one of them")
	case c.Server != nil:
		*errs = append(*errs, c.Server.Validate("server")...)
	case c.Metrics > 0 && c.Address != "":
		errs.Add("metricsPort", "metrics are read from a server that Tare starts only; on a cluster, the testbed can observe other servers")
	case c.Address == "":
		errs.Add("address", "no server is given: give the address of a running server (address), or its program (server)")
	default:
		host, port, err := net.SplitHostPort(c.Address)
		if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 || host == "" {
			errs.Add("address", "%q is not HOST:PORT", c.Address)
		}
	}
	if c.TLS == nil {
		return
	}
	*errs = append(*errs, c.TLS.Key.Validate("tls.key")...)
	switch {
	case c.TLS.Key != "" && len(c.TLS.Key.References()) == 0:
		errs.Add("tls.key", "a key in the file would be kept with the run: refer to it, $(file:/PATH)")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		errs.Add("tls.cert", "give both the certificate and its key")
	}
}
