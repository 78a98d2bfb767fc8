package xds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/goccy/go-yaml"

	"tare/internal/experiment/environ"
	"tare/internal/layer/xdstransport"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/service"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/istiod"
	"tare/internal/workload/xds/sidecar"
)

// Shared returns the name of the server that several cells share.
func (c *Config) Shared() string {
	switch {
	case c.Istiod != nil:
		text, _ := json.Marshal(c.Istiod)
		return "istiod " + string(text)
	case c.Server == nil:
		return "xds server at " + c.Address
	}
	return "xds " + c.Server.Shared()
}

// Names of the server's environment variables for its certificate and its key in PEM. They are set if a layer makes
// sidecars encrypt.
const (
	certificateVariable = "TARE_TLS_CERT"
	keyVariable         = "TARE_TLS_KEY"
)

// xdsServer is the server that sidecars at a site connect to.
type xdsServer struct {
	resident  // server that the workload started, or a value of type remote: it started none
	site      testbed.Site
	server    *service.Server // server that the workload started; nil: the server is at an address
	istiod    *istiod.Server  // the server, if it is istiod; nil: it is not
	authority string          // PEM certificate of the authority that signed the server's certificate, if Tare made it; "": Tare made none
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	up := &xdsServer{resident: remote{}, site: s.Site}
	security := up.security()
	if c.Server == nil && c.Istiod == nil {
		if security != "" {
			return nil, errors.New("xds-transport: security needs a server that the workload starts. A server at an address decides on encryption itself: describe it by the workload's tls")
		}
		return up, nil
	}
	var program service.Config
	if c.Server != nil {
		program = *c.Server
	}
	var key string
	if security == xdstransport.TLS {
		at, err := service.Addresses(s, program.Port)
		if err != nil {
			return nil, err
		}
		if up.authority, key, err = service.SelfSigned(at); err != nil {
			return nil, err
		}
		env := environ.Variables{certificateVariable: up.authority, keyVariable: key}
		maps.Copy(env, program.Env)
		program.Env = env
	}
	var err error
	if c.Istiod == nil {
		up.server, err = program.SetUp(ctx, s)
	} else if up.istiod, err = c.Istiod.SetUp(ctx, s, up.authority, key); err == nil {
		up.server = up.istiod.Server
	}
	if err != nil {
		return nil, err
	}
	up.resident = up.server
	return up, nil
}

// resident is a server that stays up between trials.
type resident interface {
	workload.Server
	workload.Running
}

// remote stands for a server at an address, which the workload does not start.
type remote struct{}

func (remote) Check(context.Context) error { return nil }
func (remote) CPU() (time.Duration, error) { return 0, nil }
func (remote) Down(context.Context) error  { return nil }

// security returns the encryption that a layer at the site sets; "": no layer sets it.
func (up *xdsServer) security() (s xdstransport.Security) {
	for _, set := range testbed.Held[*xdstransport.Config](up.site) {
		if len(set.Security) > 0 {
			s = set.Security.One()
		}
	}
	return s
}

// layered puts what layers have set into the request o: the xDS protocol and the encryption.
func (up *xdsServer) layered(o *fleet.Open) {
	for _, set := range testbed.Held[*xdstransport.Config](up.site) {
		if len(set.Protocol) > 0 {
			o.Protocol = set.Protocol.One()
		}
	}
	switch up.security() {
	case xdstransport.Plaintext:
		o.TLS = nil
	case xdstransport.TLS:
		var with fleet.TLS // settings that keep the sidecars' own certificate, if they have one
		if o.TLS != nil {
			with = *o.TLS
		}
		with.CA, with.ServerName = up.authority, ""
		o.TLS = &with
	}
}

// openRequest returns the request with which every client begins its work. The caller adds the number of sidecars for
// each client.
func (r *trial) openRequest(ctx context.Context) (fleet.Open, error) {
	c := r.config
	o := fleet.Open{Protocol: c.Protocol.One(), Node: sidecar.Node{ID: c.Node.ID, Cluster: c.Node.Cluster}}
	o.Server = c.Address
	if server := r.up.server; server != nil {
		at, ok := server.Address[c.Paths.One()]
		if !ok {
			return o, fmt.Errorf("the server cannot be reached by the path %s: the service does not forward its port %d", c.Paths.One(), server.Address[testbed.PodToPod].Port())
		}
		o.Server = at.String()
	}
	var err error
	if o.Node.Metadata, err = c.Node.metadata(); err != nil {
		return o, err
	}
	if o.Token, err = c.Token.Resolve(ctx); err != nil {
		return o, err
	}
	if c.Token != "" && o.Token == "" {
		return o, fmt.Errorf("the token is empty: %s", c.Token)
	}
	if c.TLS != nil {
		o.TLS = &fleet.TLS{CA: c.TLS.authority, Cert: c.TLS.certificate, ServerName: c.TLS.ServerName}
		if o.TLS.Key, err = c.TLS.Key.Resolve(ctx); err != nil {
			return o, err
		}
	}
	r.up.layered(&o)
	return o, nil
}

func (n node) metadata() (json.RawMessage, error) {
	if n.Metadata == "" {
		return nil, nil
	}
	var metadata map[string]any
	if err := yaml.Unmarshal([]byte(n.Metadata), &metadata); err != nil {
		return nil, fmt.Errorf("the metadata of the node is not a map: %w", err)
	}
	return json.Marshal(metadata)
}

// client is a process that simulates sidecars.
type client struct {
	*helperrpc.Helper
	ahead time.Duration // by how much the clock at the client's place is ahead of this machine's clock
}

// start starts the clients, and divides a number of sidecars among them.
func (r *trial) start(ctx context.Context, sidecars int) error {
	open, err := r.openRequest(ctx)
	if err != nil {
		return err
	}
	places, n := r.places(), r.config.Clients.One()
	for i := range n {
		place := places[i%len(places)]
		helper, err := helperrpc.StartSubject(ctx, r.t.Site, place, fleet.Helper.Name)
		if err != nil {
			return err
		}
		c := &client{Helper: helper}
		r.clients = append(r.clients, c)
		open.Sidecars, open.First, open.Fleets = share(sidecars, n, i), i, n
		if _, err := c.send(ctx, fleet.Request{Open: &open}); err != nil {
			return fmt.Errorf("the sidecars: %w", err)
		}
		if remote, ok := testbed.As[testbed.Remote](r.t.Site); ok && remote.Self(place) != "" {
			ahead, within, err := service.ClockAhead(func() (time.Time, error) {
				a, err := c.send(ctx, fleet.Request{})
				return a.Now, err
			})
			if err != nil {
				return err
			}
			if ahead.Abs() > within {
				c.ahead = ahead
			}
		}
	}
	return nil
}

// places lists the places where clients run. On this machine, that is the host if the file gives the server's address,
// since local pods cannot reach it.
func (r *trial) places() []testbed.Place {
	remote, ok := testbed.As[testbed.Remote](r.t.Site)
	if r.config.Address != "" && (!ok || remote.Self(testbed.ClientPod) == "") {
		return []testbed.Place{testbed.Host}
	}
	if pods, ok := testbed.As[testbed.Clients](r.t.Site); ok {
		return pods.Clients()
	}
	return []testbed.Place{testbed.ClientPod}
}

// share returns the number of sidecars of client i when n sidecars are divided among this many clients.
func share(n, clients, i int) int { return (n + clients - 1 - i) / clients }

func (c *client) send(ctx context.Context, o fleet.Request) (a fleet.Response, err error) {
	err = c.Ask(ctx, o, &a)
	return a, err
}

// sendAll sends a request to every client at the same time, and returns their responses.
func (r *trial) sendAll(ctx context.Context, request func(i int, c *client) fleet.Request) ([]fleet.Response, error) {
	return service.Each(r.clients, func(i int, c *client) (fleet.Response, error) { return c.send(ctx, request(i, c)) })
}

// longestWait is the longest wait in one request to a client. The server's memory is read after each request, and
// therefore at least once a second.
const longestWait = time.Second

// awaitStage waits until all clients have finished their stage, but no longer than the limit. It returns the record
// of the stage.
func (r *trial) awaitStage(ctx context.Context, name string, limit time.Duration, meter func(context.Context) []testbed.Resource) (*stage, error) {
	end := time.Now().Add(limit)
	for {
		left := time.Until(end)
		answers, err := r.sendAll(ctx, func(int, *client) fleet.Request {
			return fleet.Request{Look: &fleet.Look{For: min(max(left, 0), longestWait), Final: left <= 0}}
		})
		if err != nil {
			return nil, err
		}
		s := &stage{Name: name}
		done := true
		for _, a := range answers {
			done = done && a.Done
			s.Reports = append(s.Reports, a.Report)
		}
		if r.up.server != nil {
			if err := r.up.server.BrokenRule(ctx); err != nil {
				return nil, err
			}
			used, err := service.Account{}.Since(r.up.server)
			if err != nil {
				return nil, err
			}
			s.Memory = used.MaxRSS
			r.peak = max(r.peak, s.Memory)
		}
		if done || left <= 0 {
			r.shared = testbed.Joined(r.shared, meter(ctx))
			if port := r.metricsPort(); done && port > 0 {
				if s.Heap, err = r.heap(ctx, port); err != nil {
					return nil, err
				}
			}
			r.stages = append(r.stages, s)
			return s, nil
		}
	}
}

// metricsPort returns the port at which the server serves metrics; 0: it serves none.
func (r *trial) metricsPort() int {
	if r.up.istiod != nil {
		return r.up.istiod.Monitoring
	}
	return r.config.Metrics
}

// heap returns the bytes in use on the server's heap. The first client asks the server.
func (r *trial) heap(ctx context.Context, port int) (int64, error) {
	at := netip.AddrPortFrom(r.up.server.Address[testbed.PodToPod].Addr(), uint16(port))
	a, err := r.clients[0].send(ctx, fleet.Request{Heap: "http://" + at.String() + "/metrics"})
	if err != nil && ctx.Err() == nil {
		err = workload.Invalidf(workload.RuleMetric, "%v", err)
	}
	return a.Heap, err
}
