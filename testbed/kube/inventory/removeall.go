package inventory

import (
	"context"
	"errors"
	"slices"
	"time"
)

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
	// What goes with its namespace needs no request of its own, unless it is of a
	// kind that others act on when it goes. Pods go first, for the namespaces' sake:
	// one that finds pods waits for seconds before it looks again.
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
