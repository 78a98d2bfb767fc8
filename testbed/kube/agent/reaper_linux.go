package agent

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// first says that the agent is the first process of its process id namespace.
// Then every process that loses its parent becomes its child, and it alone can
// reap it.
func (s *Server) first() bool { return os.Getpid() == 1 }

// reapOrphans reaps children of the agent that it has not started, as they end.
// Nothing happens between ends.
func (s *Server) reapOrphans(ctx context.Context) {
	ended := make(chan os.Signal, 1) // one is enough: every pass sees all that have ended
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			s.reapPass()
		}
	}
}

func (s *Server) reapPass() {
	s.processes.Lock()
	defer s.processes.Unlock()
	self := os.Getpid()
	for pid, stat := range proc.All(proc.Below("/")) {
		if stat.PPID != self || !stat.Dead() || s.running[pid] != nil {
			continue
		}
		if p := s.owner(pid, stat); p != nil || s.first() {
			s.reapOrphan(pid, p)
		}
	}
}

// owner gives the running program that a dead process belonged to, or nil where
// that cannot be told any more.
func (s *Server) owner(pid int, dead proc.Stat) *program {
	for _, p := range s.running {
		if p.known[pid] {
			return p
		}
	}
	if p := s.running[dead.Session]; p != nil {
		return p
	}
	if p := s.running[dead.PGRP]; p != nil {
		return p
	}
	if s.first() && len(s.running) == 1 {
		for _, p := range s.running {
			return p
		}
	}
	return nil
}

// reapOrphan reaps a dead child, and accounts for it with its program if that is
// known. The caller holds s.processes.
func (s *Server) reapOrphan(pid int, of *program) bool {
	var ru unix.Rusage
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, &ru)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got != pid {
			return err == unix.ECHILD
		}
		if of != nil {
			of.orphans = append(of.orphans, ru)
		}
		return true
	}
}
