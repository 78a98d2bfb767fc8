package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"tare/internal/testbed/process"
)

// These are limits of one session.
const (
	minLease = time.Second
	maxLease = 24 * time.Hour
	// droppedLimit is how many dropped programs a session remembers: the latest ones. No request is so late
	// that it names an earlier program.
	droppedLimit = 10000
)

var validName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// serverSession is the agent's side of one session, over any number of connections. If the client has sent
// nothing during the lease, the session ends and its programs are killed.
type serverSession struct {
	server *Server
	name   string

	mu       sync.Mutex
	lease    time.Duration
	timer    *time.Timer
	programs map[string]*program
	dropped  map[string]bool // names of dropped programs, which a late request must not start again
	oldest   []string        // names of dropped programs, the oldest first
	follows  map[string]*follower
	closed   bool
}

// session returns the session that h names. If the session does not exist, it begins the session.
func (s *Server) session(h *hello) (*serverSession, error) {
	if h == nil || !validName.MatchString(h.Session) {
		return nil, errors.New("hello without the valid name of a session")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errors.New("the agent is ending")
	}
	t := s.sessions[h.Session]
	if t == nil && len(s.sessions) >= sessionsLimit {
		return nil, &quotaError{fmt.Sprintf("the agent of this pod has %d sessions, the maximum; "+
			"a session ends when its client has sent nothing during its lease", sessionsLimit)}
	}
	if t == nil {
		t = &serverSession{server: s, name: h.Session, programs: map[string]*program{}, dropped: map[string]bool{}}
		s.sessions[h.Session] = t
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

// renewLease renews the lease. It returns false if the session has ended.
func (t *serverSession) renewLease() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.timer.Reset(t.lease)
	}
	return !t.closed
}

func (t *serverSession) expire() {
	t.mu.Lock()
	lease := t.lease
	t.mu.Unlock()
	t.end(fmt.Sprintf("it was killed because the agent had not heard of Tare for %v", lease))
}

// end ends the session: it kills all programs of the session and discards them. It waits for a limited time
// until they are gone.
func (t *serverSession) end(why string) {
	t.server.mu.Lock()
	if t.server.sessions[t.name] == t {
		delete(t.server.sessions, t.name)
	}
	t.server.mu.Unlock()
	programs := t.close()
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

// close makes the session refuse further requests, and returns the session's programs.
func (t *serverSession) close() map[string]*program {
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

// start starts a program. A client repeats its request when the connection breaks. If the program was started
// before, start only waits for the result.
func (t *serverSession) start(name string, order *startRequest, stdin []byte) error {
	p, known, err := t.add(name, order)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if !known {
		p.start(order, stdin)
	}
	<-p.forked
	return p.failed
}

// add returns the session's program with a name. If the program does not exist, add makes it.
func (t *serverSession) add(name string, order *startRequest) (p *program, known bool, err error) {
	if !validName.MatchString(name) {
		return nil, false, fmt.Errorf("%.80q is not the valid name of a program", name)
	}
	if order == nil {
		return nil, false, errors.New("the request has no command")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false, errors.New("the session has ended")
	}
	if t.dropped[name] {
		return nil, false, fmt.Errorf("the program %s was dropped before", name)
	}
	if p, known = t.programs[name]; known {
		return p, true, nil
	}
	if p, err = t.server.newProgram(order.cost()); err == nil {
		t.programs[name] = p
	}
	return p, false, err
}

func (t *serverSession) program(name string) (*program, error) {
	t.mu.Lock()
	p := t.programs[name]
	t.mu.Unlock()
	if p == nil {
		return nil, &failure{Kind: notKnown, Text: "the agent does not know this program: " +
			"the agent was restarted, or this Tare sent nothing for so long that the agent ended its programs"}
	}
	<-p.forked
	return p, p.failed
}

// drop kills and discards a program. Until the program is gone, it belongs to the session, which must not end
// earlier.
func (t *serverSession) drop(name string) {
	t.mu.Lock()
	p := t.programs[name]
	if !t.dropped[name] {
		t.dropped[name], t.oldest = true, append(t.oldest, name)
	}
	if len(t.oldest) > droppedLimit {
		delete(t.dropped, t.oldest[0])
		t.oldest = t.oldest[1:]
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

// newProgram makes a program that is not started yet. The program holds cost bytes of the agent's memory until
// it is discarded. The client does not choose the names of the program's directory and mark.
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
		server: s, cost: cost, mark: s.instance + "-" + number,
		dir:    filepath.Join(s.Dir, programsDir, number),
		forked: make(chan struct{}), done: make(chan struct{}),
	}, nil
}
