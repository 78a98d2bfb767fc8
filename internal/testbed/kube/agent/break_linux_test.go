package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/testbed"
)

// fragile is a connection that breaks after a number of bytes in one direction. The bytes before the break arrive,
// and the bytes after it do not.
type fragile struct {
	io.ReadWriteCloser
	mu          sync.Mutex
	read, write int // remaining bytes; negative: the connection never breaks
}

var errCut = errors.New("cut")

func (f *fragile) Read(b []byte) (int, error) {
	f.mu.Lock()
	left := f.read
	f.mu.Unlock()
	if left == 0 {
		f.Close()
		return 0, errCut
	}
	if left > 0 {
		b = b[:min(len(b), left)]
	}
	n, err := f.ReadWriteCloser.Read(b)
	f.mu.Lock()
	if f.read > 0 {
		f.read -= n
	}
	f.mu.Unlock()
	return n, err
}

func (f *fragile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.write < 0 || len(b) <= f.write {
		if f.write > 0 {
			f.write -= len(b)
		}
		return f.ReadWriteCloser.Write(b)
	}
	n, err := f.ReadWriteCloser.Write(b[:f.write])
	f.Close()
	if err == nil {
		err = errCut
	}
	return n, err
}

// piped dials an agent over net.Pipe, which has no buffers.
func piped(s *Server) dial {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			s.serveConn(context.Background(), theirs)
		}()
		return ours, nil
	}
}

// TestBreaks cuts the first connections at every byte of the exchange. The program runs once, and its result is
// whole.
func TestBreaks(t *testing.T) {
	server := &Server{}
	dials := map[string]dial{"socket": dialer(serve(t, server)), "pipe": piped(server)}
	counter := filepath.Join(t.TempDir(), "runs")
	text := strings.Repeat("0123456789", 40)
	for way, dial := range dials {
		for _, direction := range []string{"from the agent", "to the agent"} {
			for cut := 1; cut < 1400; cut += 1 + cut/8 {
				name := fmt.Sprintf("%s, cut after %d bytes %s", way, cut, direction)
				cuts := 0
				s := sessionWith(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
					conn, err := dial(ctx)
					if cuts++; err != nil || cuts > 2 {
						return conn, err
					}
					f := &fragile{ReadWriteCloser: conn, read: -1, write: -1}
					if direction == "to the agent" {
						f.write = cut
					} else {
						f.read = cut
					}
					return f, nil
				}, Options{})
				os.Remove(counter)
				p, stdout, stderr := start(t, s, shell("echo run >>"+counter+"; echo "+text+"; echo err >&2; exit 4"))
				var exit *testbed.ExitError
				if _, err := p.Wait(); !errors.As(err, &exit) || exit.Code != 4 {
					t.Fatalf("%s: %v, want exit status 4", name, err)
				}
				if stdout.String() != text+"\n" || stderr.String() != "err\n" {
					t.Fatalf("%s: stdout %q, stderr %q", name, stdout, stderr)
				}
				if runs, err := os.ReadFile(counter); err != nil || string(runs) != "run\n" {
					t.Fatalf("%s: it was started as often as this: %q, %v", name, runs, err)
				}
				if err := s.Close(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestBreaksForever: if every connection breaks, the result is an error in the end, and never half a result.
func TestBreaksForever(t *testing.T) {
	dir := serve(t, &Server{})
	for _, cut := range []int{1, 40, 150, 300, 1000, 3000} {
		s := NewClient(func(ctx context.Context) (io.ReadWriteCloser, error) {
			conn, err := dialer(dir)(ctx)
			return &fragile{ReadWriteCloser: conn, read: cut, write: -1}, err
		}, Options{Patience: 50 * time.Millisecond})
		s.backoff = time.Millisecond
		var stdout bytes.Buffer
		cmd := shell("head -c 2000 /dev/zero")
		cmd.Stdout = &stdout
		p, err := s.Start(t.Context(), cmd)
		if err == nil {
			_, err = p.Wait()
		}
		var lost *LostError
		if err != nil && !errors.As(err, &lost) {
			t.Errorf("cut after %d bytes: %v is no LostError", cut, err)
		}
		if want := 2000; err == nil && stdout.Len() != want || err != nil && stdout.Len() != 0 {
			t.Errorf("cut after %d bytes: %d bytes of output, and %v", cut, stdout.Len(), err)
		}
		_ = s.Close()
	}
}

// lying is a connection that changes the agent's responses.
func lying(t *testing.T, change func(*response, []byte) []byte) dial {
	server := &Server{}
	serve(t, server)
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		ours, between := net.Pipe()
		inner, err := piped(server)(ctx)
		if err != nil {
			return nil, err
		}
		go func() { _, _ = io.Copy(inner, between); inner.Close() }()
		go func() {
			defer between.Close()
			r := bufio.NewReader(inner)
			line, _ := r.ReadString('\n')
			_, _ = io.WriteString(between, line)
			for {
				var a response
				body, err := decode(r, &a, nil)
				if err != nil {
					return
				}
				body = change(&a, body)
				frame, err := encode(a, body)
				if err != nil {
					return
				}
				if _, err := between.Write(frame); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}
}

// TestDamagedOutput: output that differs from the program's output is an error.
func TestDamagedOutput(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*response, []byte) []byte
		want   string
	}{
		"another byte": {func(_ *response, b []byte) []byte {
			if len(b) > 0 {
				b[0]++
			}
			return b
		}, "10 bytes arrived with the SHA-256"},
		"nothing":  {func(*response, []byte) []byte { return nil }, "fetch its stdout: it ends after 0 of 10 bytes"},
		"too much": {func(_ *response, b []byte) []byte { return append(b, b...) }, "20 bytes arrived with the SHA-256"},
		"another size": {func(r *response, b []byte) []byte {
			if r.End != nil {
				r.End.Stdout.Size = 5
			}
			return b
		}, "10 bytes arrived with the SHA-256"},
		"no size": {func(r *response, b []byte) []byte {
			if r.End != nil {
				r.End.Stdout.Size = 1 << 60
			}
			return b
		}, "not a frame of the agent's protocol: a size of 1152921504606846976"},
		"no end": {func(r *response, b []byte) []byte { r.End = nil; return b }, "the answer has no end"},
	} {
		s := sessionWith(t, lying(t, c.change), Options{})
		p, stdout, _ := start(t, s, shell("printf 0123456789"))
		if _, err := p.Wait(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if stdout.Len() > 0 {
			t.Errorf("%s: %q was delivered", name, stdout)
		}
	}
}

// TestSilence: an open connection without responses is given up, and the program's result comes over the next
// connection.
func TestSilence(t *testing.T) {
	dial := dialer(serve(t, &Server{}))
	var first *mute
	s := sessionWith(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := dial(ctx)
		if first == nil && err == nil {
			first = &mute{ReadWriteCloser: conn, closed: make(chan struct{})}
			return first, nil
		}
		return conn, err
	}, Options{})
	s.quiet = 20 * time.Millisecond
	path, lines := messages(t)
	p, stdout, _ := start(t, s, shell("echo ready >"+path+"; cat "+path+"; echo done"))
	lines()
	first.silence()
	<-first.closed // by the session
	if err := os.WriteFile(path, []byte("go on\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil || stdout.String() != "go on\ndone\n" {
		t.Errorf("%v, %q", err, stdout)
	}
}

// mute is a connection that can fall silent.
type mute struct {
	io.ReadWriteCloser
	mu     sync.Mutex
	silent bool
	once   sync.Once
	closed chan struct{}
}

func (m *mute) silence() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = true
}

func (m *mute) Read(b []byte) (int, error) {
	for {
		n, err := m.ReadWriteCloser.Read(b)
		m.mu.Lock()
		silent := m.silent
		m.mu.Unlock()
		if !silent || err != nil {
			return n, err
		}
	}
}

func (m *mute) Close() error {
	m.once.Do(func() { close(m.closed) })
	return m.ReadWriteCloser.Close()
}
