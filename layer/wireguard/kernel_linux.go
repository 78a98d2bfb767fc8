package wireguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/layer"
	"tare/testbed"
)

// choose gives the way to open an end of the tunnel on a node of this machine.
func choose(wanted Implementation, s surroundings) (opener, error) {
	if wanted == Userspace {
		return openHelped, nil
	}
	err := kernelHas(s.Nodes.Nodes()[0].Do)
	switch {
	case err == nil:
		return openKernel, nil
	case wanted == Auto && errors.Is(err, errNoKernel):
		return openHelped, nil
	default:
		return nil, err
	}
}

// kernelTunnel is an end that the kernel runs on a node of this machine.
type kernelTunnel struct {
	end    end
	engine kernelEngine
}

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
	t := &kernelTunnel{end: e, engine: kernelEngine{e.node.Do}}
	err := t.at(e.node.Do(func() error {
		_, err := addLink(e.node.MTU() - overhead)
		return err
	}))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.rekey(ctx, e.private), t.at(e.node.Do(func() error { return switchOn() }))); err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

// at names the node where something failed.
func (t *kernelTunnel) at(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", t.end.place, err)
	}
	return nil
}

func (t *kernelTunnel) describe() string { return describeKernel(release()) }

func (t *kernelTunnel) rekey(_ context.Context, private wgtypes.Key) error {
	return t.at(t.engine.rekey(rekeyOrder{Private: private, Peers: t.end.peers}))
}

func (t *kernelTunnel) traffic(context.Context) (traffic, error) {
	sum, err := t.engine.traffic()
	return sum, t.at(err)
}

// cost says that the kernel's tunnel has no process of its own: its work is done
// by kernel threads that serve everybody.
func (t *kernelTunnel) cost() (layer.Cost, bool, error) { return layer.Cost{}, false, nil }

func (t *kernelTunnel) close(context.Context) error { return t.at(t.engine.close()) }

// release is the kernel's release, as uname -r prints it.
func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "of unknown release"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// switchOn switches on the interface in the namespace of the calling thread, and gives it
// addresses.
func switchOn(own ...netip.Addr) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", device, err)
	}
	for _, a := range own {
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: alone(a)}); err != nil {
			return fmt.Errorf("give the interface %s the address %s: %w", device, a, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch on the interface %s: %w", device, err)
	}
	return nil
}

// kernelEngine is the kernel's WireGuard in the namespace that do runs functions in.
type kernelEngine struct{ do func(func() error) error }

// control runs f with a control socket inside the namespace.
func (k kernelEngine) control(f func(*wgctrl.Client) error) error {
	return k.do(func() error {
		client, err := wgctrl.New()
		if err != nil {
			return fmt.Errorf("open WireGuard's control socket: %w", err)
		}
		return errors.Join(f(client), client.Close())
	})
}

func (k kernelEngine) rekey(o rekeyOrder) error {
	var peers []wgtypes.PeerConfig
	for _, p := range o.Peers {
		one := wgtypes.PeerConfig{PublicKey: p.Public, Endpoint: net.UDPAddrFromAddrPort(p.Endpoint)}
		for _, allowed := range p.Allowed {
			one.AllowedIPs = append(one.AllowedIPs, net.IPNet{
				IP:   allowed.Masked().Addr().AsSlice(),
				Mask: net.CIDRMask(allowed.Bits(), allowed.Addr().BitLen()),
			})
		}
		peers = append(peers, one)
	}
	port := listenPort
	return k.control(func(client *wgctrl.Client) error {
		// The kernel removes the peers first, and with them what was agreed.
		err := client.ConfigureDevice(device, wgtypes.Config{
			ReplacePeers: true,
			PrivateKey:   &o.Private,
			ListenPort:   &port,
			Peers:        peers,
		})
		if err != nil {
			return fmt.Errorf("set key and peers: %w", err)
		}
		return nil
	})
}

func (k kernelEngine) traffic() (sum traffic, err error) {
	err = k.control(func(client *wgctrl.Client) error {
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

func (k kernelEngine) close() error {
	return k.do(func() error {
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
