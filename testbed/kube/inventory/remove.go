package inventory

import (
	"context"
	"errors"
	"fmt"

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
