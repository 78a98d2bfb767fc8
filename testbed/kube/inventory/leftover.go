package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
