package agent

import (
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
	"time"

	"tare/machine/owned"
	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/process"

	"golang.org/x/sys/unix"
)

// Server is the agent. Its fields are set before Serve and not changed after.
type Server struct {
	Dir     string // of the socket and the outputs; Dir where it is ""
	Version string // of Tare in the image; "" where it is not known
	// Self is the command that prints what ReadFacts gives, as JSON: a program of
	// the agent's shows what programs may do. Without one the agent tells its own.
	Self []string

	instance string // random: another one after a restart

	pods cgroup.Pods

	programs process.Keeper

	serial atomic.Int64 // of the programs

	// Of this package's constants of similar names, or less in tests.
	memory, store, started budget
	refused                atomic.Int64 // connections that are being turned away

	// mu may be held while that of a tenant is taken, and not the other way round.
	mu      sync.Mutex
	tenants map[string]*tenant // by the name of the client's session
	conns   map[net.Conn]bool
	ended   bool
}

const socketName = "agent.sock"

// programsDir is where the outputs are, in the server's directory.
const programsDir = "programs"

// lastDelay is how long the agent's own end waits for its programs to be gone. In
// a pod they end with it anyway.
const lastDelay = 2 * time.Second

// Serve is the agent: it listens and runs until the context is done, reaping orphans as the
// first process of a pod must. Every program is dead then.
func (s *Server) Serve(ctx context.Context) error {
	if s.Dir == "" {
		s.Dir = Dir
	}
	s.instance = rand.Text()
	s.tenants, s.conns = map[string]*tenant{}, map[net.Conn]bool{}
	s.bound()
	// As the first process of its process id namespace it alone can reap every process
	// that loses its parent.
	s.programs.First = os.Getpid() == 1
	listener, err := s.listen()
	if err != nil {
		return err
	}
	// Orphans come to the agent also where it is not the first process of the pod.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil && !s.programs.First {
		_ = listener.Close()
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reaping sync.WaitGroup
	reaping.Go(func() { s.programs.Reap(ctx) })
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	err = s.accept(ctx, listener)
	cancel()
	reaping.Wait()
	s.end()
	return err
}

// listen makes the directory ready, which a container that was restarted finds
// as its predecessor left it, and the socket.
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
		if err := s.enter(c); err != nil {
			s.turnAway(c, err)
			continue
		}
		go func() {
			defer s.leave(c)
			s.converse(ctx, c)
		}()
	}
}

func (s *Server) enter(c net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnding
	}
	if len(s.conns) >= connLimit {
		return &boundError{fmt.Sprintf("the agent of this pod has %d connections, which are the most", connLimit)}
	}
	s.conns[c] = true
	return nil
}

// turnAway ends a connection that was not entered, and says why, unless many are being
// told already.
func (s *Server) turnAway(c net.Conn, why error) {
	if s.refused.Add(1) > connLimit {
		s.refused.Add(-1)
		_ = c.Close()
		return
	}
	go func() {
		defer s.refused.Add(-1)
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(refusalDelay))
		if _, err := io.WriteString(c, greeting(s.Version)); err == nil {
			refusal(c, why)
		}
	}()
}

func (s *Server) leave(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// end closes all connections and ends all programs.
func (s *Server) end() {
	s.programs.Close()
	running := s.programs.Running(nil)
	s.mu.Lock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close()
	}
	tenants := s.tenants
	s.tenants = nil
	s.mu.Unlock()
	for _, t := range tenants {
		t.shut()
	}
	limit := time.NewTimer(lastDelay)
	defer limit.Stop()
	for _, p := range running {
		p.Signal()
	}
	for _, p := range running {
		select {
		case <-p.Done():
		case <-limit.C:
			return
		}
	}
	_ = owned.Remove(filepath.Join(s.Dir, programsDir))
}
