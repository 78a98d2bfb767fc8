package agent

import (
	"context"
	"errors"
	"io"
	"time"

	"tare/testbed"
)

var errNotBuilt = errors.New("not built yet")

// Error says for how long the agent has been out of reach, and why.
func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *LostError) Unwrap() error { return e.Err }

// NewSession makes a session, which connects when it is first used.
func NewSession(dial Dial, o Options) *Session { return &Session{} }

// Start starts a program in the pod. The outputs that the command asks for are
// written when it has ended, whole and checked by their digests, or not at all.
func (s *Session) Start(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	return nil, errNotBuilt
}

// Facts asks for the facts.
func (s *Session) Facts(ctx context.Context) (Facts, error) { return Facts{}, errNotBuilt }

// Counters reads the counters.
func (s *Session) Counters(ctx context.Context, q Question) (Counters, error) {
	return Counters{}, errNotBuilt
}

// Round is the time of one question and answer, for the record.
func (s *Session) Round(ctx context.Context) (time.Duration, error) { return 0, errNotBuilt }

// Close ends the connection. Programs that still run are killed.
func (s *Session) Close() error { return nil }

// Serve is the agent: it listens in dir and runs until the context is done,
// reaping orphans as the first process of a pod must.
func Serve(ctx context.Context, dir string) error { return errNotBuilt }

// Connect joins the streams to the agent that listens in dir.
func Connect(ctx context.Context, dir string, in io.Reader, out io.Writer) error { return errNotBuilt }

// Install copies the running program to a path, executable.
func Install(path string) error { return errNotBuilt }
