package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"tare/experiment"
	"tare/experiment/quantity"
)

// cleanTimeouts are the limits where no experiment names any.
var cleanTimeouts = experiment.Timeouts{
	Ready: quantity.Duration(time.Minute), Delete: quantity.Duration(2 * time.Minute),
	Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
}

// Leftover is what one run has on a cluster.
type Leftover struct {
	Owner string
	// Holder is whose it is: "process 17 on host a, last seen 3m ago".
	Holder string
	// Alive says that the holder is, or may be, still at work: what is of the
	// living is not cleaned.
	Alive bool
	// Objects is what there is, as kubectl names it.
	Objects []string

	holder holder
	items  []item
	record string // namespace of the record; "" for none
}

// Left finds what runs have left on the cluster of a context ("" for the current
// one), in a namespace, or in all with "". Those of living runs are among them.
func Left(ctx context.Context, o Options, contextName, namespace string) ([]Leftover, error) {
	c, err := connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return c.left(ctx, namespace)
}

// Clean removes what Left finds, but for what belongs to living runs, and gives
// what it has removed. It goes on where one thing cannot be removed.
func Clean(ctx context.Context, o Options, contextName, namespace string) ([]Leftover, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	c, err := connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	found, err := c.left(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var removed []Leftover
	var errs []error
	for _, l := range found {
		if l.Alive {
			continue
		}
		r := &remover{Cluster: c, owner: l.Owner, limit: cleanTimeouts.Delete.Std(), say: o.Say}
		if err := r.removeRun(ctx, l.items, l.record); err != nil {
			errs = append(errs, fmt.Errorf("what run %s has left: %w", l.Owner, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
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
	now := c.now(ctx)
	var found []Leftover
	for i := range records.Items {
		r := &records.Items[i]
		l := Leftover{Owner: r.Labels[OwnerLabel], record: r.Namespace}
		if r.Name != "tare-"+l.Owner || label(l.Owner, nameLimit) != l.Owner {
			return nil, fmt.Errorf("ConfigMap %s/%s looks like a record of Tare's, and is none: its owner is %q", r.Namespace, printable(r.Name, 100), printable(l.Owner, 100))
		}
		h, renewed, items, err := readRecord(r)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s: %w", r.Namespace, r.Name, err)
		}
		l.items = items
		l.judge(h, now.Sub(renewed))
		found = append(found, l)
	}
	unrecorded, err := c.unrecorded(ctx, namespace, found, now)
	found = append(found, unrecorded...)
	for i := range found {
		c.list(ctx, &found[i])
	}
	return found, err
}

// list says what there is of an inventory.
func (c *Cluster) list(ctx context.Context, l *Leftover) {
	r := &remover{Cluster: c, owner: l.Owner}
	items := slices.Clone(l.items)
	if l.record != "" {
		items = append(items, coreItem("configmaps", l.record, "tare-"+l.Owner))
	}
	for _, i := range items {
		if i.Name != "" {
			if left, _ := r.stillThere(ctx, []item{i}); len(left) == 0 {
				continue
			}
		}
		l.Objects = append(l.Objects, i.String())
	}
}

// unrecorded finds Tare's namespaces that no record lists.
func (c *Cluster) unrecorded(ctx context.Context, namespace string, recorded []Leftover, now time.Time) ([]Leftover, error) {
	if namespace != "" {
		return nil, nil
	}
	namespaces, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: ManagedBy + "=tare," + OwnerLabel})
	if apierrors.IsForbidden(err) {
		return nil, nil // who may not list them has made none
	}
	if err != nil {
		return nil, fmt.Errorf("look for namespaces of runs: %w", explain(err))
	}
	var found []Leftover
	for _, ns := range namespaces.Items {
		owner := ns.Labels[OwnerLabel]
		one := namespaceItem(ns.Name)
		same := func(l Leftover) bool { return l.Owner == owner }
		if i := slices.IndexFunc(recorded, same); i >= 0 {
			if !slices.ContainsFunc(recorded[i].items, one.same) {
				recorded[i].items = append(recorded[i].items, one)
			}
			continue
		}
		if i := slices.IndexFunc(found, same); i >= 0 {
			found[i].items = append(found[i].items, one)
			continue
		}
		l := Leftover{Owner: owner, items: []item{one}}
		h, _ := readHolder(ns.Annotations[holderAnnotation])
		l.judge(h, now.Sub(ns.CreationTimestamp.Time))
		found = append(found, l)
	}
	return found, nil
}

// judge says whose it is, and whether that run lives.
func (l *Leftover) judge(h holder, age time.Duration) {
	l.holder = h
	l.Holder = fmt.Sprintf("%s, last seen %v ago", h.who(), quantity.Duration(max(0, age).Round(time.Second)))
	l.Alive = age < holderGone
	if h.here() {
		l.Alive = !h.dead()
		if !l.Alive {
			l.Holder = h.who() + ", which has ended"
		}
	}
}

// now is the time by the API server's clock, by which the records tell theirs;
// by this machine's where it cannot be had.
func (c *Cluster) now(ctx context.Context) time.Time {
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return time.Now()
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodGet, strings.TrimSuffix(serverURL(c.Config), "/")+"/version", nil)
	if err != nil {
		return time.Now()
	}
	answer, err := client.Do(r)
	if err != nil {
		return time.Now()
	}
	answer.Body.Close()
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

func serverURL(config *rest.Config) string {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return config.Host
	}
	return url.String()
}
