package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"tare/experiment/quantity"
	"tare/testbed/kube/cluster"
)

// Leftover is what one run has on a cluster.
type Leftover struct {
	Owner Owner
	// Holder is whose it is: "process 17 on host a, last seen 3m ago".
	Holder string
	// Alive says that the holder is, or may be, still at work: then nothing of it is
	// cleaned.
	Alive bool
	// Objects is what there is, as kubectl names it.
	Objects []string
	// Foreign is what the record lists outside of its own namespace, when that
	// namespace is not Tare's. Whoever may write there could have listed what he may
	// not delete himself, so that it is named and left alone.
	Foreign []string

	holder  holder
	items   []Item
	foreign []Item
	record  string // namespace of the record; "" for none
}

// judge says whose it is, and whether that run lives.
func (l *Leftover) judge(h holder, age time.Duration) {
	l.holder = h
	l.Holder = fmt.Sprintf("%s, last seen %v ago", h.who(), quantity.Duration(max(0, age).Round(time.Second)))
	l.Alive = age < holderGone
	switch h.state() {
	case living:
		l.Alive = true
	case ended:
		l.Alive, l.Holder = false, h.who()+", which has ended"
	}
}

// list says what there is of an inventory.
func (l *Leftover) list(ctx context.Context, c *cluster.Cluster) {
	items := slices.Clone(l.items)
	if l.record != "" {
		items = append(items, Core("configmaps", l.record, l.Owner.record()))
	}
	l.Objects = existing(ctx, c, l.Owner, items)
	l.Foreign = existing(ctx, c, l.Owner, l.foreign)
}

func existing(ctx context.Context, c *cluster.Cluster, owner Owner, items []Item) (names []string) {
	r := &remover{Cluster: c, owner: owner}
	for _, i := range items {
		if i.Name != "" {
			if left, _ := r.stillThere(ctx, []Item{i}); len(left) == 0 {
				continue
			}
		}
		names = append(names, i.String())
	}
	return names
}

func (l *Leftover) add(i Item) {
	if !slices.ContainsFunc(l.items, i.same) {
		l.items = append(l.items, i)
	}
}

// remove removes what the run has left. The record stays while it still names
// something that is left elsewhere: nothing else does.
func (l *Leftover) remove(ctx context.Context, r *remover) error {
	there, _ := r.stillThere(ctx, l.foreign)
	if len(there) == 0 {
		return r.removeAll(ctx, l.items, l.record)
	}
	var names []string
	for _, i := range there {
		names = append(names, i.String())
	}
	return errors.Join(r.removeAll(ctx, l.items, ""), fmt.Errorf(
		"its record is in namespace %s, which is not Tare's, so that what it lists elsewhere is left: %s; delete that with kubectl if it is the run's, and call tare clean again", l.record, strings.Join(names, ", ")))
}

// left reads the records, and finds the namespaces of runs that were killed before
// they could write one.
func left(ctx context.Context, c *cluster.Cluster, namespace string) ([]Leftover, error) {
	records, err := c.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: ManagedBy + "=tare," + recordLabel})
	if apierrors.IsForbidden(err) && namespace == "" {
		return nil, fmt.Errorf("look for records of runs in all namespaces: %w; --namespace names one to look in", cluster.Explain(err))
	}
	if err != nil {
		return nil, fmt.Errorf("look for records of runs: %w", cluster.Explain(err))
	}
	namespaces, err := ownNamespaces(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	now := c.Now(ctx)
	traces, errs := gather(records.Items, namespaces, now)
	var found []Leftover
	for _, t := range traces {
		those, err := t.leftovers(now, namespace == "")
		found, errs = append(found, those...), append(errs, err)
	}
	if len(found) > 0 {
		served, err := served(c)
		if err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
		for i := range found {
			found[i].items = slices.DeleteFunc(found[i].items, served.lacks)
			found[i].foreign = slices.DeleteFunc(found[i].foreign, served.lacks)
			found[i].list(ctx, c)
		}
	}
	return found, errors.Join(errs...)
}

// ownNamespaces gives the namespaces that carry the label of a run: all, or the one
// that is looked in.
func ownNamespaces(ctx context.Context, c *cluster.Cluster, namespace string) ([]corev1.Namespace, error) {
	list := &corev1.NamespaceList{}
	var err error
	if namespace == "" {
		list, err = c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: ManagedBy + "=tare," + OwnerLabel})
	} else {
		var one *corev1.Namespace
		if one, err = c.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err == nil && one.Labels[ManagedBy] == "tare" && one.Labels[OwnerLabel] != "" {
			list.Items = []corev1.Namespace{*one}
		}
	}
	switch {
	case apierrors.IsForbidden(err): // who may not see them has made none
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no namespace %s in context %s", namespace, c.Context)
	case err != nil:
		return nil, fmt.Errorf("look for namespaces of runs: %w", cluster.Explain(err))
	}
	return list.Items, nil
}

// kinds are the resources that an API server serves.
type kinds struct {
	namespaced map[schema.GroupVersionResource]bool
	away       map[schema.GroupVersion]error // whose API server does not answer
}

// served asks for them.
func served(c *cluster.Cluster) (kinds, error) {
	k := kinds{namespaced: map[schema.GroupVersionResource]bool{}}
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partly) {
		k.away = partly.Groups
	} else if err != nil {
		return k, fmt.Errorf("which kinds of objects the cluster knows: %w", cluster.Explain(err))
	}
	for _, l := range lists {
		gv, bad := schema.ParseGroupVersion(l.GroupVersion)
		if bad != nil {
			continue
		}
		for _, r := range l.APIResources {
			k.namespaced[gv.WithResource(r.Name)] = r.Namespaced
		}
	}
	return k, nil
}

// lacks says that no such object can exist on the cluster. It does not say so of
// kinds whose API server is away: what they have cannot be deleted now, which is an
// error, so that the record stays.
func (k kinds) lacks(i Item) bool {
	if k.away[i.gvr().GroupVersion()] != nil {
		return false
	}
	namespaced, known := k.namespaced[i.gvr()]
	return !known || namespaced != (i.Namespace != "")
}
