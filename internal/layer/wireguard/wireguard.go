// Package wireguard is the layer that encrypts the traffic of pods between the nodes of a network, by WireGuard tunnels
// (package tunnel). If the kernel has WireGuard, the kernel encrypts. Otherwise wireguard-go encrypts, in the helper at
// each end. The kernel and wireguard-go differ several times in speed, so every run records which one encrypts.
package wireguard

import (
	"context"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/tunnel"
)

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    Protocol.Layer,
	Summary: "encryption between the nodes, on a cluster between the pods: a WireGuard tunnel of the kernel or of wireguard-go",
	New:     func() layer.Layer { return &Config{Implementation: tunnel.Auto} },
	Probe:   Protocol.Probe,
	Helper:  Protocol.Helper,
}

const (
	device = "wg0"
	port   = 51820
)

// Protocol is WireGuard.
var Protocol = &tunnel.Protocol{
	Layer: "wireguard", Name: "WireGuard", Kernel: "the kernel's WireGuard", Program: "wireguard-go",
	Device: device, Ports: []int{port},
	// Overhead is 40 bytes for IPv6 (20 for IPv4), 8 for UDP and 32 for WireGuard, as in wg-quick(8).
	Overhead: 80,
	// Carried is the size of an IPv4/UDP packet, rounded up to a multiple of 16 bytes, plus 32 bytes of WireGuard (its
	// paper, section 5.4.6).
	Carried: func(size int) uint64 { return (uint64(size)+20+8+15)/16*16 + 32 },
	Keys:    newKeys,
	Public:  func(k tunnel.Key) tunnel.Key { return tunnel.Key(wgtypes.Key(k).PublicKey()) },
	Hint: func(lacks error, pods bool) string {
		switch {
		case lacks == tunnel.ErrNoKernel && pods:
			return "load the module wireguard on the nodes; or use wireguard-go with implementation: userspace"
		case lacks == tunnel.ErrNoKernel:
			return "modprobe wireguard; or use wireguard-go with implementation: userspace"
		}
		return tunnel.HintTUN(pods)
	},
	Lacks: lacks, Open: open,
}

func newKeys(n int) ([]tunnel.Key, error) {
	keys := make([]tunnel.Key, n)
	for i := range keys {
		k, err := wgtypes.GeneratePrivateKey()
		if err != nil {
			return nil, err
		}
		keys[i] = tunnel.Key(k)
	}
	return keys, nil
}

// Config holds the layer's parameters.
type Config struct {
	Implementation tunnel.Implementation `yaml:"implementation" json:"implementation" enum:"auto,kernel,userspace" doc:"implementation of WireGuard: the kernel's, wireguard-go (userspace), or the kernel's if it has one (auto)"`
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
