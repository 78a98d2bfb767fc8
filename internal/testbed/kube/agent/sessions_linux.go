package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/process"
)

const (
	minLease = time.Second
	maxLease = 24 * time.Hour
	// droppedLimit is the number of dropped programs that a session remembers. No request is so late that it names a
	// program dropped earlier.
	droppedLimit = 10000
)

var validName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// serverSession is the agent's side of a session, over one or more connections. It ends when the client is silent for
// the time lease.
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
	if t == nil {
		if len(s.sessions) >= sessionsLimit {
			return nil, &quotaError{fmt.Sprintf("the agent of this pod has %d sessions, the maximum; "+
				"a session ends when its client has sent nothing during its lease", sessionsLimit)}
		}
		t = &serverSession{server: s, name: h.Session, programs: map[string]*program{}, dropped: map[string]bool{},
			follows: map[string]*follower{}}
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

// end ends the session and discards all its programs. It waits for their end, but only for a limited time.
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
	limit := time.After(process.EndLimit + process.OutputDelay)
	for _, p := range programs {
		select {
		case <-p.done:
			p.discard()
		case <-limit:
			return
		}
	}
}

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

// start starts a program. If an earlier request has started it already, start waits for the result.
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

// add returns the session's program with this name, and makes it if there is none. known is true if the program
// existed.
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

// drop kills and discards a program. The program belongs to the session until it is gone.
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

// newProgram makes a program. The program holds cost bytes of the agent's memory. The agent, not the client, chooses
// the program's directory and mark.
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

type follower struct {
	group    cgroup.Group
	sidecars []string // ids of containers whose memory is not counted
	stop     chan struct{}
	ended    time.Time // time when end was called; zero while sampling

	mu   sync.Mutex
	peak int64
}

// sampleTimes are the pauses between samples of a pod's working set. The first are short, for short programs. The last
// costs a trial nothing.
var sampleTimes = process.Intervals{10 * time.Millisecond, 90 * time.Millisecond, 250 * time.Millisecond}

const (
	followsLimit = 1000        // maximum number of followers in a session
	followsKept  = time.Minute // time for which an ended follower is kept, so that a request can be repeated
)

// follow ends the follower that q.Followed names. It begins the follower that q.Follow describes, unless an earlier
// request has begun it.
func (t *serverSession) follow(q *CountersRequest, c *Counters) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errors.New("counters: the session has ended")
	}
	if f := t.follows[q.Followed]; f != nil {
		c.Peak = f.sample()
		f.end()
	}
	want := q.Follow
	if want == nil || t.follows[want.Name] != nil {
		return nil
	}
	for name, f := range t.follows {
		if !f.ended.IsZero() && time.Since(f.ended) > followsKept {
			delete(t.follows, name)
		}
	}
	switch {
	case !validName.MatchString(want.Name):
		return fmt.Errorf("counters: %.80q is not a valid name for a peak", want.Name)
	case !cgroup.ValidUID.MatchString(want.Pod):
		return fmt.Errorf("counters: %.80q is not the UID of a pod", want.Pod)
	case len(want.Sidecars) > cgroup.ContainersLimit:
		return fmt.Errorf("counters: the request names %d sidecars; the maximum is %d",
			len(want.Sidecars), cgroup.ContainersLimit)
	case len(t.follows) >= followsLimit:
		return fmt.Errorf("counters: the session follows %d pods already", followsLimit)
	}
	groups := t.server.pods.Find(q.Root, []string{want.Pod})
	if q.Root == "" || len(groups) == 0 {
		return nil // the pod's cgroup is not visible: the peak stays unknown
	}
	f := &follower{group: groups[0], sidecars: want.Sidecars, stop: make(chan struct{})}

	t.follows[want.Name] = f
	f.sample()
	go sampleTimes.Until(f.stop, func() { f.sample() })
	return nil
}

// end ends the sampling. The caller holds the lock of the session.
func (f *follower) end() {
	if f.ended.IsZero() {
		f.ended = time.Now()
		close(f.stop)
	}
}

func (f *follower) sample() int64 {
	now, ok := f.group.Read()
	for _, c := range now.Containers {
		if slices.Contains(f.sidecars, c.ID) {
			now.WorkingSet -= c.WorkingSet
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ok {
		f.peak = max(f.peak, now.WorkingSet)
	}
	return f.peak
}
