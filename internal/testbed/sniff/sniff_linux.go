// Package sniff counts the frames in a network namespace that contain a pattern in clear.
package sniff

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// buffer is the size in bytes of the socket's receive buffer. The kernel limits it by net.core.rmem_max.
const buffer = 4 << 20

// Watch is a packet socket and the goroutine that reads it.
type Watch struct {
	pattern []byte
	socket  *os.File
	ended   chan struct{}
	frames  int         // number of frames that contain the pattern; final when ended is closed
	on      map[int]int // number of frames that contain the pattern, by index of the interface
	err     error
}

// Open watches all interfaces of the thread's network namespace but loopback, and counts frames with the pattern, some
// twice. It needs CAP_NET_RAW.
func Open(pattern []byte) (*Watch, error) {
	if len(pattern) == 0 {
		return nil, errors.New("no pattern given")
	}
	everything := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(everything))
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer)
	w := &Watch{pattern: pattern, ended: make(chan struct{}), on: map[int]int{}, socket: os.NewFile(uintptr(socket), "packet socket")}
	go w.run()
	return w, nil
}

// Stop ends the watch when all frames delivered so far are counted. Later calls do nothing.
func (w *Watch) Stop() { _ = w.socket.SetReadDeadline(time.Unix(1, 0)) }

// End stops the watch and returns the count. If frames were lost, it returns an error: the count would prove nothing.
func (w *Watch) End() (int, error) {
	w.Stop()
	<-w.ended
	return w.frames, w.err
}

// On returns the number of counted frames on one network interface, whose number in the kernel is index.
func (w *Watch) On(index int) int {
	<-w.ended
	return w.on[index]
}

// run reads frames until a deadline wakes it, and then the rest. A frame reaches the socket before its destination, so
// all arrived frames are counted.
func (w *Watch) run() {
	defer close(w.ended)
	defer func() { _ = w.socket.Close() }()
	frame := make([]byte, 1<<18)
	raw, err := w.socket.SyscallConn()
	if err == nil {
		err = raw.Read(func(socket uintptr) bool {
			w.err = w.drain(int(socket), frame)
			return w.err != nil
		})
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.err = err
	}
	if w.err != nil {
		return
	}
	err = raw.Control(func(socket uintptr) {
		if w.err = w.drain(int(socket), frame); w.err == nil {
			w.err = lost(int(socket))
		}
	})
	w.err = cmp.Or(w.err, err)
}

func (w *Watch) drain(socket int, frame []byte) error {
	for {
		size, from, err := unix.Recvfrom(socket, frame, 0)
		switch err {
		case nil:
			link, _ := from.(*unix.SockaddrLinklayer)
			if link != nil && link.Hatype != unix.ARPHRD_LOOPBACK && bytes.Contains(frame[:size], w.pattern) {
				w.frames++
				w.on[link.Ifindex]++
			}
		case unix.EINTR:
		case unix.EAGAIN:
			return nil
		default:
			return err
		}
	}
}

func lost(socket int) error {
	stats, err := unix.GetsockoptTpacketStats(socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return fmt.Errorf("ask how many frames were lost: %w", err)
	}
	if stats.Drops > 0 {
		return fmt.Errorf("%d of %d frames were lost", stats.Drops, stats.Packets)
	}
	return nil
}
