package wireguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/testbed"
)

// choose gives the way to open an end of the tunnel.
func choose(wanted Implementation, s surroundings) (opener, error) {
	if wanted == Userspace {
		return openUserspace, nil
	}
	err := kernelHas(s.Nodes.Nodes()[0].Do)
	switch {
	case err == nil:
		return openKernel, nil
	case wanted == Auto && errors.Is(err, errNoKernel):
		return openUserspace, nil
	default:
		return nil, err
	}
}

// kernelTunnel is an end that the kernel runs.
type kernelTunnel struct{ end end }

// kernelHas tries whether the kernel makes WireGuard interfaces, in the network
// namespace that do runs functions in. errNoKernel says that it can't.
func kernelHas(do func(func() error) error) error {
	return do(func() error {
		link, err := addLink(1420)
		if err != nil {
			return err
		}
		return netlink.LinkDel(link)
	})
}

// addLink makes a WireGuard interface in the namespace of the calling thread.
func addLink(mtu int) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = device, mtu
	link := &netlink.Wireguard{LinkAttrs: attrs}
	err := netlink.LinkAdd(link)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, fmt.Errorf("%w: add an interface of type wireguard: %w", errNoKernel, err)
	}
	if err != nil {
		return nil, fmt.Errorf("add an interface of type wireguard: %w", err)
	}
	return link, nil
}

// openKernel makes the interface on the node and configures it.
func openKernel(ctx context.Context, _ testbed.Site, e end) (tunnel, error) {
	t := &kernelTunnel{end: e}
	err := t.at(func() error {
		_, err := addLink(e.node.MTU() - overhead)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.rekey(ctx, e.private), t.at(switchOn)); err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

func (t *kernelTunnel) describe() string { return "kernel (Linux " + release() + ")" }

// release is the kernel's release, as uname -r prints it.
func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "of unknown release"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// switchOn switches on the interface in the namespace of the calling thread.
func switchOn() error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", device, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch on the interface %s: %w", device, err)
	}
	return nil
}

// at runs f inside the node's namespace, and names the node where that fails.
func (t *kernelTunnel) at(f func() error) error {
	if err := t.end.node.Do(f); err != nil {
		return fmt.Errorf("%s: %w", t.end.node.Place(), err)
	}
	return nil
}

// control runs f with a control socket inside the node's namespace.
func (t *kernelTunnel) control(f func(*wgctrl.Client) error) error {
	return t.at(func() error {
		client, err := wgctrl.New()
		if err != nil {
			return fmt.Errorf("open WireGuard's control socket: %w", err)
		}
		return errors.Join(f(client), client.Close())
	})
}

func (t *kernelTunnel) rekey(_ context.Context, private wgtypes.Key) error {
	var peers []wgtypes.PeerConfig
	for _, p := range t.end.peers {
		peers = append(peers, wgtypes.PeerConfig{
			PublicKey: p.Public,
			Endpoint:  net.UDPAddrFromAddrPort(p.Endpoint),
			AllowedIPs: []net.IPNet{{
				IP:   p.Allowed.Masked().Addr().AsSlice(),
				Mask: net.CIDRMask(p.Allowed.Bits(), p.Allowed.Addr().BitLen()),
			}},
		})
	}
	port := listenPort
	return t.control(func(client *wgctrl.Client) error {
		// The kernel removes the peers first, and with them what was agreed.
		err := client.ConfigureDevice(device, wgtypes.Config{
			ReplacePeers: true,
			PrivateKey:   &private,
			ListenPort:   &port,
			Peers:        peers,
		})
		if err != nil {
			return fmt.Errorf("set key and peers: %w", err)
		}
		return nil
	})
}

func (t *kernelTunnel) traffic(context.Context) (traffic, error) {
	var sum traffic
	err := t.control(func(client *wgctrl.Client) error {
		d, err := client.Device(device)
		if err != nil {
			return fmt.Errorf("read the tunnel's counters: %w", err)
		}
		for _, p := range d.Peers {
			sum.Sent += uint64(p.TransmitBytes)
			sum.Received += uint64(p.ReceiveBytes)
		}
		return nil
	})
	return sum, err
}

// cpu says that the kernel's tunnel has no process of its own: its work is done
// by kernel threads that serve everybody.
func (t *kernelTunnel) cpu() (time.Duration, bool, error) { return 0, false, nil }

func (t *kernelTunnel) close(context.Context) error {
	return t.at(func() error {
		link, err := netlink.LinkByName(device)
		if err == nil {
			err = netlink.LinkDel(link)
		}
		if err != nil {
			return fmt.Errorf("remove interface %s: %w", device, err)
		}
		return nil
	})
}
