package kube

import (
	"context"
	"reflect"
	"slices"

	"tare/testbed"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/pods"
)

var _ testbed.Closer = (*Site)(nil)

// Close removes the site's pods, its service and its volumes, and waits until they are gone.
// The namespace stays, as a cluster takes long to remove one: the next site that is opened for
// the same has it.
func (s *Site) Close() error {
	s.mu.Lock()
	on, made := s.on, s.pods
	s.pods = map[testbed.Place]*pods.Pod{}
	s.mu.Unlock()
	if !s.bed.retire(s) || on == nil {
		return nil
	}
	var items []inventory.Item
	for _, p := range made {
		p.Disconnect() // it goes now
		items = append(items, inventory.Core("pods", p.Plan().Namespace, p.Plan().Name))
	}
	if s.needs.Pods() && s.paired() {
		items = append(items, inventory.Core("services", s.Namespace(), s.name("server")))
	}
	for _, v := range s.volumes() { // after the pods that have them mounted
		items = append(items, inventory.Core("persistentvolumeclaims", s.Namespace(), v.name))
	}
	limits := s.level.Timeouts
	ctx, cancel := context.WithTimeout(context.Background(), limits.Delete.Std()+limits.Request.Std())
	defer cancel()
	return on.record.Remove(ctx, items...)
}

// retire takes a site off those that are open, and keeps its namespace for the next one. It
// says whether it was open.
func (t *Testbed) retire(s *Site) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.sites, s)
	if at < 0 {
		return false
	}
	t.sites = slices.Delete(t.sites, at, at+1)
	t.retired = append(t.retired, s)
	return true
}

// reuse gives a new site the namespace of one that was opened for the same and is closed. The
// caller holds the lock.
func (t *Testbed) reuse(s *Site) bool {
	at := slices.IndexFunc(t.retired, func(old *Site) bool {
		return old.arm == s.arm && old.level == s.level && reflect.DeepEqual(old.needs, s.needs)
	})
	if at < 0 {
		return false
	}
	// Its layers shape it anew from what it was without them.
	s.unique, s.bare, s.namespace = t.retired[at].unique, t.retired[at].bare, t.retired[at].bare.DeepCopy()
	t.retired = slices.Delete(t.retired, at, at+1)
	return true
}
