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
	site      testbed.Site
	server    *service.Server // server that the workload started; nil: the server is at an address
	authority string          // PEM certificate of the authority that signed the server's certificate, if Tare made it; "": Tare made none
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	up := &xdsServer{site: s.Site}
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
		more := environ.Variables{certificateVariable: cert, keyVariable: key}
		maps.Copy(more, program.Env)
		program.Env, up.authority = more, cert
	}
	var err error
	if up.server, err = program.SetUp(ctx, s); err != nil {
		return nil, err
	}
	return up, nil
}

// Check returns an error if the server has ended.
func (up *xdsServer) Check(ctx context.Context) error {
	if up.server == nil {
		return nil
	}
	return up.server.Check(ctx)
}

// CPU returns the CPU time that the server has used so far (workload.Running).
func (up *xdsServer) CPU() (time.Duration, error) {
	if up.server == nil {
		return 0, nil
	}
	return up.server.CPU()
}

// Down stops the server.
func (up *xdsServer) Down(ctx context.Context) error {
	if up.server == nil {
		return nil
	}
	return up.server.Down(ctx)
}

// security returns the encryption that a layer at the site asks for; "": no layer asks for any.
func (up *xdsServer) security() (s xdstransport.Security) {
	for _, set := range testbed.Held[*xdstransport.Config](up.site) {
		if len(set.Security) > 0 {
			s = set.Security.One()
		}
	}
	return s
}

// layered returns o with the protocol and encryption that layers at the site set.
func (up *xdsServer) layered(o fleet.Open) fleet.Open {
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
	return o
}

// destination returns the address that sidecars connect to.
func (r *trial) destination() (string, error) {
	if r.up.server == nil {
		return r.config.Address, nil
	}
	path := r.config.Paths.One()
	at, ok := r.up.server.Address[path]
	if !ok {
		return "", fmt.Errorf("the server cannot be reached by the path %s: the service does not forward its port %d", path, r.up.server.Address[testbed.PodToPod].Port())
	}
	return at.String(), nil
}

// openRequest returns the first request to every client. The caller adds the client's share of the sidecars.
func (r *trial) openRequest(ctx context.Context) (fleet.Open, error) {
	c := r.config
	o := fleet.Open{Protocol: c.Protocol.One(), Node: sidecar.Node{ID: c.Node.ID, Cluster: c.Node.Cluster}}
	var err error
	if o.Server, err = r.destination(); err != nil {
		return o, err
	}
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
	return r.up.layered(o), nil
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
