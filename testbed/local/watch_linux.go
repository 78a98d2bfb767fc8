package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

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
	release := context.AfterFunc(ctx, w.wake)
	return func() (int, error) {
		release()
		w.wake()
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
	socket  int
	ended   chan struct{}
	frames  int // of those with the pattern; after ended is closed
	err     error

	mu   sync.Mutex
	bell int // an eventfd that ends the watch; -1 once it has ended
}

// open makes the packet socket in the namespace of the calling thread.
func (w *watcher) open() error {
	everything := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(everything))
	if err != nil {
		return fmt.Errorf("open a packet socket: %w", err)
	}
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, watchBuffer)
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(socket)
		return fmt.Errorf("make an eventfd: %w", err)
	}
	w.socket, w.bell = socket, bell
	return nil
}

// wake ends the watch. It does nothing once the watch has ended.
func (w *watcher) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bell >= 0 {
		_, _ = unix.Write(w.bell, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// close gives the descriptors back.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = unix.Close(w.socket)
	_ = unix.Close(w.bell)
	w.bell = -1
}

// run reads until it is woken, and then what is still there: frames reach the
// socket before they reach their destination, so whatever was delivered before
// the watch was ended is counted.
func (w *watcher) run() {
	defer close(w.ended)
	defer w.close()
	bell := w.bell
	buffer := make([]byte, 1<<18)
	for {
		waiting := []unix.PollFd{{Fd: int32(w.socket), Events: unix.POLLIN}, {Fd: int32(bell), Events: unix.POLLIN}}
		if _, err := unix.Poll(waiting, -1); err != nil && err != unix.EINTR {
			w.err = err
			return
		}
		if w.err = w.drain(buffer); w.err != nil {
			return
		}
		if waiting[1].Revents != 0 {
			w.err = w.lost()
			return
		}
	}
}

// drain reads all frames that have been captured.
func (w *watcher) drain(buffer []byte) error {
	for {
		size, _, err := unix.Recvfrom(w.socket, buffer, 0)
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
func (w *watcher) lost() error {
	stats, err := unix.GetsockoptTpacketStats(w.socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return fmt.Errorf("ask how many frames were lost: %w", err)
	}
	if stats.Drops > 0 {
		return fmt.Errorf("%d of %d frames were lost", stats.Drops, stats.Packets)
	}
	return nil
}
