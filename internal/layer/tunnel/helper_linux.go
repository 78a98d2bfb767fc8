package tunnel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/testbed/helperrpc"
	"tare/internal/testbed/sniff"
)

// Helper is the main function of the helpers; one runs at each end.
func (p *Protocol) Helper(ctx context.Context) error {
	h := &helper{Protocol: p}
	defer func() { _ = h.close() }()
	return helperrpc.Main(ctx, h.serve)
}

type helper struct {
	*Protocol
	engine Engine // nil: the end is not open
}

func (h *helper) serve(_ context.Context, r request) (any, error) {
	switch {
	case r.Kernel != nil:
		if err := h.Lacks(); err != nil {
			return fmt.Sprintf("%v (Linux %s)", err, Release()), nil
		}
		return "", nil
	case r.Open != nil:
		return h.open(*r.Open)
	case r.Close != nil:
		return nil, h.close()
	case r.Direct != nil:
		return nil, h.install(*r.Direct)
	case r.Undo != nil:
		return nil, h.undo()
	case r.Answer != nil:
		return answer(h.Device)
	case r.Send != nil:
		return r.Send.send(h.Device)
	}
	if h.engine == nil {
		return nil, errors.New("the tunnel is not open")
	}
	switch {
	case r.Ready != nil:
		return h.engine.Ready()
	case r.Rekey != nil:
		return nil, h.engine.Rekey(r.Rekey.Own, r.Rekey.Peers)
	case r.Connect != nil:
		return nil, h.engine.Connect()
	case r.Traffic != nil:
		return h.engine.Traffic()
	}
	return nil, errors.New("an empty request")
}

func (h *helper) open(o Opening) (opened Opened, err error) {
	if h.engine != nil {
		return opened, errors.New("the tunnel is open already")
	}
	if o.MTU == 0 {
		mtu, err := mtuOf(o.Own)
		if err != nil {
			return opened, err
		}
		o.MTU = mtu - h.Overhead
	}
	if len(o.Own) > 0 && !o.Kernel {
		if err := makeTUN(); err != nil {
			return opened, err
		}
	}
	h.engine, opened, err = h.Open(o)
	return opened, err
}

func (h *helper) close() error {
	if h.engine == nil {
		return nil
	}
	err := h.engine.Close()
	h.engine = nil
	return err
}

const tunFile = "/dev/net/tun" // the device file for creating TUN interfaces

// makeTUN creates the device file, if the container lacks it. CAP_MKNOD is enough: runc and crun allow the use of the
// device by default.
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

// mtuOf returns the MTU of the interface with the first of the addresses.
func mtuOf(own []netip.Addr) (int, error) {
	if len(own) == 0 {
		return 0, errors.New("the pod has no address, so the tunnel's MTU is unknown")
	}
	list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return 0, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range list {
		if a.IP.Equal(own[0].AsSlice()) {
			link, err := netlink.LinkByIndex(a.LinkIndex)
			if err != nil {
				return 0, fmt.Errorf("find the interface of %s: %w", own[0], err)
			}
			return link.Attrs().MTU, nil
		}
	}
	return 0, fmt.Errorf("no interface has the address %s", own[0])
}

// SwitchOn adds addresses to an interface in this network namespace, and sets the interface up.
func SwitchOn(device string, own []netip.Addr) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", device, err)
	}
	for _, a := range own {
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: singleAddress(a)}); err != nil {
			return fmt.Errorf("add the address %[2]s to the interface %[1]s: %[3]w", device, a, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set the interface %s up: %w", device, err)
	}
	return nil
}

func singleAddress(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

// Release returns the kernel's release, as printed by uname -r.
func Release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "of unknown release"
	}
	return unix.ByteSliceToString(u.Release[:])
}

const longestMarker = 4096 // the size of the largest marker that a helper answers, in bytes

// receipt returns the answer to a marker. The answer is much shorter than the marker, so that only the marker makes the
// tunnel's counters grow visibly.
func receipt(marker []byte) []byte {
	sum := sha256.Sum256(marker)
	return sum[:8]
}

const probePort = 51821 // the UDP port on which helpers in pods answer markers

// answer starts to answer markers. The result present is true if the interface device exists.
func answer(device string) (present bool, err error) {
	socket, err := net.ListenPacket("udp", fmt.Sprintf(":%d", probePort))
	switch {
	case err == nil:
		go func() {
			for marker := make([]byte, longestMarker); ; {
				if n, from, err := socket.ReadFrom(marker); err == nil {
					_, _ = socket.WriteTo(receipt(marker[:n]), from)
				}
			}
		}()
	case !errors.Is(err, unix.EADDRINUSE): // the port is in use, so the helper of an active layer already answers there
		return false, err
	}
	_, missing := net.InterfaceByName(device)
	return missing == nil, nil
}

// send sends the marker. If Watch is set, it also looks for the marker on the tunnel's interface and on all other
// interfaces except loopback.
func (o sending) send(device string) (s sent, err error) {
	if !o.Watch {
		s.Arrived, err = o.exchange()
		return s, err
	}
	tunnel := 0 // no interface has the index 0
	if link, err := net.InterfaceByName(device); err == nil {
		tunnel = link.Index
	}
	watch, err := sniff.Open([]byte(o.Marker))
	if err != nil {
		return s, fmt.Errorf("watch the pod's interfaces: %w", err)
	}
	s.Arrived, err = o.exchange()
	seen, watched := watch.End()
	s.Tunnel = watch.On(tunnel)
	s.Wire = seen - s.Tunnel
	return s, errors.Join(err, watched)
}

func (o sending) exchange() (arrived bool, err error) {
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(o.To, probePort)))
	if err != nil {
		return false, err
	}
	defer func() { _ = socket.Close() }()
	_ = socket.SetDeadline(time.Now().Add(o.Limit))
	if _, err := socket.Write([]byte(o.Marker)); err != nil {
		return false, nil
	}
	got := make([]byte, longestMarker)
	n, err := socket.Read(got)
	return err == nil && bytes.Equal(got[:n], receipt([]byte(o.Marker))), nil
}
