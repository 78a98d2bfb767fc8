package dns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/dns/zone"
	"tare/internal/workload/service"
)

// Names of the metrics of a trial with proxies.
const (
	queryRate     = "queries"           // queries that the server received, 1/s
	perProxy      = "queries-per-proxy" // queries per proxy, 1/s
	perHost       = "queries-per-host"  // queries per proxy and host, 1/s
	repeated      = "queries-repeated"  // queries sent again because no response came, 1/s
	answersPrefix = "answers-"          // responses of each kind, 1/s
	proxyCPU      = "cpu-proxies"       // CPU time of all proxies, in cores
	serverCPU     = "cpu-server"        // CPU time of the server, in cores
	proxyMemory   = "memory-proxies"    // memory of all proxies, in bytes
)

// readyLimit is the time within which proxies must have looked up all their hosts.
const readyLimit = 30 * time.Second

// proxyMeasures returns the metrics of a trial with proxies. With resolution: none, proxies send no queries, so the
// value 0 is valid for these metrics.
func (c *Config) proxyMeasures() experiment.Measures {
	m := experiment.Measures{Expected: time.Second + c.windowStart() + c.Duration.Std(), Limit: readyLimit + c.windowStart() + 2*c.Duration.Std() + 30*time.Second}
	scale := experiment.Ratio
	if c.Resolution.One() == none {
		scale = experiment.Difference
	} else {
		m.PowerLaw = &experiment.PowerLaw{Metric: queryRate, Exponents: map[string]float64{"proxies": 1, "hosts": 1, "families": 1, "ttl": -1}}
		if len(c.Refresh) > 0 {
			m.PowerLaw.Exponents["ttl"], m.PowerLaw.Exponents["refresh"] = 0, -1
		}
	}
	for _, name := range []string{queryRate, perProxy, perHost} {
		m.Metrics = append(m.Metrics, experiment.Metric{Name: name, Unit: "1/s", Better: experiment.Lower, Scale: scale, Discrete: true,
			Headline: name == queryRate && scale == experiment.Ratio})
	}
	answers := lists.Map(zone.Kinds, func(kind zone.Kind) string { return answersPrefix + string(kind) })
	for _, name := range append([]string{repeated}, answers...) {
		m.Metrics = append(m.Metrics, experiment.Metric{Name: name, Unit: "1/s", Better: experiment.Lower, Scale: experiment.Difference, Discrete: true})
	}
	for _, metric := range []struct{ name, unit string }{{proxyCPU, "cores"}, {serverCPU, "cores"}, {proxyMemory, "B"}} {
		m.Metrics = append(m.Metrics, experiment.Metric{Name: metric.name, Unit: metric.unit, Better: experiment.Lower, Scale: experiment.Difference})
	}
	return m
}

type proxy struct {
	*service.Running
	socket string // path of the proxy's admin socket
	files  []string
}

type proxyTrial struct {
	*Config
	t     *workload.Trial
	up    *server
	label string
}

// Prepare starts the proxies or the generator, and waits for the warm-up.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	if !c.proxied() {
		return c.prepareLoad(ctx, t)
	}
	up, ok := t.Standing.(*server)
	if !ok || up.builtin == nil {
		return nil, errors.New("no server is up")
	}
	p := &proxyTrial{Config: c, t: t, up: up, label: up.label()}
	t.Clear = func(context.Context) error { return up.endProxies() }
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		return nil, err
	}
	if err := testbed.Pause(ctx, c.windowStart()); err != nil {
		return nil, err
	}
	return p.measure, nil
}

func (p *proxyTrial) start(ctx context.Context) error {
	path, err := testbed.Installed(program, program)
	if err != nil {
		return fmt.Errorf("%w (install it with: make envoy)", err)
	}
	server, err := p.up.address.On(p.Paths.One())
	if err != nil {
		return err
	}
	scratch, ok := testbed.As[testbed.Scratch](p.t.Site)
	if !ok {
		return errors.New("the site has no scratch directory for the proxies' configurations")
	}
	dir, err := scratch.Scratch()
	if err != nil {
		return err
	}
	for i := range p.Proxies.One() {
		base := filepath.Join(dir, fmt.Sprintf("envoy-%s-%d", p.label, i+1))
		one := &proxy{socket: base + ".sock", files: []string{base + ".json", base + ".sock"}}
		// The kernel limits socket names to 107 bytes. The directory's name may be longer, so Envoy starts in it and
		// gets a relative name.
		config, err := p.bootstrap(server, filepath.Base(one.socket), p.label)
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+".json", config, 0o644); err != nil {
			return err
		}
		// One worker thread is enough for a proxy that has no traffic.
		args := []string{path, "--config-path", base + ".json", "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"}
		cmd := testbed.Command{Args: args, Dir: dir, Subject: true}
		one.Running, err = service.Start(ctx, p.t.Site, service.Program{Name: fmt.Sprintf("proxy-%d", i+1), Where: testbed.ClientPod, Command: cmd})
		if err != nil {
			return errors.Join(err, one.removeFiles())
		}
		p.up.proxies = append(p.up.proxies, one)
	}
	return nil
}

// await waits until all proxies are ready. A proxy is ready when it has looked up all its hosts once.
func (p *proxyTrial) await(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for _, one := range p.up.proxies {
		for {
			_, err := admin(limited, one.socket, "/ready")
			if err == nil {
				break
			}
			if p.proxyEnded(ctx) != nil {
				return p.cause(ctx, err)
			}
			if testbed.Pause(limited, 10*time.Millisecond) != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return errors.Join(workload.Invalidf(workload.RuleTimeout, "%s was not ready after %v: %v", one.Name, readyLimit, err), p.recordLogs())
			}
		}
	}
	return nil
}

func (p *proxyTrial) proxyEnded(ctx context.Context) error {
	for _, one := range p.up.proxies {
		if err := one.Check(ctx); err != nil {
			return &workload.Invalid{Rule: workload.RuleExit, Detail: err.Error()}
		}
	}
	return nil
}

// cause explains why a request to a proxy failed: it returns the error of a proxy that has ended, or else err.
func (p *proxyTrial) cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if ended := p.proxyEnded(ctx); ended != nil {
		return errors.Join(ended, p.recordLogs())
	}
	return err
}

func (p *proxyTrial) recordLogs() error {
	return errors.Join(lists.Map(p.up.proxies, func(one *proxy) error { return one.Log(p.t.Raw) })...)
}

func (p *proxyTrial) parts() service.Parts {
	parts := service.Parts{"server": {p.up.builtin}}
	for _, one := range p.up.proxies {
		parts["proxies"] = append(parts["proxies"], one)
	}
	return parts
}

func (p *proxyTrial) readResolvers(ctx context.Context) ([]resolverCounts, error) {
	if p.Resolution.One() == none {
		return nil, nil
	}
	var list []resolverCounts
	for _, one := range p.up.proxies {
		text, err := admin(ctx, one.socket, "/stats?format=json&filter="+url.QueryEscape(`^dns\.cares\.`))
		var counts resolverCounts
		if err == nil {
			counts, err = readLookups(text)
		}
		if err != nil {
			return nil, p.cause(ctx, fmt.Errorf("%s: %w", one.Name, err))
		}
		list = append(list, counts)
	}
	return list, nil
}

// proxyCounts holds the counts of a trial, which become a raw file.
type proxyCounts struct {
	Before    zone.Counts         `json:"before"`
	After     zone.Counts         `json:"after"`
	Resolvers [2][]resolverCounts `json:"resolvers"` // resolver counters of the proxies: [0] before the measured time, [1] after it
	used      map[string]testbed.Usage
}

// measure counts queries for the trial's duration. Steps that take longer with more proxies happen outside of the
// counted time.
func (p *proxyTrial) measure(ctx context.Context) (workload.Result, error) {
	var c proxyCounts
	if err := p.count(ctx, &c); err != nil {
		return workload.Result{}, err
	}
	if err := errors.Join(workload.KeepJSON(p.t.Raw, "counts.json", c), p.recordLogs()); err != nil {
		return workload.Result{}, err
	}
	if err := p.proxyEnded(ctx); err != nil {
		return workload.Result{}, err
	}
	return p.result(c)
}

func (p *proxyTrial) count(ctx context.Context, c *proxyCounts) (err error) {
	if c.Resolvers[0], err = p.readResolvers(ctx); err != nil {
		return err
	}
	used, err := p.parts().Begin()
	if err != nil {
		return err
	}
	if c.Before, err = p.up.count(ctx, p.label); err != nil {
		return err
	}
	if err := testbed.Pause(ctx, p.Duration.Std()); err != nil {
		return err
	}
	if c.After, err = p.up.count(ctx, p.label); err != nil {
		return err
	}
	if c.used, err = used(); err != nil {
		return err
	}
	c.Resolvers[1], err = p.readResolvers(ctx)
	return err
}

func (p *proxyTrial) result(c proxyCounts) (workload.Result, error) {
	took := (c.After.At - c.Before.At).Seconds()
	if took <= 0 {
		return workload.Result{}, workload.Invalidf(workload.RuleParse, "the server counted for %v s", took)
	}
	rate := float64(c.After.Queries-c.Before.Queries) / took
	proxies, hosts := p.Proxies.One(), p.Hosts.One()
	r := workload.Result{Used: c.used, Values: map[string]float64{
		repeated: 0, queryRate: rate, perProxy: rate / float64(proxies), perHost: rate / float64(proxies*hosts),
	}}
	for _, kind := range zone.Kinds {
		r.Values[answersPrefix+string(kind)] = float64(c.After.Answers[kind]-c.Before.Answers[kind]) / took
	}
	if used := c.used["server"]; used.Unavailable {
		r.Unavailable = []string{serverCPU}
	} else {
		r.Values[serverCPU] = used.CPU().Seconds() / took
	}
	if used := c.used["proxies"]; used.Unavailable {
		r.Unavailable = append(r.Unavailable, proxyCPU, proxyMemory)
	} else {
		r.Values[proxyCPU], r.Values[proxyMemory] = used.CPU().Seconds()/took, float64(used.MaxRSS)
	}
	var asked, failed int64
	for i, after := range c.Resolvers[1] {
		before := c.Resolvers[0][i]
		asked += after.Lookups - before.Lookups
		failed += after.Failed - before.Failed
	}
	if asked > 0 {
		r.Values[repeated] = rate - float64(asked*int64(p.Families.One()))/took
		r.Failed = min(1, float64(failed)/float64(asked))
	}
	if p.Resolution.One() == byDNS && c.After.Names < hosts {
		return r, workload.Invalidf(workload.RuleErrors, "only %d of %d hosts were ever looked up", c.After.Names, hosts)
	}
	return r, nil
}

func (up *server) endProxies() error {
	errs := make([]error, len(up.proxies))
	var wait sync.WaitGroup
	for i, p := range up.proxies {
		wait.Go(func() {
			limited, cancel := context.WithTimeout(context.Background(), readyLimit)
			defer cancel()
			errs[i] = errors.Join(p.Down(limited), p.removeFiles())
		})
	}
	wait.Wait()
	up.proxies = nil
	return errors.Join(errs...)
}

func (p *proxy) removeFiles() error {
	var errs []error
	for _, file := range p.files {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) { // a file may not exist yet
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
