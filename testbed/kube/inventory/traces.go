package inventory

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/safetext"
)

// Anyone who may write ConfigMaps in some namespace can forge a record of any run, and
// so have others, who call tare clean, delete what he may not delete himself. Hence two
// rules. Whether a run lives is judged by all records and namespaces that name it. And
// what a record lists outside of its own namespace counts only if that namespace was
// made by the run.

// trace is what there is of one run on a cluster.
type trace struct {
	owner      Owner
	records    []claim
	namespaces []corev1.Namespace // that carry its label
	unreadable bool               // one of its records: nobody knows whether it lives
}

// claim is one ConfigMap that claims to be the record of a run.
type claim struct {
	Leftover
	own bool // in a namespace of the run
}

// gather puts together what there is of each run, in the order of the records. What
// looks like a record and cannot be read is an error beside the others.
func gather(records []corev1.ConfigMap, namespaces []corev1.Namespace, now time.Time) (traces []*trace, errs []error) {
	of := func(owner Owner) *trace {
		i := slices.IndexFunc(traces, func(t *trace) bool { return t.owner == owner })
		if i < 0 {
			i, traces = len(traces), append(traces, &trace{owner: owner})
		}
		return traces[i]
	}
	for i := range records {
		r := &records[i]
		owner := Owner(r.Labels[OwnerLabel])
		if !owner.valid() || r.Name != owner.record() {
			errs = append(errs, fmt.Errorf("ConfigMap %s/%s looks like a record of Tare's, and is none: its owner is %q", r.Namespace, safetext.Head(r.Name, 100), safetext.Head(string(owner), 100)))
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
		one.own = slices.ContainsFunc(namespaces, func(n corev1.Namespace) bool { return n.Name == r.Namespace && owner.Owns(&n) })
		t.records = append(t.records, one)
	}
	for _, n := range namespaces {
		if owner := Owner(n.Labels[OwnerLabel]); owner.valid() {
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

// ofNamespaces is what the run's namespaces themselves say, for the moment in which
// there is no record yet: if one of them seems to have a living holder, so does the run.
func (t *trace) ofNamespaces(now time.Time) Leftover {
	made := Leftover{Owner: t.owner}
	for _, n := range t.namespaces {
		one := Leftover{}
		h, _ := readHolder(n.Annotations[holderAnnotation])
		one.judge(h, now.Sub(n.CreationTimestamp.Time))
		if made.Holder == "" || one.Alive && !made.Alive {
			made.Holder, made.holder, made.Alive = one.Holder, one.holder, one.Alive
		}
		made.items = append(made.items, Namespace(n.Name))
	}
	return made
}

// split parts what is in a namespace from what is not.
func split(items []Item, namespace string) (inside, outside []Item) {
	for _, i := range items {
		if i.Namespace == namespace {
			inside = append(inside, i)
		} else {
			outside = append(outside, i)
		}
	}
	return inside, outside
}
