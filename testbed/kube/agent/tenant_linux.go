package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"tare/testbed/process"
	"time"
)

// Bounds of what a client may ask for.
const (
	minLease = time.Second
	maxLease = 24 * time.Hour
	// droppedLimit is how many dropped programs a session remembers: the latest. A
	// request that is so late that its program is not among them cannot be.
	droppedLimit = 10000
)

var validName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// tenant is one client's session in the agent, over any number of connections.
// When nothing was heard of the client for the time of its lease, it is taken for
// gone, and its programs are killed.
type tenant struct {
	server *Server
	name   string

	mu       sync.Mutex
	lease    time.Duration
	timer    *time.Timer
	programs map[string]*program
	dropped  map[string]bool // names that are never started again, however late a request arrives
	order    []string        // of the dropped, the oldest first
	follows  map[string]*follower
	closed   bool
}

// tenant gives the session of that name, which begins if there is none.
func (s *Server) tenant(h *hello) (*tenant, error) {
	if h == nil || !validName.MatchString(h.Session) {
		return nil, errors.New("hello without the valid name of a session")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errors.New("the agent is ending")
	}
	t := s.tenants[h.Session]
	if t == nil && len(s.tenants) >= sessionsLimit {
		return nil, &boundError{fmt.Sprintf("the agent of this pod has %d sessions, which are the most; one ends when its client has not been heard of for the time that it asked for", sessionsLimit)}
	}
	if t == nil {
		t = &tenant{server: s, name: h.Session, programs: map[string]*program{}, dropped: map[string]bool{}}
		s.tenants[h.Session] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lease = min(max(h.Lease, minLease), maxLease)
	if t.timer == nil {
		t.timer = time.AfterFunc(t.lease, t.expire)
	} else {
		t.timer.Reset(t.lease)
	}
	return t, nil
}

// touch notes that the client is there, unless it came too late.
func (t *tenant) touch() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.timer.Reset(t.lease)
	}
	return !t.closed
}

// expire ends the session of a client that is not heard of.
func (t *tenant) expire() {
	t.mu.Lock()
	lease := t.lease
	t.mu.Unlock()
	t.leave(fmt.Sprintf("it was killed because the agent had not heard of Tare for %v", lease))
}

// leave ends the session: all its programs are killed and forgotten. It waits until
// they are gone, bounded.
func (t *tenant) leave(why string) {
	t.server.mu.Lock()
	if t.server.tenants[t.name] == t {
		delete(t.server.tenants, t.name)
	}
	t.server.mu.Unlock()
	programs := t.shut()
	for _, p := range programs {
		go func() {
			p.stop(why)
			<-p.done
			p.discard()
		}()
	}
	limit := time.NewTimer(process.EndLimit + process.OutputDelay)
	defer limit.Stop()
	for _, p := range programs {
		select {
		case <-p.done:
			p.discard()
		case <-limit.C:
			return
		}
	}
}

// shut ends the session for its client, and gives its programs.
func (t *tenant) shut() map[string]*program {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.timer.Stop()
	for _, f := range t.follows {
		f.end()
	}
	t.follows = nil
	programs := t.programs
	t.programs = nil
	return programs
}

// start starts a program, or gives the one of that name that was started before:
// a client that does not know whether its request arrived asks again.
func (t *tenant) start(name string, order *startOrder, stdin []byte) (*program, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("start: %.80q is not the valid name of a program", name)
	}
	if order == nil {
		return nil, errors.New("start: without an order")
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, errors.New("start: the session has ended")
	}
	if t.dropped[name] {
		t.mu.Unlock()
		return nil, fmt.Errorf("start: the program %s was dropped before", name)
	}
	p, known := t.programs[name]
	if !known {
		var err error
		if p, err = t.server.newProgram(order.cost()); err != nil {
			t.mu.Unlock()
			return nil, fmt.Errorf("start: %w", err)
		}
		t.programs[name] = p
	}
	t.mu.Unlock()
	if !known {
		p.start(order, stdin)
	}
	<-p.forked
	return p, p.failed
}

// program finds one that was started.
func (t *tenant) program(name string) (*program, error) {
	t.mu.Lock()
	p := t.programs[name]
	t.mu.Unlock()
	if p == nil {
		return nil, &failure{Kind: notKnown, Text: "the agent does not know this program: it was restarted, or has not heard of this Tare for so long that it ended everything"}
	}
	<-p.forked
	return p, p.failed
}

// drop kills and forgets a program. Until it is gone it is one of the session, so
// that the session does not end before it.
func (t *tenant) drop(name string) {
	t.mu.Lock()
	p := t.programs[name]
	if !t.dropped[name] {
		t.dropped[name], t.order = true, append(t.order, name)
	}
	if len(t.order) > droppedLimit {
		delete(t.dropped, t.order[0])
		t.order = t.order[1:]
	}
	t.mu.Unlock()
	if p == nil {
		return
	}
	p.stop("it was given up")
	<-p.done
	p.discard()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.programs, name)
}

// newProgram makes a program that is not started yet. Its directory and mark have
// names of the agent's own, whatever the client calls it.
// It holds so many bytes of the agent's memory until it is discarded.
func (s *Server) newProgram(cost int64) (*program, error) {
	if err := s.started.take(1); err != nil {
		return nil, err
	}
	if err := s.memory.take(cost); err != nil {
		s.started.free(1)
		return nil, err
	}
	number := strconv.FormatInt(s.serial.Add(1), 10)
	return &program{
		server: s, cost: cost, mark: s.instance + "-" + number, dir: filepath.Join(s.Dir, programsDir, number),
		forked: make(chan struct{}), done: make(chan struct{}),
	}, nil
}
