package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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
	items, namespace := on.record.end()
	if len(items) == 0 && namespace == "" {
		return nil
	}
	on.bed.options.Say("removing what was made in context " + on.Context)
	ctx, cancel := context.WithTimeout(context.Background(), 2*on.limits.Delete.Std()+on.limits.Request.Std())
	defer cancel()
	err := on.remover(on.bed.owner).removeRun(ctx, items, namespace)
	if err != nil {
		return fmt.Errorf("context %s: %w", on.Context, err)
	}
	return nil
}

// removeRun removes an inventory in an order in which nothing is lost: first
// what layers applied, while namespaces and controllers are still there, the
// newest first; then namespaces and what is in those that stay; and the record
// when all of that is gone.
func (r *remover) removeRun(ctx context.Context, items []item, recordIn string) error {
	var namespaces, rest []item
	for _, i := range slices.Backward(items) {
		if i.Group == "" && i.Resource == "namespaces" {
			namespaces = append(namespaces, i)
		} else {
			rest = append(rest, i)
		}
	}
	// What goes with its namespace needs no request of its own, unless it is of a
	// kind that others act on when it goes. Pods go first, for the namespaces' sake:
	// one that finds pods waits for seconds before it looks again.
	var pods []item
	rest = slices.DeleteFunc(rest, func(i item) bool {
		inside := i.Group == "" && slices.ContainsFunc(namespaces, func(n item) bool { return n.Name == i.Namespace })
		if inside && i.Resource == "pods" {
			pods = append(pods, i)
		}
		return inside
	})
	if err := r.remove(ctx, rest); err != nil {
		// The record stays for tare clean; namespaces other than its own can go.
		others := slices.DeleteFunc(slices.Clone(namespaces), func(n item) bool { return n.Name == recordIn })
		return errors.Join(err, r.remove(ctx, others))
	}
	quick := *r
	quick.limit = min(r.limit, podsFirst)
	_ = quick.remove(ctx, pods) // the namespaces tell what is left
	if err := r.remove(ctx, namespaces); err != nil {
		return err
	}
	if recordIn == "" || slices.ContainsFunc(namespaces, func(n item) bool { return n.Name == recordIn }) {
		return nil
	}
	return r.remove(ctx, []item{coreItem("configmaps", recordIn, "tare-"+r.owner)})
}

// podsFirst is how long pods may take to be gone before their namespaces are
// deleted all the same.
const podsFirst = 10 * time.Second
