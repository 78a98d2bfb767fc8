package tunnel

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testbed/sniff"
)

// longestMarker is the size of the largest marker that a helper answers, in bytes.
const longestMarker = 4096

// receipt returns the answer to a marker. The answer is shorter than the marker. If only answers went through
// a tunnel, the tunnel's counters would therefore grow by less than the marker's size.
func receipt(marker []byte) []byte {
	sum := sha256.Sum256(marker)
	return sum[:8]
}

// probePort is the UDP port on which helpers in pods answer markers.
const probePort = 51821

// answer starts answering markers. It also reports whether the interface exists.
func answer(device string) (present bool, err error) {
	socket, err := net.ListenPacket("udp", fmt.Sprintf(":%d", probePort))
	switch {
	case err == nil:
		go answerAll(socket)
	case !errors.Is(err, unix.EADDRINUSE): // if the port is in use, the helper of a layer that is on answers
		return false, err
	}
	_, missing := net.InterfaceByName(device)
	return missing == nil, nil
}

// answerAll answers markers until the process ends.
func answerAll(socket net.PacketConn) {
	marker := make([]byte, longestMarker)
	for {
		if n, from, err := socket.ReadFrom(marker); err == nil {
			_, _ = socket.WriteTo(receipt(marker[:n]), from)
		}
	}
}

// send sends the marker. It watches for the marker on the tunnel's interface and on all other interfaces.
func (o sending) send(device string) (s sent, err error) {
	if !o.Watch {
		s.Arrived, err = o.exchange()
		return s, err
	}
	tunnel := 0 // no interface has this index
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
