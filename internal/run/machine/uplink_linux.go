package machine

import (
	"net"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// somewhere are addresses for documentation (RFC 5737 and 3849), which are never in use. Packets to them would leave by
// the default route.
var somewhere = []string{"192.0.2.1:9", "[2001:db8::1]:9"}

// ReadUplink describes the interface that packets leave this network namespace by, at the default route; nil if there
// is none. It sends nothing.
func ReadUplink() *Uplink {
	for _, address := range somewhere {
		c, err := net.Dial("udp", address) // sets the socket's route and source address only
		if err != nil {
			continue
		}
		u := uplink(c.(*net.UDPConn))
		_ = c.Close()
		if u != nil {
			return u
		}
	}
	return nil
}

func uplink(c *net.UDPConn) *Uplink {
	links, err := net.Interfaces()
	if err != nil {
		return nil
	}
	own := c.LocalAddr().(*net.UDPAddr).IP
	for _, link := range links {
		addresses, _ := link.Addrs()
		for _, a := range addresses {
			if at, ok := a.(*net.IPNet); ok && at.IP.Equal(own) {
				u := &Uplink{Name: link.Name, MTU: link.MTU}
				u.complete(c, own.To4() == nil)
				return u
			}
		}
	}
	return nil
}

// complete adds the limits of the route and the offloads. Sandboxes with a network of their own may know none of them.
func (u *Uplink) complete(c *net.UDPConn, six bool) {
	if link, err := netlink.LinkByName(u.Name); err == nil {
		u.GSO = int(link.Attrs().GSOMaxSize)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(socket uintptr) {
		level, option := unix.IPPROTO_IP, unix.IP_MTU
		if six {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU
		}
		if mtu, err := unix.GetsockoptInt(int(socket), level, option); err == nil {
			u.MTU = min(u.MTU, mtu)
		}
		u.Offloads = offloads(socket, u.Name)
	})
}

// offloads asks the kernel which offloads of an interface are on, as ethtool -k does. It leaves out those that the
// interface does not know.
func offloads(socket uintptr, name string) map[string]bool {
	var on map[string]bool
	for feature, command := range map[string]uint32{
		"TSO": unix.ETHTOOL_GTSO, "GSO": unix.ETHTOOL_GGSO, "GRO": unix.ETHTOOL_GGRO,
		"TX checksum offload": unix.ETHTOOL_GTXCSUM, "RX checksum offload": unix.ETHTOOL_GRXCSUM,
	} {
		value := struct{ command, data uint32 }{command: command} // struct ethtool_value
		request := struct {                                       // struct ifreq
			name  [unix.IFNAMSIZ]byte
			value unsafe.Pointer
			_     [16]byte
		}{value: unsafe.Pointer(&value)}
		copy(request.name[:unix.IFNAMSIZ-1], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, socket, unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(&value)
		if errno == 0 {
			if on == nil {
				on = map[string]bool{}
			}
			on[feature] = value.data != 0
		}
	}
	return on
}
