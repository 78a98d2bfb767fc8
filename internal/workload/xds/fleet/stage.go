package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/workload/http/pause"
	"tare/internal/workload/xds/sidecar"
)

// stage is the fleet's current or latest task: connecting sidecars, disconnecting them, or waiting for a push.
type stage struct {
	start    time.Time
	due      []time.Duration // due times of the members to connect or disconnect, counted from start
	times    []time.Duration // by member, time from due (push: from start) until its finish; or pending, or unexpected
	lags     []time.Duration // for each member that has begun its attempt: time from its due time to the attempt
	push     *Push           // push that the members wait for; nil: the members connect or disconnect
	expected int             // number of members that the stage waits for
	left     int             // number of members that have not finished the stage
	last     time.Duration
	done     chan struct{} // closed when left is 0
}

// Values of the field times for a member that has no time.
const (
	pending    = -1 // the member has not finished the stage
	unexpected = -2 // the stage does not wait for the member
)

// newStage makes a stage with a member for each element of waits. The stage waits for each member whose element is
// true.
func newStage(waits []bool) *stage {
	s := &stage{start: time.Now(), times: make([]time.Duration, len(waits)), done: make(chan struct{})}
	for i, wait := range waits {
		if s.times[i] = unexpected; wait {
			s.times[i] = pending
			s.expected++
		}
	}
	if s.left = s.expected; s.left == 0 {
		close(s.done)
	}
	return s
}

// note records that a member has finished the stage.
func (s *stage) note(index int, now time.Time) {
	if index >= len(s.times) || s.times[index] != pending {
		return
	}
	since := max(now.Sub(s.start), 0)
	s.last, s.times[index] = max(s.last, since), since
	if s.due != nil {
		s.times[index] = max(since-s.due[index], 0)
	}
	if s.left--; s.left == 0 {
		close(s.done)
	}
}

// enter makes s the current stage, and resets most counters. The caller must hold the lock.
func (f *Fleet) enter(s *stage) {
	f.now, f.counts = s, Counts{Lost: f.counts.Lost, Ready: map[string]int{}, Errors: map[string]int{}, Examples: map[string]string{}}
}

// begin starts a stage in which members connect or disconnect at the ramp's rate.
func (f *Fleet) begin(r *Ramp, up bool) error {
	if r.Count < 0 || r.Count > len(f.members) || r.Rate <= 0 {
		return fmt.Errorf("%d of %d sidecars at %v/s", r.Count, len(f.members), r.Rate)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.now.lags) < len(f.now.due) {
		return errors.New("the fleet has not finished its last ramp")
	}
	s := newStage(slices.Repeat([]bool{true}, r.Count))
	s.due = make([]time.Duration, r.Count)
	for i := range s.due {
		s.due[i] = time.Duration((float64(i) + r.Phase) / r.Rate * float64(time.Second))
	}
	f.enter(s)
	go f.ramp(s, up)
	return nil
}

// ramp connects the members one by one, each at its due time, or with up = false disconnects them.
func (f *Fleet) ramp(s *stage, up bool) {
	for i, due := range s.due {
		pause.For(due - time.Since(s.start))
		if f.ctx.Err() != nil {
			return
		}
		now := time.Now()
		if m := f.members[i]; up {
			m.connect()
		} else {
			m.disconnect()
		}
		f.mu.Lock()
		s.lags = append(s.lags, max(now.Sub(s.start)-due, 0))
		if !up {
			s.note(i, now)
		}
		f.mu.Unlock()
	}
}

// await starts a stage in which the ready members wait for a push.
func (f *Fleet) await(p *Push) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ready := lists.Map(f.members, func(m *member) bool { return m.ready })
	s := newStage(ready)
	s.start, s.push = p.Since, p
	f.enter(s)
}

func (f *Fleet) seen(m *member, u sidecar.Update) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Responses++
	f.counts.Bytes += int64(u.Bytes)
	if u.Rejected != nil {
		f.counts.Rejected++
		f.example("rejected", u.Rejected.Error())
		return
	}
	if u.Ready != "" {
		m.ready = true
		f.counts.Ready[u.Ready]++
	}
	awaited := u.Ready != ""
	if push := f.now.push; push != nil {
		awaited = !now.Before(push.Since) && (len(push.Types) == 0 || slices.Contains(push.Types, u.Type))
	}
	if awaited {
		f.now.note(m.index, now)
	}
}

// failed records the error with which a member's stream ended. It returns true if the member had been ready.
func (f *Fleet) failed(m *member, err error) (was bool) {
	kind, text := "other", err.Error()
	if e, ok := errors.AsType[*sidecar.Error](err); ok {
		kind, text = e.Kind, e.Text
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if was, m.ready = m.ready, false; was {
		f.counts.Lost++
	}
	f.counts.Errors[kind]++
	f.example(kind, text)
	return was
}

// example keeps the first 300 bytes of the first error text of each kind. The caller holds the lock.
func (f *Fleet) example(kind, text string) {
	if f.counts.Examples[kind] == "" {
		f.counts.Examples[kind] = text[:min(len(text), 300)]
	}
}

// look waits for the end of the stage, at most as long as the request says, and returns the stage's state.
func (f *Fleet) look(ctx context.Context, l Look) *Response {
	f.mu.Lock()
	s := f.now
	f.mu.Unlock()
	limit := time.NewTimer(l.For)
	defer limit.Stop()
	select {
	case <-s.done:
	case <-limit.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &Response{Now: time.Now(), Done: s.left == 0}
	if a.Done || l.Final {
		a.Report = s.report(f.counts)
	}
	return a
}

func (s *stage) report(counts Counts) *Report {
	counts.Ready, counts.Errors, counts.Examples = maps.Clone(counts.Ready), maps.Clone(counts.Errors), maps.Clone(counts.Examples)
	r := &Report{Expected: s.expected, Lags: slices.Clone(s.lags), Last: s.last, Counts: counts}
	for _, t := range s.times {
		if t >= 0 {
			r.Times = append(r.Times, t)
		}
	}
	return r
}

// member is one sidecar of a fleet, connected or not. The fleet's lock guards the field ready. Only the goroutine of
// a ramp uses the other fields.
type member struct {
	fleet *Fleet
	index int
	ready bool               // guarded by the fleet's lock
	stop  context.CancelFunc // disconnects the sidecar; nil: it is not connected
	gone  chan struct{}      // closed when the goroutine that the last call of connect started has ended
}

// Before Envoy reconnects, it pauses for a random time. The longest possible pause is leastWait at first. It doubles
// with each try, up to mostWait.
const (
	leastWait = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// connect connects the sidecar. Until disconnect is called, the sidecar reconnects whenever its stream ends.
func (m *member) connect() {
	if m.stop != nil {
		return
	}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.fleet.ctx)
	before, gone := m.gone, make(chan struct{})
	m.gone = gone
	go func() {
		defer close(gone)
		if before != nil {
			<-before
		}
		m.keepConnected(ctx)
	}()
}

func (m *member) disconnect() {
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
	m.fleet.mu.Lock()
	m.ready = false
	m.fleet.mu.Unlock()
}

func (m *member) keepConnected(ctx context.Context) {
	f := m.fleet
	least := cmp.Or(f.open.LeastWait, leastWait)
	bound := least
	for {
		f.mu.Lock()
		f.counts.Attempts++
		f.mu.Unlock()
		node, err := f.node(m.index)
		if err == nil {
			err = f.client.Run(ctx, node, func(u sidecar.Update) { f.seen(m, u) })
		}
		if ctx.Err() != nil {
			return
		}
		if f.failed(m, err) {
			bound = least
		}
		if testbed.Pause(ctx, rand.N(bound)) != nil {
			return
		}
		bound = min(2*bound, mostWait)
	}
}
