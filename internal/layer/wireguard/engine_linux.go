package wireguard

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/conn"
	wgdevice "golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/internal/layer/tunnel"
	"tare/internal/lists"
)

func lacks() error {
	if err := addLink(1420); err != nil {
		return err
	}
	return kernelEngine{}.Close()
}

func addLink(mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = device, mtu
	if err := netlink.LinkAdd(&netlink.Wireguard{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("add an interface of type wireguard: %w", err)
	}
	return nil
}

// open creates the interface, in the kernel or with wireguard-go, and turns the interface on.
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

type kernelEngine struct{}

func withClient(f func(*wgctrl.Client) error) error {
	client, err := wgctrl.New()
	if err != nil {
		return fmt.Errorf("open WireGuard's control socket: %w", err)
	}
	return errors.Join(f(client), client.Close())
}

// Rekey sets the key and the peers. ReplacePeers removes the old peers with their session keys.
func (kernelEngine) Rekey(own tunnel.Key, list []tunnel.Peer) error {
	var peers []wgtypes.PeerConfig
	for _, p := range list {
		behind := lists.Map(p.Behind, func(b netip.Prefix) net.IPNet {
			return net.IPNet{IP: b.Masked().Addr().AsSlice(), Mask: net.CIDRMask(b.Bits(), b.Addr().BitLen())}
		})
		to := net.UDPAddrFromAddrPort(p.Endpoint(port))
		peers = append(peers, wgtypes.PeerConfig{PublicKey: wgtypes.Key(p.Key), Endpoint: to, AllowedIPs: behind})
	}
	key, listen := wgtypes.Key(own), port
	return withClient(func(client *wgctrl.Client) error {
		return client.ConfigureDevice(device, wgtypes.Config{ReplacePeers: true, PrivateKey: &key, ListenPort: &listen, Peers: peers})
	})
}

// Connect does nothing: the first packets make the handshakes.
func (kernelEngine) Connect() error { return nil }

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

func (kernelEngine) Ready() (string, error) { return "Linux " + tunnel.Release(), nil }

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

type goEngine struct{ device *wgdevice.Device }

// openOwn creates wireguard-go's interface. Its UDP socket is open before the interface is up.
func openOwn(o tunnel.Opening) (tunnel.Engine, error) {
	t, err := tun.CreateTUN(device, o.MTU)
	if err != nil {
		return nil, fmt.Errorf("make the interface %s: %w", device, err)
	}
	d := wgdevice.NewDevice(t, conn.NewDefaultBind(), wgdevice.NewLogger(wgdevice.LogLevelError, ""))
	if err := errors.Join(d.IpcSet(fmt.Sprintf("listen_port=%d\n", port)), d.Up()); err != nil {
		d.Close()
		return nil, err
	}
	return goEngine{d}, nil
}

// Rekey sets the private key and the peers (https://www.wireguard.com/xplatform/). It removes the old peers, since an
// old peer would wait before its next handshake.
func (g goEngine) Rekey(own tunnel.Key, peers []tunnel.Peer) error {
	var b strings.Builder
	fmt.Fprintln(&b, "replace_peers=true")
	fmt.Fprintf(&b, "private_key=%s\n", hex.EncodeToString(own[:]))
	for _, p := range peers {
		fmt.Fprintf(&b, "public_key=%s\n", hex.EncodeToString(p.Key[:]))
		fmt.Fprintf(&b, "endpoint=%s\n", p.Endpoint(port))
		for _, behind := range p.Behind {
			fmt.Fprintf(&b, "allowed_ip=%s\n", behind)
		}
	}
	return g.device.IpcSet(b.String())
}

func (g goEngine) Connect() error { return nil }

func (g goEngine) Traffic() (tunnel.Traffic, error) {
	text, err := g.device.IpcGet()
	if err != nil {
		return tunnel.Traffic{}, err
	}
	return parseTraffic(text)
}

// Ready returns the version of the wireguard-go that is built into Tare.
func (g goEngine) Ready() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "golang.zx2c4.com/wireguard" {
				return "wireguard-go " + m.Version, nil
			}
		}
	}
	return "wireguard-go of unknown version", nil
}

func (g goEngine) Close() error {
	g.device.Close()
	return nil
}

func parseTraffic(text string) (tunnel.Traffic, error) {
	var sum tunnel.Traffic
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		counter := map[string]*uint64{"tx_bytes": &sum.Sent, "rx_bytes": &sum.Received}[name]
		if counter == nil {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(value, "%d", &n); err != nil {
			return tunnel.Traffic{}, fmt.Errorf("counter %q: %w", strings.TrimSpace(line), err)
		}
		*counter += n
	}
	return sum, nil
}
