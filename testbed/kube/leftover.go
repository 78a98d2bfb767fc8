package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Anyone who may write ConfigMaps in some namespace may write what looks like a
// record, of any run. So that nobody has others delete what he may not delete
// himself, a run is judged by all records and namespaces that name it, and only
// a record in a namespace of the run's own may list what is elsewhere.

// trace is what there is of one run on a cluster.
type trace struct {
	owner      string
	records    []claim
	namespaces []corev1.Namespace // that carry its label
	unreadable bool               // one of its records: nobody knows whether it lives
}

// claim is one ConfigMap that says to be the record of a run.
type claim struct {
	Leftover
	own bool // in a namespace of the run
}

// left reads the records, and finds namespaces that a run had made when it was
// killed before it could write one.
func (c *Cluster) left(ctx context.Context, namespace string) ([]Leftover, error) {
	records, err := c.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: ManagedBy + "=tare," + recordLabel})
	if apierrors.IsForbidden(err) && namespace == "" {
		return nil, fmt.Errorf("look for records of runs in all namespaces: %w; --namespace names one to look in", explain(err))
	}
	if err != nil {
		return nil, fmt.Errorf("look for records of runs: %w", explain(err))
	}
	namespaces, err := c.ownNamespaces(ctx, namespace)
	if err != nil {
		return nil, err
	}
	now := c.now(ctx)
	traces, errs := gather(records.Items, namespaces, now)
	var found []Leftover
	for _, t := range traces {
		those, err := t.leftovers(now, namespace == "")
		found, errs = append(found, those...), append(errs, err)
	}
	if len(found) > 0 {
		served, err := c.served()
		if err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
		for i := range found {
			found[i].items = slices.DeleteFunc(found[i].items, served.lacks)
			found[i].foreign = slices.DeleteFunc(found[i].foreign, served.lacks)
			c.list(ctx, &found[i])
		}
	}
	return found, errors.Join(errs...)
}

// ownNamespaces gives the namespaces that carry the label of a run: all, or the one
// that is looked in.
func (c *Cluster) ownNamespaces(ctx context.Context, namespace string) ([]corev1.Namespace, error) {
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
		return nil, fmt.Errorf("look for namespaces of runs: %w", explain(err))
	}
	return list.Items, nil
}

// gather puts together what there is of each run, in the order of the records. What
// looks like a record and cannot be read is an error beside the others.
func gather(records []corev1.ConfigMap, namespaces []corev1.Namespace, now time.Time) (traces []*trace, errs []error) {
	of := func(owner string) *trace {
		i := slices.IndexFunc(traces, func(t *trace) bool { return t.owner == owner })
		if i < 0 {
			i, traces = len(traces), append(traces, &trace{owner: owner})
		}
		return traces[i]
	}
	for i := range records {
		r := &records[i]
		owner := r.Labels[OwnerLabel]
		if owner == "" || r.Name != "tare-"+owner || label(owner, nameLimit) != owner {
			errs = append(errs, fmt.Errorf("ConfigMap %s/%s looks like a record of Tare's, and is none: its owner is %q", r.Namespace, printable(r.Name, 100), printable(owner, 100)))
			continue
		}
		t := of(owner)
		h, renewed, items, err := readRecord(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("ConfigMap %s/%s, so that what run %s has is left: %w", r.Namespace, r.Name, owner, err))
			t.unreadable = true
			continue
		}
		one := claim{Leftover: Leftover{Owner: owner, record: r.Namespace, items: items}}
		one.judge(h, now.Sub(renewed))
		one.own = slices.ContainsFunc(namespaces, func(n corev1.Namespace) bool { return n.Name == r.Namespace && n.Labels[OwnerLabel] == owner })
		t.records = append(t.records, one)
	}
	for _, n := range namespaces {
		if owner := n.Labels[OwnerLabel]; label(owner, nameLimit) == owner {
			t := of(owner)
			t.namespaces = append(t.namespaces, n)
		}
	}
	return traces, errs
}

// leftovers says what a run has left, and whether it lives. With all it was looked
// for in all namespaces.
func (t *trace) leftovers(now time.Time, all bool) ([]Leftover, error) {
	if t.unreadable {
		return nil, nil // gather has said so
	}
	if alive := slices.IndexFunc(t.records, func(c claim) bool { return c.Alive }); alive >= 0 {
		return []Leftover{t.records[alive].Leftover}, nil
	}
	made := t.ofNamespaces(now)
	if made.Alive {
		return []Leftover{made}, nil
	}
	own := slices.ContainsFunc(t.records, func(c claim) bool { return c.own })
	var errs []error
	var found []Leftover
	var trusted *Leftover
	for _, c := range t.records {
		switch {
		case c.own && trusted == nil:
			trusted = &c.Leftover
		case c.own:
			for _, i := range c.items {
				trusted.add(i)
			}
		case own:
			errs = append(errs, fmt.Errorf("ConfigMap %s/tare-%s is left: run %s has a record in a namespace of its own, and this one is in another's", c.record, t.owner, t.owner))
		default:
			l := c.Leftover
			l.items, l.foreign = split(l.items, l.record)
			found = append(found, l)
		}
	}
	if trusted == nil {
		trusted = &Leftover{Owner: t.owner, Holder: made.Holder, holder: made.holder}
	}
	if all {
		for _, i := range made.items {
			trusted.add(i)
		}
	}
	if trusted.record != "" || len(trusted.items) > 0 {
		found = append(found, *trusted)
	}
	return found, errors.Join(errs...)
}

// ofNamespaces are the run's namespaces as if they had no record: the one that was
// seen last tells whether it lives.
func (t *trace) ofNamespaces(now time.Time) Leftover {
	made := Leftover{Owner: t.owner}
	for _, n := range t.namespaces {
		one := Leftover{}
		h, _ := readHolder(n.Annotations[holderAnnotation])
		one.judge(h, now.Sub(n.CreationTimestamp.Time))
		if made.Holder == "" || one.Alive && !made.Alive {
			made.Holder, made.holder, made.Alive = one.Holder, one.holder, one.Alive
		}
		made.items = append(made.items, namespaceItem(n.Name))
	}
	return made
}

func (l *Leftover) add(i item) {
	if !slices.ContainsFunc(l.items, i.same) {
		l.items = append(l.items, i)
	}
}

// split parts what is in a namespace from what is not.
func split(items []item, namespace string) (inside, outside []item) {
	for _, i := range items {
		if i.Namespace == namespace {
			inside = append(inside, i)
		} else {
			outside = append(outside, i)
		}
	}
	return inside, outside
}

// kinds are the resources that an API server serves.
type kinds struct {
	namespaced map[schema.GroupVersionResource]bool
	away       map[schema.GroupVersion]error // whose API server does not answer
}

// served asks for them.
func (c *Cluster) served() (kinds, error) {
	k := kinds{namespaced: map[schema.GroupVersionResource]bool{}}
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partly) {
		k.away = partly.Groups
	} else if err != nil {
		return k, fmt.Errorf("which kinds of objects the cluster knows: %w", explain(err))
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

// lacks says whether no such object can be there. Those of an API server that is
// away may be: that they cannot be deleted is an error, and the record stays.
func (k kinds) lacks(i item) bool {
	if k.away[i.gvr().GroupVersion()] != nil {
		return false
	}
	namespaced, known := k.namespaced[i.gvr()]
	return !known || namespaced != (i.Namespace != "")
}
