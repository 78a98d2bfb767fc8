package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
)

// readyTimeout is how long Connect waits for an agent that is still starting.
const readyTimeout = 3 * time.Second

// Connect joins the streams in and out to the agent that listens in dir. It returns when the agent's
// connection or a stream ends.
func Connect(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	if dir == "" {
		dir = Dir
	}
	conn, err := dialSocket(ctx, filepath.Join(dir, socketName))
	if err != nil {
		return fmt.Errorf("no agent of Tare's answers in %s: %w", dir, err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	go func() { // this goroutine ends with the stream in, at the latest with the process
		_, _ = io.Copy(conn, in)
		_ = conn.Close()
	}()
	_, err = io.Copy(out, conn)
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		var d net.Dialer
		conn, err := d.DialContext(limited, "unix", socket)
		starting := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
		if !starting || testbed.Pause(limited, 20*time.Millisecond) != nil {
			return conn, err
		}
	}
}

// Install copies the running program to a path and makes the copy executable.
func Install(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("install the agent as %s: %w", path, err)
		}
	}()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// The copy gets its name only when it is complete. No other process can find an incomplete copy.
	f, err := owned.File(filepath.Dir(path), "agent", "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, self)
	if err = errors.Join(err, f.Chmod(0o755), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
