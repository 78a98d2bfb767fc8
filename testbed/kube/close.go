package kube

import (
	"errors"
)

// Close removes everything that was made, whatever became of the caller's
// context: it has limits of its own.
func (t *Testbed) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	sites, host := t.sites, t.host
	var there []*presence
	for _, on := range t.on {
		there = append(there, on)
	}
	t.mu.Unlock()

	var errs []error
	for _, s := range sites {
		for _, p := range s.all() {
			_ = p.session.Close() // its pod goes now
		}
	}
	for _, on := range there {
		errs = append(errs, on.close())
	}
	if host != nil {
		errs = append(errs, host.Close())
	}
	return errors.Join(errs...)
}

// close removes what the run has on one cluster.
func (on *presence) close() error {
	on.mu.Lock()
	helpers, counting := on.helpers, on.counting
	on.mu.Unlock()
	if counting != nil {
		counting.close()
	}
	for _, p := range helpers {
		_ = p.session.Close()
	}
	return on.record.RemoveAll()
}
