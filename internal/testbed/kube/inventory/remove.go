package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// cleanTimeouts are the time limits of Clean, which has no experiment with limits.
var cleanTimeouts = experiment.Timeouts{
	Ready: quantity.Duration(time.Minute), Delete: quantity.Duration(2 * time.Minute),
	Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
	Silence: quantity.Duration(time.Hour),
}

const cleanLimit = 15 * time.Minute

// Leftovers finds leftovers of ended runs, and objects of living runs. "" means the current context or all namespaces.
// Even with an error, it returns the leftovers that it could read.
func Leftovers(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return findLeftovers(ctx, c, namespace)
}

// Clean removes and returns the leftovers that Leftovers finds. It does not touch the objects of living runs.
func Clean(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return clean(ctx, c, namespace)
}

func clean(ctx context.Context, c *cluster.Cluster, namespace string) ([]Leftover, error) {
	limited, cancel := context.WithTimeoutCause(ctx, cleanLimit, &cluster.TimeoutError{
		What: "everything to be removed", Limit: cleanLimit, Now: "call tare clean again for the rest"})
	defer cancel()
	found, err := findLeftovers(limited, c, namespace)
	errs := []error{err}
	var removed []Leftover
	for _, l := range found {
		if l.Alive {
			continue
		}
		if limited.Err() != nil {
			errs = append(errs, context.Cause(limited))
			break
		}
		if err := l.remove(limited, &remover{Cluster: c, owner: l.Owner, limit: cleanTimeouts.Delete.Std()}); err != nil {
			errs = append(errs, fmt.Errorf("leftovers of run %s: %w", l.Owner, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}

// RemoveEarlier removes what killed sessions of this run left in a namespace; "": in all. Later calls do nothing.
// Errors are only progress messages.
func (r *Record) RemoveEarlier(ctx context.Context, namespace string) {
	r.earlier.Do(func() {
		if err := r.removeSessions(ctx, namespace, holderGone+heartbeat); err != nil {
			r.on.Say(fmt.Sprintf("leftovers of an earlier session of this run could not all be removed: %v; "+
				"tare clean --context %s tries again", err, r.on.Context))
		}
	})
}

// removeSessions removes leftovers of this run's earlier sessions. It waits up to patience for the heartbeats of killed
// sessions to become old.
func (r *Record) removeSessions(ctx context.Context, namespace string, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for said := false; ; said = true {
		found, err := findLeftovers(ctx, r.on, namespace)
		found = slices.DeleteFunc(found, func(l Leftover) bool {
			return l.Owner == r.owner || l.holder.ID == "" || l.holder.ID != r.holder.ID
		})
		// A session counts as alive while its record is fresh, but may have ended. It is surely alive only if this
		// machine sees its process.
		mayHaveEnded := func(l Leftover) bool { return l.Alive && l.holder.state() != living }
		if ctx.Err() == nil && limited.Err() == nil && slices.ContainsFunc(found, mayHaveEnded) {
			if !said {
				holders := lists.Map(found, func(l Leftover) string { return string(l.Owner) + " of " + l.Holder })
				r.on.Say(fmt.Sprintf("waiting up to %v until the record of an earlier session of this run is stale: %s",
					quantity.Duration(patience), strings.Join(holders, "; ")))
			}
			_ = testbed.Pause(limited, min(patience/10, 3*time.Second))
			continue
		}
		errs := []error{err}
		for _, l := range found {
			if l.Alive {
				errs = append(errs, fmt.Errorf("objects with the label %s=%s stay, because their holder seems to be at work: %s",
					OwnerLabel, l.Owner, l.Holder))
				continue
			}
			r.on.Say("removing leftovers of an earlier session of this run in context " + r.on.Context)
			if err := l.remove(ctx, r.remover(l.Owner)); err != nil {
				errs = append(errs, fmt.Errorf("objects with the label %s=%s: %w", OwnerLabel, l.Owner, err))
			}
		}
		return errors.Join(errs...)
	}
}

// RemovalVerbs are the rights needed to remove all objects of a kind that a session has made.
var RemovalVerbs = []string{"deletecollection", "get", "list"}

// remove deletes the items that have the owner's label, and waits until they are gone. It continues after errors.
func (r *remover) remove(ctx context.Context, items []Item) error {
	var errs []error
	var waits []Item
	for _, i := range items {
		deleted, err := r.delete(ctx, i)
		if err != nil {
			errs = append(errs, fmt.Errorf("delete %s: %w", i, cluster.Explain(err)))
		}
		waits = append(waits, deleted...)
	}
	return errors.Join(append(errs, r.awaitGone(ctx, waits))...)
}

// delete deletes and returns the objects that an item stands for. They may still exist when it returns.
func (r *remover) delete(ctx context.Context, i Item) ([]Item, error) {
	client := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace)
	if i.Name == "" {
		return r.deleteAll(ctx, i)
	}
	got, err := client.Get(ctx, i.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !r.owner.Owns(got):
		return nil, nil // another owner's object has this name; it must stay
	}
	policy := metav1.DeletePropagationForeground // the object's dependents are deleted first
	if i.Group == "" {
		policy = metav1.DeletePropagationBackground // Tare's objects of the core group have no dependents
	}
	err = client.Delete(ctx, i.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(got.GetUID())},
		PropagationPolicy: &policy,
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, nil // the object is gone, or another object of this name has replaced it
	}
	return []Item{i}, err
}

func (r *remover) deleteAll(ctx context.Context, i Item) ([]Item, error) {
	client := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace)
	list, err := client.List(ctx, r.owner.selector())
	if apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	background := metav1.DeletePropagationBackground
	err = client.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, r.owner.selector())
	var waits []Item
	for _, o := range list.Items {
		i.Name = o.GetName()
		waits = append(waits, i)
	}
	return waits, err
}

// removeAll removes a record's objects, the newest first, then Tare's namespaces, then the record in the namespace
// recordIn ("": no record).
func (r *remover) removeAll(ctx context.Context, items []Item, recordIn string) error {
	var namespaces, rest []Item
	for _, i := range slices.Backward(items) {
		if i.Group == "" && i.Resource == "namespaces" {
			namespaces = append(namespaces, i)
		} else {
			rest = append(rest, i)
		}
	}
	// Objects of the core group go with their namespace. Others go before it, while their controllers exist. So do
	// pods, which would delay it by seconds.
	var pods []Item
	rest = slices.DeleteFunc(rest, func(i Item) bool {
		inside := i.Group == "" && slices.ContainsFunc(namespaces, func(n Item) bool { return n.Name == i.Namespace })
		if inside && i.Resource == "pods" {
			pods = append(pods, i)
		}
		return inside
	})
	if err := r.remove(ctx, rest); err != nil {
		// The namespace of the record stays: tare clean finds the leftovers by this record.
		others := slices.DeleteFunc(slices.Clone(namespaces), func(n Item) bool { return n.Name == recordIn })
		return errors.Join(err, r.remove(ctx, others))
	}
	quick := *r
	quick.limit = min(r.limit, 10*time.Second)
	_ = quick.remove(ctx, pods) // ignored: if a pod remains, removing the namespace reports it
	if err := r.remove(ctx, namespaces); err != nil {
		return err
	}
	if recordIn == "" || slices.ContainsFunc(namespaces, func(n Item) bool { return n.Name == recordIn }) {
		return nil
	}
	return r.remove(ctx, []Item{Core("configmaps", recordIn, r.owner.record())})
}

// Remove deletes objects of the session and waits until they are gone. It then removes them from the record.
func (r *Record) Remove(ctx context.Context, items ...Item) error {
	if err := r.remover(r.owner).remove(ctx, items); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = slices.DeleteFunc(r.items, func(i Item) bool { return slices.ContainsFunc(items, i.same) })
	return r.write(ctx)
}

// End removes all objects of the session, and then the record. It has its own time limit, so it works even if the run's
// context is done.
func (r *Record) End() error {
	r.mu.Lock()
	items, namespace, stop := slices.Clone(r.items), r.namespace, r.stop
	r.stop = nil
	r.mu.Unlock()
	if stop != nil {
		stop()
		<-r.stopped
	}
	if len(items) == 0 && namespace == "" {
		return nil
	}
	r.on.Say("removing what was made in context " + r.on.Context)
	ctx, cancel := context.WithTimeout(context.Background(), 2*r.limits.Delete.Std()+r.limits.Request.Std())
	defer cancel()
	if err := r.remover(r.owner).removeAll(ctx, items, namespace); err != nil {
		return fmt.Errorf("context %s: %w", r.on.Context, err)
	}
	return nil
}

func (r *Record) remover(owner Owner) *remover {
	return &remover{Cluster: r.on, owner: owner, limit: r.limits.Delete.Std()}
}

type remover struct {
	*cluster.Cluster
	owner Owner
	limit time.Duration // how long objects may exist after their deletion
}

func (r *remover) awaitGone(ctx context.Context, items []Item) error {
	if len(items) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	left, said := items, time.Now()
	var why []string
	for pause := cluster.FirstPoll; ; pause = min(pause*3/2, cluster.LastPoll) {
		there, now := r.stillThere(limited, left)
		if len(there) == 0 {
			return nil
		}
		if limited.Err() == nil || why == nil {
			left, why = there, now
		}
		if limited.Err() != nil {
			return fmt.Errorf("not gone after %v: %s; tare clean --context %s tries again",
				quantity.Duration(r.limit), strings.Join(why, "; "), r.Context)
		}
		if time.Since(said) >= cluster.SayAfter {
			said = time.Now()
			r.Say(fmt.Sprintf("waiting until it is gone: %s", why[0]))
		}
		_ = testbed.Pause(limited, pause)
	}
}

// stillThere returns the objects that still exist, and for each of them the reason why its deletion takes long.
func (r *remover) stillThere(ctx context.Context, items []Item) (left []Item, why []string) {
	for _, i := range items {
		got, err := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace).Get(ctx, i.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && !r.owner.Owns(got):
			continue
		case err != nil:
			why = append(why, fmt.Sprintf("%s: %v", i, cluster.Explain(err)))
		default:
			why = append(why, i.String()+deletionBlock(got))
		}
		left = append(left, i)
	}
	return left, why
}

// deletionBlock returns, in brackets, the finalizers and conditions that block the deletion of an object; "" if there
// are none.
func deletionBlock(o *unstructured.Unstructured) string {
	var reasons []string
	if f := o.GetFinalizers(); len(f) > 0 {
		reasons = append(reasons, "finalizers "+safetext.Head(strings.Join(f, ", "), 200))
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if kind, _ := m["type"].(string); ok && m["status"] == "True" && slices.Contains(stuckNamespace, kind) {
			text, _ := m["message"].(string)
			reasons = append(reasons, safetext.Head(text, cluster.LineLimit))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

var stuckNamespace = []string{
	"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
	"NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining",
}
