//go:build unix

package importer

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openWaiting opens a file that may keep its reader waiting: a named pipe, which is
// also what process substitution gives. The end of ctx ends every wait. Opening a
// pipe for reading usually waits for somebody to write, where nothing can be ended;
// so it is opened without waiting, and its first byte is waited for.
func openWaiting(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// What takes no deadline, such as /dev/zero, keeps nobody waiting.
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	w := &waiting{File: file, stop: stop}
	if info, err := file.Stat(); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		if err := w.written(); err != nil {
			_ = w.Close()
			return nil, err
		}
	}
	return w, nil
}

// waiting is a file whose reads end with a context.
type waiting struct {
	*os.File
	stop func() bool
}

// Close closes the file.
func (w *waiting) Close() error {
	w.stop()
	return w.File.Close()
}

// written waits until somebody has written to the pipe, or has opened and closed
// it. Before that, a read would say that the pipe is at its end.
func (w *waiting) written() error {
	conn, err := w.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(list, 0)
		if err == unix.EINTR {
			n, err = unix.Poll(list, 0)
		}
		failed = err
		return n > 0 || err != nil
	})
	if failed != nil {
		return failed
	}
	return err
}
