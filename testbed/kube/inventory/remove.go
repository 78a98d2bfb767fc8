package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/testbed/kube/cluster"
)

// RemovalVerbs are the rights that it takes to remove all objects of a kind that a
// session has made.
var RemovalVerbs = []string{"deletecollection", "get", "list"}

// remove deletes the objects of an inventory that carry the owner's label, and
// waits until they are gone. It goes on where one fails.
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

// delete deletes what an item names, and gives the objects whose end is to be
// awaited.
func (r *remover) delete(ctx context.Context, i Item) ([]Item, error) {
	at := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace)
	if i.Name == "" {
		return r.deleteAll(ctx, i)
	}
	got, err := at.Get(ctx, i.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !r.owner.Owns(got) {
		return nil, nil // of that name, but not this run's: it was refused when it was to be made
	}
	policy := metav1.DeletePropagationForeground // what depends on it goes first
	if i.Group == "" {
		policy = metav1.DeletePropagationBackground // nothing does
	}
	err = at.Delete(ctx, i.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(got.GetUID())},
		PropagationPolicy: &policy,
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, nil // gone, or another one since
	}
	return []Item{i}, err
}

// deleteAll deletes all objects of a kind in a namespace that carry the owner's
// label. It takes RemovalVerbs.
func (r *remover) deleteAll(ctx context.Context, i Item) ([]Item, error) {
	at := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace)
	list, err := at.List(ctx, r.owner.selector())
	if apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	background := metav1.DeletePropagationBackground
	err = at.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, r.owner.selector())
	var waits []Item
	for _, o := range list.Items {
		one := i
		one.Name = o.GetName()
		waits = append(waits, one)
	}
	return waits, err
}

// podsFirst is how long pods may take to be gone before their namespaces are
// deleted all the same.
const podsFirst = 10 * time.Second

// removeAll removes all that a record lists, in an order in which nothing is lost:
// first what layers applied and what is in namespaces that stay, the newest first,
// while namespaces and controllers are still there; then the namespaces of Tare's; and
// the record itself when all of that is gone. recordIn is the namespace of the record;
// "" leaves it.
func (r *remover) removeAll(ctx context.Context, items []Item, recordIn string) error {
	var namespaces, rest []Item
	for _, i := range slices.Backward(items) {
		if i.Group == "" && i.Resource == "namespaces" {
			namespaces = append(namespaces, i)
		} else {
			rest = append(rest, i)
		}
	}
	// Objects of the core group go with their namespace and need no request of their
	// own. Others do: controllers may have to act on their end while they still can.
	// Pods go first all the same: the controller that ends a namespace waits for
	// seconds when it still finds pods there.
	var pods []Item
	rest = slices.DeleteFunc(rest, func(i Item) bool {
		inside := i.Group == "" && slices.ContainsFunc(namespaces, func(n Item) bool { return n.Name == i.Namespace })
		if inside && i.Resource == "pods" {
			pods = append(pods, i)
		}
		return inside
	})
	if err := r.remove(ctx, rest); err != nil {
		// The record stays for tare clean; namespaces other than its own can go.
		others := slices.DeleteFunc(slices.Clone(namespaces), func(n Item) bool { return n.Name == recordIn })
		return errors.Join(err, r.remove(ctx, others))
	}
	quick := *r
	quick.limit = min(r.limit, podsFirst)
	_ = quick.remove(ctx, pods) // the namespaces tell what is left
	if err := r.remove(ctx, namespaces); err != nil {
		return err
	}
	if recordIn == "" || slices.ContainsFunc(namespaces, func(n Item) bool { return n.Name == recordIn }) {
		return nil
	}
	return r.remove(ctx, []Item{Core("configmaps", recordIn, r.owner.record())})
}

// Remove deletes objects that the session has made, and takes them off its record
// when they are gone.
func (r *Record) Remove(ctx context.Context, items ...Item) error {
	if err := r.remover(r.owner).remove(ctx, items); err != nil {
		return err
	}
	return r.strike(ctx, items...)
}

// End removes all that the session has made on the cluster, and the record. It
// has a limit of its own, so that it works when everything else was cancelled.
func (r *Record) End() error {
	items, namespace := r.end()
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
