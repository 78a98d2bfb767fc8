package wireguard

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
	wgdevice "golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"tare/testbed/orders"
)

// Helper is the main function of the process that runs wireguard-go on a node, and of the one
// in each pod of a cluster. It serves orders from standard input until that ends.
func Helper(ctx context.Context) error {
	h := &helper{}
	defer func() { _ = h.close() }()
	return orders.Main(ctx, h.obey)
}

// engine is a WireGuard of the network namespace that the helper was started in.
type engine interface {
	rekey(o rekeyOrder) error
	traffic() (traffic, error)
	close() error
}

// helper runs one of them.
type helper struct {
	engine engine // nil: not open
}

// obey does what an order says.
func (h *helper) obey(_ context.Context, o order) (any, error) {
	switch {
	case o.Kernel != nil:
		return askKernel()
	case o.Open != nil:
		return nil, h.open(*o.Open)
	case o.Close != nil:
		return nil, h.close()
	case o.Direct != nil:
		return nil, o.Direct.install()
	case o.Undo != nil:
		return nil, undirect()
	case o.Answer != nil:
		return answer()
	case o.Send != nil:
		return o.Send.send()
	}
	if h.engine == nil {
		return nil, errors.New("the tunnel is not open")
	}
	switch {
	case o.Rekey != nil:
		return nil, h.engine.rekey(*o.Rekey)
	case o.Traffic != nil:
		return h.engine.traffic()
	}
	return nil, errors.New("an order that says nothing")
}

// here runs f in the helper's own network namespace.
func here(f func() error) error { return f() }

func askKernel() (kernelAnswer, error) {
	a := kernelAnswer{Release: release()}
	err := kernelHas(here)
	if errors.Is(err, errNoKernel) {
		a.Lacks, err = err.Error(), nil
	}
	return a, err
}

// open makes the interface and switches it on.
func (h *helper) open(o openOrder) error {
	if h.engine != nil {
		return errors.New("the tunnel is open already")
	}
	if o.MTU == 0 {
		mtu, err := mtuOf(o.Own)
		if err != nil {
			return err
		}
		o.MTU = mtu - overhead
	}
	if o.Kernel {
		if _, err := addLink(o.MTU); err != nil {
			return err
		}
		h.engine = kernelEngine{here}
	} else if err := h.openOwn(o); err != nil {
		return err
	}
	return switchOn(o.Own...)
}

// openOwn opens that of wireguard-go.
func (h *helper) openOwn(o openOrder) error {
	if len(o.Own) > 0 {
		if err := makeTUN(); err != nil {
			return err
		}
	}
	t, err := tun.CreateTUN(device, o.MTU)
	if err != nil {
		return fmt.Errorf("make the interface %s: %w", device, err)
	}
	d := wgdevice.NewDevice(t, conn.NewDefaultBind(), wgdevice.NewLogger(wgdevice.LogLevelError, ""))
	h.engine = goEngine{d}
	// The UDP socket is opened here, before the interface is up.
	return errors.Join(d.IpcSet(fmt.Sprintf("listen_port=%d\n", o.Port)), d.Up())
}

// tunFile is where wireguard-go finds TUN interfaces.
const tunFile = "/dev/net/tun"

// makeTUN makes the file in a container, where it is not: container runtimes allow its device
// by default (runc, crun), and CAP_MKNOD is all that it takes.
func makeTUN() error {
	if _, err := os.Stat(tunFile); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(tunFile), 0o755); err != nil {
		return err
	}
	if err := unix.Mknod(tunFile, unix.S_IFCHR|0o600, int(unix.Mkdev(10, 200))); err != nil {
		return fmt.Errorf("make %s: %w", tunFile, err)
	}
	return nil
}

// mtuOf is the MTU of the interface that has the first of these addresses.
func mtuOf(own []netip.Addr) (int, error) {
	if len(own) == 0 {
		return 0, errors.New("no MTU, and no address of the pod")
	}
	list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return 0, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range list {
		if a.IP.Equal(own[0].AsSlice()) {
			link, err := netlink.LinkByIndex(a.LinkIndex)
			if err != nil {
				return 0, fmt.Errorf("the interface of %s: %w", own[0], err)
			}
			return link.Attrs().MTU, nil
		}
	}
	return 0, fmt.Errorf("no interface has the address %s", own[0])
}

// close takes the interface away.
func (h *helper) close() error {
	if h.engine == nil {
		return nil
	}
	err := h.engine.close()
	h.engine = nil
	return err
}

// goEngine is wireguard-go's.
type goEngine struct{ device *wgdevice.Device }

// rekey sets the private key and the peers, in the configuration language of
// https://www.wireguard.com/xplatform/. The old peers go first: they would keep
// the handshakes that they have begun, and wait before they begin others.
func (g goEngine) rekey(o rekeyOrder) error {
	var b strings.Builder
	fmt.Fprintln(&b, "replace_peers=true")
	fmt.Fprintf(&b, "private_key=%s\n", hex.EncodeToString(o.Private[:]))
	for _, p := range o.Peers {
		fmt.Fprintf(&b, "public_key=%s\n", hex.EncodeToString(p.Public[:]))
		fmt.Fprintf(&b, "endpoint=%s\n", p.Endpoint)
		for _, allowed := range p.Allowed {
			fmt.Fprintf(&b, "allowed_ip=%s\n", allowed)
		}
	}
	return g.device.IpcSet(b.String())
}

func (g goEngine) traffic() (traffic, error) {
	text, err := g.device.IpcGet()
	if err != nil {
		return traffic{}, err
	}
	return parseTraffic(text)
}

func (g goEngine) close() error {
	g.device.Close()
	return nil
}

// parseTraffic adds up the counters in the answer to a "get".
func parseTraffic(text string) (traffic, error) {
	var sum traffic
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		counter := map[string]*uint64{"tx_bytes": &sum.Sent, "rx_bytes": &sum.Received}[name]
		if counter == nil {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(value, "%d", &n); err != nil {
			return traffic{}, fmt.Errorf("counter %q: %w", strings.TrimSpace(line), err)
		}
		*counter += n
	}
	return sum, nil
}
