package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/process"
)

// Server is the agent. Its exported fields must not change once Serve has begun.
type Server struct {
	Dir     string // directory of the socket and the outputs; "" means the constant Dir
	Version string // version of Tare in the image; "" if it is unknown
	// Self is the command that prints ReadFacts as JSON; it runs like a program under test. If Self is empty, the agent
	// reports its own facts.
	Self []string

	instance string // random text, which differs after every restart of the agent
	pods     cgroup.Pods
	programs process.Keeper
	serial   atomic.Int64 // number of the latest program

	// memory, store and started limit memory, stored outputs and programs: to memoryLimit, StoreLimit and
	// programsLimit, or less in tests.
	memory, store, started quota
	refused                atomic.Int64 // number of connections that are being refused

	mu       sync.Mutex // a goroutine that holds the mu of a session must not lock this mu
	sessions map[string]*serverSession
	conns    map[net.Conn]bool
	ended    bool
}

const socketName = "agent.sock"

const programsDir = "programs"

// Serve runs the agent until the context is done, and then kills every program. It also reaps the pod's orphans.
func (s *Server) Serve(ctx context.Context) error {
	s.Dir = cmp.Or(s.Dir, Dir)
	s.instance = rand.Text()
	s.sessions, s.conns = map[string]*serverSession{}, map[net.Conn]bool{}
	s.memory.init(memoryLimit, "bytes of memory")
	s.store.init(StoreLimit, "bytes for outputs")
	s.started.init(programsLimit, "room for programs")
	// Only the first process of a PID namespace becomes the parent of all orphans there.
	s.programs.First = os.Getpid() == 1
	listener, err := s.listen()
	if err != nil {
		return err
	}
	// A subreaper becomes the parent of orphans, even if it is not the first process of the pod.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil && !s.programs.First {
		_ = listener.Close()
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reaping sync.WaitGroup
	reaping.Go(func() { s.programs.Reap(ctx) })
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	err = s.accept(ctx, listener)
	cancel()
	reaping.Wait()
	s.shutDown()
	return err
}

func (s *Server) listen() (net.Listener, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("the agent's directory: %w", err)
	}
	socket := filepath.Join(s.Dir, socketName)
	if c, err := net.DialTimeout("unix", socket, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("another agent serves in %s already", s.Dir)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old socket: %w", err)
	}
	if err := owned.Remove(filepath.Join(s.Dir, programsDir)); err != nil {
		return nil, fmt.Errorf("remove old outputs: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen in %s: %w", s.Dir, err)
	}
	return listener, nil
}

func (s *Server) accept(ctx context.Context, listener net.Listener) error {
	for {
		c, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept connections: %w", err)
		}
		if err := s.addConn(c); err != nil {
			s.refuse(c, err)
			continue
		}
		go func() {
			s.serveConn(ctx, c)
			_ = c.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.conns, c)
		}()
	}
}

func (s *Server) addConn(c net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnding
	}
	if len(s.conns) >= connLimit {
		return &quotaError{fmt.Sprintf("the agent of this pod has %d connections, the maximum", connLimit)}
	}
	s.conns[c] = true
	return nil
}

// refuse sends the reason and closes a connection. If too many connections are being refused, it sends nothing.
func (s *Server) refuse(c net.Conn, why error) {
	if s.refused.Add(1) > connLimit {
		s.refused.Add(-1)
		_ = c.Close()
		return
	}
	go func() {
		defer s.refused.Add(-1)
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(refusalTimeout))
		if _, err := io.WriteString(c, greeting(s.Version)); err == nil {
			sendRefusal(c, why)
		}
	}()
}

func (s *Server) shutDown() {
	s.programs.Close()
	running := s.programs.Running(nil)
	s.mu.Lock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close()
	}
	sessions := s.sessions
	s.sessions = nil
	s.mu.Unlock()
	for _, t := range sessions {
		t.close()
	}
	limit := time.After(2 * time.Second) // programs that remain end with the agent, if it is the first process of the pod
	for _, p := range running {
		p.Signal()
	}
	for _, p := range running {
		select {
		case <-p.Done():
		case <-limit:
			return
		}
	}
	_ = owned.Remove(filepath.Join(s.Dir, programsDir))
}

// Connect connects to the agent that listens in dir. It copies in to the agent, and the agent's data to out, until the
// connection or a stream ends.
func Connect(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	dir = cmp.Or(dir, Dir)
	conn, err := dialSocket(ctx, filepath.Join(dir, socketName))
	if err != nil {
		return fmt.Errorf("no agent of Tare's answers in %s: %w", dir, err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
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
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
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
	// The copy gets its name only when it is complete, so that no other process finds an incomplete copy.
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
