package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"tare/experiment"
	"tare/experiment/quantity"
)

// cleanTimeouts are the limits where no experiment names any.
var cleanTimeouts = experiment.Timeouts{
	Ready: quantity.Duration(time.Minute), Delete: quantity.Duration(2 * time.Minute),
	Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
}

// cleanLimit is how long one Clean may take in all.
const cleanLimit = 15 * time.Minute

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
	// Foreign is what there is of the run outside of the namespace of its record,
	// which is not Tare's: who may write there could list what he may not delete, so
	// that it is named and left.
	Foreign []string

	holder  holder
	items   []item
	foreign []item
	record  string // namespace of the record; "" for none
}

// Left finds what runs have left on the cluster of a context ("" for the current
// one), in a namespace, or in all with "". Those of living runs are among them.
// Records that cannot be used are an error beside what was found.
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
	return c.clean(ctx, o, namespace)
}

func (c *Cluster) clean(ctx context.Context, o Options, namespace string) ([]Leftover, error) {
	limited, cancel := context.WithTimeoutCause(ctx, cleanLimit, &TimeoutError{What: "everything to be removed", Limit: cleanLimit, Now: "call tare clean again for the rest"})
	defer cancel()
	found, err := c.left(limited, namespace)
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
		if err := l.remove(limited, &remover{Cluster: c, owner: l.Owner, limit: cleanTimeouts.Delete.Std(), say: o.Say}); err != nil {
			errs = append(errs, fmt.Errorf("what run %s has left: %w", l.Owner, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}

// remove removes what the run has left. The record stays while it is the only one
// that names what is elsewhere.
func (l *Leftover) remove(ctx context.Context, r *remover) error {
	there, _ := r.stillThere(ctx, l.foreign)
	if len(there) == 0 {
		return r.removeRun(ctx, l.items, l.record)
	}
	var names []string
	for _, i := range there {
		names = append(names, i.String())
	}
	return errors.Join(r.removeRun(ctx, l.items, ""), fmt.Errorf(
		"its record is in namespace %s, which is not Tare's, so that what it lists elsewhere is left: %s; delete that with kubectl if it is the run's, and call tare clean again", l.record, strings.Join(names, ", ")))
}

// list says what there is of an inventory.
func (c *Cluster) list(ctx context.Context, l *Leftover) {
	items := slices.Clone(l.items)
	if l.record != "" {
		items = append(items, coreItem("configmaps", l.record, "tare-"+l.Owner))
	}
	l.Objects = c.existing(ctx, l.Owner, items)
	l.Foreign = c.existing(ctx, l.Owner, l.foreign)
}

func (c *Cluster) existing(ctx context.Context, owner string, items []item) (names []string) {
	r := &remover{Cluster: c, owner: owner}
	for _, i := range items {
		if i.Name != "" {
			if left, _ := r.stillThere(ctx, []item{i}); len(left) == 0 {
				continue
			}
		}
		names = append(names, i.String())
	}
	return names
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
