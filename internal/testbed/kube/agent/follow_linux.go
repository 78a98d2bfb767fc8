package agent

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/process"
)

// follower samples the working set of a pod and keeps the peak.
type follower struct {
	group    cgroup.Group
	sidecars []string // ids of containers whose memory is not counted
	stop     chan struct{}
	ended    time.Time // time of the last sample; zero while sampling

	mu   sync.Mutex
	peak int64 // bytes
}

// sampleTimes are the times between two samples of a pod's working set. The first times are short, for
// programs that end soon. At the last one, samples cost a trial nothing: each reads two small files of each
// container.
var sampleTimes = process.Intervals{10 * time.Millisecond, 90 * time.Millisecond, 250 * time.Millisecond}

const (
	followsLimit = 1000        // maximum number of followers in a session
	followsKept  = time.Minute // how long an ended follower is kept: its response may be lost, and the request repeated
)

// follow ends the follower that a CountersRequest names, and begins the one that it requests. If the same
// CountersRequest comes again, it changes nothing.
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
		return nil // the pod's cgroup is not visible, and its peak stays unknown
	}
	f := &follower{group: groups[0], sidecars: want.Sidecars, stop: make(chan struct{})}
	if t.follows == nil {
		t.follows = map[string]*follower{}
	}
	t.follows[want.Name] = f
	f.sample()
	go sampleTimes.Until(f.stop, func() { f.sample() })
	return nil
}

// end stops the sampling. The caller holds the lock of the session.
func (f *follower) end() {
	if f.ended.IsZero() {
		f.ended = time.Now()
		close(f.stop)
	}
}

// sample reads the working set and returns the peak so far.
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
