package xds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/goccy/go-yaml"

	"tare/internal/experiment/environ"
	"tare/internal/layer/xdstransport"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/service"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/sidecar"
)

// Shared returns the name of the server that several cells share.
func (c *Config) Shared() string {
	if c.Server == nil {
		return "xds server at " + c.Address
	}
	return "xds " + c.Server.Shared()
}

// Environment variables with a server's certificate and its key in PEM. They are set if a layer makes sidecars
// encrypt.
const (
	certificateVariable = "TARE_TLS_CERT"
	keyVariable         = "TARE_TLS_KEY"
)

// xdsServer is the server that sidecars at a site connect to.
type xdsServer struct {
	resident  // server, or remote
	site      testbed.Site
	server    *service.Server // server that the workload started; nil: the server is at an address
	authority string          // PEM certificate of the authority that signed the server's certificate, if Tare made it; "": Tare made none
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	up := &xdsServer{resident: remote{}, site: s.Site}
	security := up.security()
	if c.Server == nil {
		if security != "" {
			return nil, errors.New("xds-transport: security needs a server that the workload starts. A server at an address decides on encryption itself: describe it by the workload's tls")
		}
		return up, nil
	}
	program := *c.Server
	if security == xdstransport.TLS {
		at, err := service.Addresses(s, program.Port)
		if err != nil {
			return nil, err
		}
		cert, key, err := service.SelfSigned(at)
		if err != nil {
			return nil, err
		}
		env := environ.Variables{certificateVariable: cert, keyVariable: key}
		maps.Copy(env, program.Env)
		program.Env, up.authority = env, cert
	}
	var err error
	if up.server, err = program.SetUp(ctx, s); err != nil {
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

// security returns the encryption that a layer at the site asks for; "": no layer asks for any.
func (up *xdsServer) security() (s xdstransport.Security) {
	for _, set := range testbed.Held[*xdstransport.Config](up.site) {
		if len(set.Security) > 0 {
			s = set.Security.One()
		}
	}
	return s
}

// layered sets the protocol and encryption that layers at the site ask for.
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
		var with fleet.TLS // only CA and ServerName are replaced; the sidecars' own certificate is kept
		if o.TLS != nil {
			with = *o.TLS
		}
		with.CA, with.ServerName = up.authority, ""
		o.TLS = &with
	}
}

// openRequest returns the first request to every client. The caller adds the client's share of the sidecars.
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

// metadata returns the node's metadata as JSON.
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
