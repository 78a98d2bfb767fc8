package xds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"

	"tare/testbed"
	"tare/workload"
	"tare/workload/service"
	"tare/workload/xds/fleet"
	"tare/workload/xds/sidecar"
)

// Shared names the server that cells share; nothing stays up for one that is elsewhere.
func (c *Config) Shared() string {
	if c.Server == nil {
		return ""
	}
	return c.Server.Shared()
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Standing, error) {
	server, err := c.Server.SetUp(ctx, s)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// destination is where sidecars connect to.
func (c *Config) destination(up *service.Server) (string, error) {
	if c.Address != "" {
		return c.Address, nil
	}
	if up == nil {
		return "", errors.New("no server is up")
	}
	at, ok := up.Address[c.Paths.One()]
	if !ok {
		return "", fmt.Errorf("the server cannot be reached from %s: its port %d is none that the service forwards", c.Paths.One(), up.Address[testbed.PodToPod].Port())
	}
	return at.String(), nil
}

// order is what all clients are told of their sidecars.
func (c *Config) order(ctx context.Context, up *service.Server) (fleet.Open, error) {
	o := fleet.Open{Protocol: c.Protocol.One(), Node: sidecar.Node{ID: c.Node.ID, Cluster: c.Node.Cluster}}
	var err error
	if o.Server, err = c.destination(up); err != nil {
		return o, err
	}
	if o.Node.Metadata, err = c.Node.metadata(); err != nil {
		return o, err
	}
	if o.Token, err = c.Token.Resolve(ctx); err != nil {
		return o, err
	}
	if c.TLS != nil {
		o.TLS = &fleet.TLS{CA: c.TLS.authority, Cert: c.TLS.certificate, ServerName: c.TLS.ServerName}
		if o.TLS.Key, err = c.TLS.Key.Resolve(ctx); err != nil {
			return o, err
		}
	}
	return o, nil
}

// metadata is the metadata as JSON.
func (n Node) metadata() (json.RawMessage, error) {
	if n.Metadata == "" {
		return nil, nil
	}
	var metadata map[string]any
	if err := yaml.Unmarshal([]byte(n.Metadata), &metadata); err != nil {
		return nil, fmt.Errorf("the metadata of the node is no map: %w", err)
	}
	return json.Marshal(metadata)
}
