package kube

import (
	"context"
	"reflect"
	"slices"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

var _ testbed.Closer = (*Site)(nil)

// Close removes the site's pods, service and volumes, and waits until they are gone. The namespace stays,
// since a cluster takes long to remove a namespace. The next site with the same arm and needs uses it again.
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
		p.Disconnect() // the pod is about to be deleted
		items = append(items, inventory.Core("pods", p.Plan().Namespace, p.Plan().Name))
	}
	if s.needs.Pods() && s.hasServer() {
		items = append(items, inventory.Core("services", s.Namespace(), s.name("server")))
	}
	for _, v := range s.volumes() { // claims come after the pods that mount them
		items = append(items, inventory.Core("persistentvolumeclaims", s.Namespace(), v.name))
	}
	limits := s.level.Timeouts
	ctx, cancel := context.WithTimeout(context.Background(), limits.Delete.Std()+limits.Request.Std())
	defer cancel()
	return on.record.Remove(ctx, items...)
}

// retire moves a site from the open sites to the retired sites, so that its namespace can be used again. It
// reports whether the site was open.
func (t *Testbed) retire(s *Site) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.sites, s)
	if i < 0 {
		return false
	}
	t.sites = slices.Delete(t.sites, i, i+1)
	t.retired = append(t.retired, s)
	return true
}

// reuse gives a new site the namespace of a retired site with the same arm, level and needs. It reports
// whether there was such a retired site. The caller holds the lock.
func (t *Testbed) reuse(s *Site) bool {
	i := slices.IndexFunc(t.retired, func(old *Site) bool {
		return old.arm == s.arm && old.level == s.level && reflect.DeepEqual(old.needs, s.needs)
	})
	if i < 0 {
		return false
	}
	// The new site's layers must change the namespace as it was before the old site's layers changed it.
	s.unique, s.bare, s.namespace = t.retired[i].unique, t.retired[i].bare, t.retired[i].bare.DeepCopy()
	t.retired = slices.Delete(t.retired, i, i+1)
	return true
}
