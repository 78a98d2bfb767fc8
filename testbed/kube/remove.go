package kube

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

	"tare/experiment/quantity"
)

// remover deletes what belongs to one run.
type remover struct {
	*Cluster
	owner string
	limit time.Duration // how long things may take to be gone
	say   func(string)
}

func (on *presence) remover(owner string) *remover {
	return &remover{Cluster: on.Cluster, owner: owner, limit: on.limits.Delete.Std(), say: on.bed.options.Say}
}

// remove deletes the objects of an inventory that carry the owner's label, and
// waits until they are gone. It goes on where one fails.
func (r *remover) remove(ctx context.Context, items []item) error {
	var errs []error
	var waits []item
	for _, i := range items {
		deleted, err := r.delete(ctx, i)
		if err != nil {
			errs = append(errs, fmt.Errorf("delete %s: %w", i, explain(err)))
		}
		waits = append(waits, deleted...)
	}
	return errors.Join(append(errs, r.awaitGone(ctx, waits))...)
}

// delete deletes what an item names, and gives the objects whose end is to be
// awaited.
func (r *remover) delete(ctx context.Context, i item) ([]item, error) {
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
	if got.GetLabels()[OwnerLabel] != r.owner {
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
	return []item{i}, err
}

// deleteAll deletes all objects of a kind in a namespace that carry the owner's
// label. It takes RemovalVerbs.
func (r *remover) deleteAll(ctx context.Context, i item) ([]item, error) {
	at := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace)
	list, err := at.List(ctx, metav1.ListOptions{LabelSelector: OwnerLabel + "=" + r.owner})
	if apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	background := metav1.DeletePropagationBackground
	err = at.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{LabelSelector: OwnerLabel + "=" + r.owner})
	var waits []item
	for _, o := range list.Items {
		one := i
		one.Name = o.GetName()
		waits = append(waits, one)
	}
	return waits, err
}

// awaitGone waits until objects are gone, and says which ones are not, and why.
func (r *remover) awaitGone(ctx context.Context, items []item) error {
	if len(items) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	left, told := items, time.Now()
	var why []string
	for pause := firstLook; ; pause = min(pause*3/2, rareLook) {
		there, now := r.stillThere(limited, left)
		if len(there) == 0 {
			return nil
		}
		if limited.Err() == nil || why == nil {
			left, why = there, now
		}
		if limited.Err() != nil {
			return fmt.Errorf("not gone after %v: %s; tare clean --context %s tries again", quantity.Duration(r.limit), strings.Join(why, "; "), r.Context)
		}
		if time.Since(told) >= telling {
			told = time.Now()
			r.say(fmt.Sprintf("waiting until it is gone: %s", why[0]))
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
		}
	}
}

// stillThere gives those of the objects that are there, and what holds each.
func (r *remover) stillThere(ctx context.Context, items []item) (left []item, why []string) {
	for _, i := range items {
		got, err := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace).Get(ctx, i.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && got.GetLabels()[OwnerLabel] != r.owner:
			continue
		case err != nil:
			why = append(why, fmt.Sprintf("%s: %v", i, explain(err)))
		default:
			why = append(why, i.String()+holding(got))
		}
		left = append(left, i)
	}
	return left, why
}

// holding says what keeps an object that is being deleted.
func holding(o *unstructured.Unstructured) string {
	var reasons []string
	if f := o.GetFinalizers(); len(f) > 0 {
		reasons = append(reasons, "finalizers "+printable(strings.Join(f, ", "), 200))
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if kind, _ := m["type"].(string); ok && m["status"] == "True" && slices.Contains(stuckNamespace, kind) {
			text, _ := m["message"].(string)
			reasons = append(reasons, printable(text, lineLimit))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

// stuckNamespace are the conditions of a namespace that say why it does not end.
var stuckNamespace = []string{
	"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
	"NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining",
}
