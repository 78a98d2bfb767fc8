package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

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

// connLimit is how many connections an agent takes at once. A session has one,
// and sometimes an old one that nobody has noticed to be dead.
const connLimit = 64

// Serve is the agent: it listens in dir and runs until the context is done,
// reaping orphans as the first process of a pod must.
func Serve(ctx context.Context, dir string) error { return (&Server{Dir: dir}).Serve(ctx) }

// Serve runs the agent until the context is done. Every program is dead then.
func (s *Server) Serve(ctx context.Context) error {
	if s.Dir == "" {
		s.Dir = Dir
	}
	s.instance = rand.Text()
	s.tenants, s.conns = map[string]*tenant{}, map[net.Conn]bool{}
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
	if err := os.RemoveAll(filepath.Join(s.Dir, programsDir)); err != nil {
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
		if !s.enter(c) {
			_ = c.Close()
			continue
		}
		go func() {
			defer s.leave(c)
			s.converse(ctx, c)
		}()
	}
}

func (s *Server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.conns) >= connLimit {
		return false
	}
	s.conns[c] = true
	return true
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
	_ = os.RemoveAll(filepath.Join(s.Dir, programsDir))
}
