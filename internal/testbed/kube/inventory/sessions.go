package inventory

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/text/safetext"
)

// Everyone who may write ConfigMaps can forge a record of any session, to make tare clean, which another user
// runs with more rights, delete other objects. Two rules prevent this. First, a session counts as dead only if
// all records and namespaces with its name say so. Second, items outside of a record's namespace count only if
// the session has made that namespace.

type sessionObjects struct {
	owner      Owner
	records    []Leftover         // one for each record, which may be forged
	namespaces []corev1.Namespace // namespaces with the session's label
	unreadable bool               // set if a record of the session cannot be read: the session may be alive
}

// groupByOwner groups records and namespaces by session. Its errors are about records that it cannot read.
func groupByOwner(
	records []corev1.ConfigMap, namespaces []corev1.Namespace, now time.Time,
) (sessions []*sessionObjects, errs []error) {
	of := func(owner Owner) *sessionObjects {
		i := slices.IndexFunc(sessions, func(s *sessionObjects) bool { return s.owner == owner })
		if i < 0 {
			i, sessions = len(sessions), append(sessions, &sessionObjects{owner: owner})
		}
		return sessions[i]
	}
	for i := range records {
		r := &records[i]
		owner := Owner(r.Labels[OwnerLabel])
		if !owner.valid() || r.Name != owner.record() {
			errs = append(errs, fmt.Errorf("ConfigMap %s/%s looks like a record of Tare's, and is none: its owner is %q",
				r.Namespace, safetext.Head(r.Name, 100), safetext.Head(string(owner), 100)))
			continue
		}
		s := of(owner)
		h, renewed, items, err := readRecord(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("ConfigMap %s/%s, so objects of run %s are left: %w",
				r.Namespace, r.Name, owner, err))
			s.unreadable = true
			continue
		}
		found := Leftover{Owner: owner, record: r.Namespace, items: items}
		found.setHolder(h, now.Sub(renewed))
		found.own = slices.ContainsFunc(namespaces, func(n corev1.Namespace) bool {
			return n.Name == r.Namespace && owner.Owns(&n)
		})
		s.records = append(s.records, found)
	}
	for _, n := range namespaces {
		if owner := Owner(n.Labels[OwnerLabel]); owner.valid() {
			s := of(owner)
			s.namespaces = append(s.namespaces, n)
		}
	}
	return sessions, errs
}

// leftovers returns the leftovers of a session, or its objects with Alive set. all: all namespaces were
// searched.
func (s *sessionObjects) leftovers(now time.Time, all bool) ([]Leftover, error) {
	if s.unreadable {
		return nil, nil // groupByOwner has returned the error
	}
	if alive := slices.IndexFunc(s.records, func(l Leftover) bool { return l.Alive }); alive >= 0 {
		return s.records[alive : alive+1], nil
	}
	made := s.fromNamespaces(now)
	if made.Alive {
		return []Leftover{made}, nil
	}
	own := slices.ContainsFunc(s.records, func(l Leftover) bool { return l.own })
	var errs []error
	var found []Leftover
	var trusted *Leftover
	for _, l := range s.records {
		switch {
		case l.own && trusted == nil:
			trusted = &l
		case l.own:
			trusted.add(l.items)
		case own:
			errs = append(errs, fmt.Errorf(
				"ConfigMap %s/tare-%s is left: run %s has a record in a namespace of its own, and this one is in another's",
				l.record, s.owner, s.owner))
		default:
			all := l.items
			l.items = slices.DeleteFunc(slices.Clone(all), func(i Item) bool { return i.Namespace != l.record })
			l.foreign = slices.DeleteFunc(all, func(i Item) bool { return i.Namespace == l.record })
			found = append(found, l)
		}
	}
	if trusted == nil {
		trusted = &Leftover{Owner: s.owner, Holder: made.Holder, holder: made.holder}
	}
	if all {
		trusted.add(made.items)
	}
	if trusted.record != "" || len(trusted.items) > 0 {
		found = append(found, *trusted)
	}
	return found, errors.Join(errs...)
}

// fromNamespaces returns the leftover of a session as its namespaces show it, the first of which is made before
// the record. If the holder in the annotation of a namespace seems to be alive, the session is alive.
func (s *sessionObjects) fromNamespaces(now time.Time) Leftover {
	made := Leftover{Owner: s.owner}
	for _, n := range s.namespaces {
		l := Leftover{}
		h, _ := readHolder(n.Annotations[holderAnnotation])
		l.setHolder(h, now.Sub(n.CreationTimestamp.Time))
		if made.Holder == "" || l.Alive && !made.Alive {
			made.Holder, made.holder, made.Alive = l.Holder, l.holder, l.Alive
		}
		made.items = append(made.items, Namespace(n.Name))
	}
	return made
}
