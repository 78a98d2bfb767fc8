package agent

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/process"
)

// follower keeps the peak of a pod's working set.
type follower struct {
	of       cgroup.Group
	sidecars []string
	stop     chan struct{}
	over     time.Time // when it ended; zero: not yet

	mu   sync.Mutex
	peak int64
}

// podLooks are the times between two looks at a pod that is followed: a few at once for
// programs that end soon, and then not so many that the looks cost a trial anything. One
// reads two small files for each container.
var podLooks = process.Looks{10 * time.Millisecond, 90 * time.Millisecond, 250 * time.Millisecond}

const (
	followsLimit = 1000        // pods that a session may follow at once
	followsKept  = time.Minute // for an answer that was lost and is asked for again
)

// follow begins and ends what a Question asks to be followed. Asking twice does
// nothing twice.
func (t *tenant) follow(q *Question, c *Counters) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errors.New("counters: the session has ended")
	}
	if f := t.follows[q.Followed]; f != nil {
		c.Peak = f.look()
		f.end()
	}
	want := q.Follow
	if want == nil || t.follows[want.Name] != nil {
		return nil
	}
	for name, f := range t.follows {
		if !f.over.IsZero() && time.Since(f.over) > followsKept {
			delete(t.follows, name)
		}
	}
	switch {
	case !validName.MatchString(want.Name):
		return fmt.Errorf("counters: %.80q is not the valid name of something to follow", want.Name)
	case !cgroup.ValidUID.MatchString(want.Pod):
		return fmt.Errorf("counters: %.80q is not the UID of a pod", want.Pod)
	case len(want.Sidecars) > cgroup.ContainersLimit:
		return fmt.Errorf("counters: %d containers of a pod are not to be followed, %d are the most", len(want.Sidecars), cgroup.ContainersLimit)
	case len(t.follows) >= followsLimit:
		return fmt.Errorf("counters: the session follows %d pods already", followsLimit)
	}
	groups := t.server.pods.Find(q.Root, []string{want.Pod})
	if q.Root == "" || len(groups) == 0 {
		return nil // there is no peak to be told
	}
	f := &follower{of: groups[0], sidecars: want.Sidecars, stop: make(chan struct{})}
	if t.follows == nil {
		t.follows = map[string]*follower{}
	}
	t.follows[want.Name] = f
	f.look()
	go podLooks.Until(f.stop, func() { f.look() })
	return nil
}

// end ends the looks. It is called with the session locked.
func (f *follower) end() {
	if f.over.IsZero() {
		f.over = time.Now()
		close(f.stop)
	}
}

// look takes the working set as it is now, and gives the peak so far.
func (f *follower) look() int64 {
	now, ok := f.of.Read()
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
