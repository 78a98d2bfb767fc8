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

	"tare/machine/owned"
)

// readyDelay is how long Connect waits for an agent that is only just starting.
const readyDelay = 3 * time.Second

// Connect joins the streams to the agent that listens in dir, until either ends.
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
	go func() { // ends with the stream, at the latest with this process
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
	limited, cancel := context.WithTimeout(ctx, readyDelay)
	defer cancel()
	for {
		var d net.Dialer
		conn, err := d.DialContext(limited, "unix", socket)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return conn, err
		}
		select {
		case <-limited.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Install copies the running program to a path, executable.
func Install(path string) error {
	if err := install(path); err != nil {
		return fmt.Errorf("install the agent as %s: %w", path, err)
	}
	return nil
}

func install(path string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// Written under another name first: nobody finds half of it.
	f, err := owned.File(filepath.Dir(path), "agent", "")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, self)
	if err == nil {
		err = f.Chmod(0o755)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
