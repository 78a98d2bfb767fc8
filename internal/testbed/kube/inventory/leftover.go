package inventory

import (
	"cmp"
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

	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// Leftover lists the objects of one session of a run on a cluster.
type Leftover struct {
	Owner   Owner
	Holder  string   // process of the session: "process 17 on host a, last seen 3m ago"
	Alive   bool     // set if the session's process is alive or may be alive; Clean then removes no object
	Objects []string // names of existing objects, in kubectl's form
	// Foreign lists objects in other namespaces, if Tare did not make the record's namespace. Clean leaves these
	// objects, since the record may be forged.
	Foreign []string

	holder  holder
	items   []Item
	foreign []Item
	record  string // namespace of the record; "" if there is no record
	own     bool   // set if the session has made the record's namespace
}

// setHolder sets the holder and Alive. age is the time since the holder's last heartbeat.
func (l *Leftover) setHolder(h holder, age time.Duration) {
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

func (l *Leftover) list(ctx context.Context, c *cluster.Cluster) {
	r := &remover{Cluster: c, owner: l.Owner}
	existing := func(items []Item) (names []string) {
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
	items := slices.Clone(l.items)
	if l.record != "" {
		items = append(items, Core("configmaps", l.record, l.Owner.record()))
	}
	l.Objects, l.Foreign = existing(items), existing(l.foreign)
}

func union(list, items []Item) []Item {
	for _, i := range items {
		if !slices.ContainsFunc(list, i.same) {
			list = append(list, i)
		}
	}
	return list
}

// remove removes the leftover. If objects outside of the record's namespace remain, the record stays, since nothing
// else lists them.
func (l *Leftover) remove(ctx context.Context, r *remover) error {
	there, _ := r.stillThere(ctx, l.foreign)
	if len(there) == 0 {
		return r.removeAll(ctx, l.items, l.record)
	}
	names := lists.Map(there, Item.String)
	return errors.Join(r.removeAll(ctx, l.items, ""), fmt.Errorf(
		"its record is in namespace %s, which is not Tare's, so objects in other namespaces are left: %s; "+
			"delete them with kubectl if they are the run's, and call tare clean again", l.record, strings.Join(names, ", ")))
}

// findLeftovers reads the records of all runs. It also finds namespaces of runs that were killed before they wrote a
// record.
func findLeftovers(ctx context.Context, c *cluster.Cluster, namespace string) ([]Leftover, error) {
	records, err := c.Client.CoreV1().ConfigMaps(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: ManagedBy + "=tare," + recordLabel})
	if apierrors.IsForbidden(err) && namespace == "" {
		return nil, fmt.Errorf("look for records of runs in all namespaces: %w; --namespace names one to look in",
			cluster.Explain(err))
	}
	if err != nil {
		return nil, fmt.Errorf("look for records of runs: %w", cluster.Explain(err))
	}
	namespaces, err := ownNamespaces(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	now := c.Now(ctx)
	sessions, errs := groupByOwner(records.Items, namespaces, now)
	var found []Leftover
	for _, s := range sessions {
		leftovers, err := s.leftovers(now, namespace == "")
		found, errs = append(found, leftovers...), append(errs, err)
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

// ownNamespaces returns the namespaces with a run's label. A namespace other than "" limits the result to this
// namespace.
func ownNamespaces(ctx context.Context, c *cluster.Cluster, namespace string) ([]corev1.Namespace, error) {
	list := &corev1.NamespaceList{}
	var err error
	if namespace == "" {
		list, err = c.Client.CoreV1().Namespaces().List(ctx,
			metav1.ListOptions{LabelSelector: ManagedBy + "=tare," + OwnerLabel})
	} else {
		var ns *corev1.Namespace
		ns, err = c.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err == nil && ns.Labels[ManagedBy] == "tare" && ns.Labels[OwnerLabel] != "" {
			list.Items = []corev1.Namespace{*ns}
		}
	}
	switch {
	case apierrors.IsForbidden(err): // a user who may not read namespaces cannot have made any
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no namespace %s in context %s", namespace, c.Context)
	case err != nil:
		return nil, fmt.Errorf("look for namespaces of runs: %w", cluster.Explain(err))
	}
	return list.Items, nil
}

type servedKinds struct {
	namespaced map[schema.GroupVersionResource]bool // known resources; true: the objects of the resource lie in namespaces
	failed     map[schema.GroupVersion]error        // API groups whose server, an extension of the cluster, does not answer; with the error
}

func served(c *cluster.Cluster) (servedKinds, error) {
	k := servedKinds{namespaced: map[schema.GroupVersionResource]bool{}}
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partly) {
		k.failed = partly.Groups
	} else if err != nil {
		return k, fmt.Errorf("list the kinds of objects that the cluster knows: %w", cluster.Explain(err))
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

// lacks reports whether an item cannot exist, since the cluster does not know its kind. The result is false if the
// kind's API server does not answer.
func (k servedKinds) lacks(i Item) bool {
	if k.failed[i.gvr().GroupVersion()] != nil {
		return false
	}
	namespaced, known := k.namespaced[i.gvr()]
	return !known || namespaced != (i.Namespace != "")
}

// Everyone who may write ConfigMaps can forge the record of a session. Two rules keep tare clean from deleting other
// users' objects for a forger. First, a session counts as dead only if all its records and namespaces say so. Second,
// an item outside of the record's namespace counts only if the session made the record's namespace.

type sessionObjects struct {
	owner      Owner
	records    []Leftover // an entry for each record; a record may be forged
	namespaces []corev1.Namespace
	unreadable bool // set if a record of the session cannot be read, and the session may be alive
}

// groupByOwner groups records and namespaces by session. It returns an error for each record that it cannot read.
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

// leftovers returns a session's objects as leftovers, with Alive set for a living session. The argument all adds
// namespaces that no record names.
func (s *sessionObjects) leftovers(now time.Time, all bool) ([]Leftover, error) {
	if s.unreadable {
		return nil, nil // groupByOwner has already returned the error for this session
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
			trusted.items = union(trusted.items, l.items)
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
	trusted = cmp.Or(trusted, &Leftover{Owner: s.owner, Holder: made.Holder, holder: made.holder})
	if all {
		trusted.items = union(trusted.items, made.items)
	}
	if trusted.record != "" || len(trusted.items) > 0 {
		found = append(found, *trusted)
	}
	return found, errors.Join(errs...)
}

// fromNamespaces returns a session's leftover from its namespaces, since a killed session may have no record. One
// living holder sets Alive.
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
