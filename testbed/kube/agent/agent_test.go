package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/testbed"
)

// serve runs an agent in this process until the test ends, and gives its directory.
func serve(t testing.TB, s *Server) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	s.Dir = dir
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
		os.RemoveAll(dir)
	})
	return dir
}

// dialer opens connections to the agent in dir as they are.
func dialer(dir string) Dial {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		return dialSocket(ctx, filepath.Join(dir, socketName))
	}
}

// session gives a session with a new agent.
func session(t testing.TB, o Options) *Session {
	t.Helper()
	return sessionWith(t, dialer(serve(t, &Server{})), o)
}

func sessionWith(t testing.TB, dial Dial, o Options) *Session {
	t.Helper()
	s := NewSession(dial, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the session: %v", err)
		}
	})
	return s
}

// shell is a command of the shell's.
func shell(script string) testbed.Command { return testbed.Command{Args: []string{"/bin/sh", "-c", script}} }

func TestRun(t *testing.T) {
	s := session(t, Options{})
	var stdout, stderr bytes.Buffer
	cmd := shell(`cat; echo "$WHO" >&2; pwd; exit 3`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader([]byte("in\n")), &stdout, &stderr
	cmd.Env, cmd.Dir = []string{"WHO=me"}, "/usr"
	p, err := s.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	usage, err := p.Wait()
	var exit *testbed.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || exit.Signal != "" || exit.Stderr != "me\n" {
		t.Errorf("got %#v, want exit status 3", err)
	}
	if stdout.String() != "in\n/usr\n" || stderr.String() != "me\n" {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
	if usage.Wall <= 0 || usage.MaxRSS <= 0 {
		t.Errorf("usage %+v", usage)
	}
}

var _ = net.Pipe
var _ = time.Now
