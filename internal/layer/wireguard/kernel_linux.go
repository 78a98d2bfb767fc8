package wireguard

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/internal/layer/tunnel"
)

// lacks tests whether the kernel can create WireGuard interfaces.
func lacks() error {
	if err := addLink(1420); err != nil {
		return err
	}
	return kernelEngine{}.Close()
}

// addLink creates a WireGuard interface.
func addLink(mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = device, mtu
	if err := netlink.LinkAdd(&netlink.Wireguard{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("add an interface of type wireguard: %w", err)
	}
	return nil
}

// open creates the interface, by the kernel or by wireguard-go, and sets the interface up.
func open(o tunnel.Opening) (engine tunnel.Engine, opened tunnel.Opened, err error) {
	if engine = (kernelEngine{}); o.Kernel {
		err = addLink(o.MTU)
	} else {
		engine, err = openOwn(o)
	}
	if err != nil {
		return nil, opened, err
	}
	if err := tunnel.SwitchOn(device, o.Own); err != nil {
		return nil, opened, errors.Join(err, engine.Close())
	}
	return engine, tunnel.Opened{Device: device, MTU: o.MTU}, nil
}

// kernelEngine is an end that uses the kernel's WireGuard.
type kernelEngine struct{}

// withClient calls f with a connection to WireGuard's control socket.
func withClient(f func(*wgctrl.Client) error) error {
	client, err := wgctrl.New()
	if err != nil {
		return fmt.Errorf("open WireGuard's control socket: %w", err)
	}
	return errors.Join(f(client), client.Close())
}

// Rekey sets the key and the peers. The kernel first removes the old peers with their session keys
// (ReplacePeers).
func (kernelEngine) Rekey(own tunnel.Key, list []tunnel.Peer) error {
	var peers []wgtypes.PeerConfig
	for _, p := range list {
		one := wgtypes.PeerConfig{PublicKey: wgtypes.Key(p.Key), Endpoint: net.UDPAddrFromAddrPort(p.Endpoint(port))}
		for _, behind := range p.Behind {
			one.AllowedIPs = append(one.AllowedIPs, net.IPNet{
				IP:   behind.Masked().Addr().AsSlice(),
				Mask: net.CIDRMask(behind.Bits(), behind.Addr().BitLen()),
			})
		}
		peers = append(peers, one)
	}
	key, listen := wgtypes.Key(own), port
	return withClient(func(client *wgctrl.Client) error {
		return client.ConfigureDevice(device, wgtypes.Config{ReplacePeers: true, PrivateKey: &key, ListenPort: &listen, Peers: peers})
	})
}

// Connect does nothing: the first packets make the handshakes.
func (kernelEngine) Connect() error { return nil }

// Traffic returns the interface's counters, summed over all peers.
func (kernelEngine) Traffic() (sum tunnel.Traffic, err error) {
	err = withClient(func(client *wgctrl.Client) error {
		d, err := client.Device(device)
		if err != nil {
			return err
		}
		for _, p := range d.Peers {
			sum.Sent += uint64(p.TransmitBytes)
			sum.Received += uint64(p.ReceiveBytes)
		}
		return nil
	})
	return sum, err
}

// Ready returns the kernel's name and release.
func (kernelEngine) Ready() (string, error) { return "Linux " + tunnel.Release(), nil }

// Close removes the interface.
func (kernelEngine) Close() error {
	link, err := netlink.LinkByName(device)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("remove interface %s: %w", device, err)
	}
	return nil
}
