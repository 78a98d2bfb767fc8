// Package ipsec is the layer that encrypts, with IPsec, the traffic of pods between the nodes of a network (package
// tunnel). The nodes send each other ESP in UDP, with keys that strongSwan's daemon negotiates by IKEv2. The kernel
// encrypts if it has ESP. Otherwise the daemon encrypts (plugin kernel-libipsec, TUN interface), which is several times
// slower. A check of every run records the implementation.
//
// The kernel's IPsec fails open: packets that match no policy leave in clear. The layer therefore has policies from the
// start (traps). The daemon needs no traps: its routes always lead into the TUN interface.
package ipsec

import (
	"context"
	"crypto/rand"
	"slices"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/mtls"
	"tare/internal/layer/tunnel"
)

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    Protocol.Layer,
	Summary: "encryption between the nodes, on a cluster between the pods: IPsec of the kernel or of strongSwan in user space",
	New:     func() layer.Layer { return &Config{Implementation: tunnel.Auto} },
	Probe:   Protocol.Probe,
	Helper:  Protocol.Helper,
}

// Protocol is ESP in UDP with IKEv2.
var Protocol = &tunnel.Protocol{
	Layer: "ipsec", Name: "IPsec", Kernel: "the kernel's IPsec", Program: "strongSwan's kernel-libipsec",
	Device: device, Ports: []int{500, 4500},
	// Overhead is 40 bytes for IPv6 (20 for IPv4), 8 for UDP, and 37 for ESP with AES-GCM (RFC 4303, RFC 4106): header
	// 8, initialisation vector 8, padding and trailer at most 5, check value 16.
	Overhead: 85,
	Carried:  func(size int) uint64 { return uint64(size) + 20 + 8 }, // size of the inner packet: payload, IPv4 header of 20 bytes, UDP header of 8
	Keys:     sharedKey,
	Public:   func(k tunnel.Key) tunnel.Key { return k },
	Image:    mtls.DefaultImage,
	Hint:     hint,
	Lacks:    lacks, Open: open,
}

const device = "ipsec0" // the name that kernel-libipsec gives its interface

func sharedKey(n int) ([]tunnel.Key, error) {
	var key tunnel.Key
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	return slices.Repeat([]tunnel.Key{key}, n), nil
}

func hint(lacks error, pods bool) string {
	switch {
	case lacks == tunnel.ErrNoKernel:
		return "modprobe esp4 esp6 xfrm_user; or use strongSwan's own with implementation: userspace"
	case pods:
		return tunnel.HintTUN(pods)
	}
	return "apt-get install charon-systemd libcharon-extra-plugins libstrongswan-standard-plugins strongswan-swanctl; " + tunnel.HintTUN(pods)
}

// Config holds the layer's parameters.
type Config struct {
	Implementation tunnel.Implementation `yaml:"implementation" json:"implementation" enum:"auto,kernel,userspace" doc:"implementation that encrypts: the kernel, strongSwan's daemon (userspace), or the kernel if it can (auto)"`
}

// Declare declares what the layer needs: a network, and on a cluster pods that may have the capability NET_ADMIN.
func (c *Config) Declare() experiment.Declaration { return Protocol.Declare() }

// Up creates the tunnels.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	return Protocol.Up(ctx, s, c.Implementation)
}

// ProveOff shows that pods reach each other without a tunnel.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return Protocol.ProveOff(ctx, s)
}
