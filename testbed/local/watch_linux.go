package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watchBuffer holds what is on the wire between two reads of the watcher. The
// kernel doubles it and caps it at net.core.rmem_max.
const watchBuffer = 4 << 20

// Watch counts the frames on the wire that contain pattern, on all ports of the
// bridge and in both directions, so that one frame may be seen more than once.
// A capture that lost frames is an error, since its count would prove nothing.
func (n *network) Watch(ctx context.Context, pattern []byte) (func() (int, error), error) {
	if len(pattern) == 0 {
		return nil, errors.New("watch the wire: no pattern given")
	}
	w := &watcher{pattern: pattern, ended: make(chan struct{})}
	if err := n.wire.thread.do(w.open); err != nil {
		return nil, fmt.Errorf("watch the wire: %w", err)
	}
	go w.run()
	wake := func() { _ = w.socket.SetReadDeadline(time.Unix(1, 0)) }
	release := context.AfterFunc(ctx, wake)
	return func() (int, error) {
		release()
		wake()
		<-w.ended
		if w.err != nil {
			return w.frames, fmt.Errorf("watch the wire: %w", w.err)
		}
		return w.frames, ctx.Err()
	}, nil
}

// watcher is a packet socket and the goroutine that reads it.
type watcher struct {
	pattern []byte
	socket  *os.File
	ended   chan struct{}
	frames  int // of those with the pattern; after ended is closed
	err     error
}

// open makes the packet socket in the namespace of the calling thread.
func (w *watcher) open() error {
	everything := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(everything))
	if err != nil {
		return fmt.Errorf("open a packet socket: %w", err)
	}
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, watchBuffer)
	w.socket = os.NewFile(uintptr(socket), "packet socket")
	return nil
}

// run reads until it is woken by a deadline, and then what is still there: frames reach
// the socket before they reach their destination, so whatever was delivered before the
// watch was ended is counted.
func (w *watcher) run() {
	defer close(w.ended)
	defer func() { _ = w.socket.Close() }()
	buffer := make([]byte, 1<<18)
	raw, err := w.socket.SyscallConn()
	if err == nil {
		err = raw.Read(func(socket uintptr) bool {
			w.err = w.drain(int(socket), buffer)
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
		if w.err = w.drain(int(socket), buffer); w.err == nil {
			w.err = lost(int(socket))
		}
	})
	w.err = cmp.Or(w.err, err)
}

// drain reads all frames that have been captured.
func (w *watcher) drain(socket int, buffer []byte) error {
	for {
		size, _, err := unix.Recvfrom(socket, buffer, 0)
		switch err {
		case nil:
			if bytes.Contains(buffer[:size], w.pattern) {
				w.frames++
			}
		case unix.EINTR:
		case unix.EAGAIN:
			return nil
		default:
			return err
		}
	}
}

// lost asks the kernel whether frames were dropped.
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
