package inventory

import (
	"context"
	"fmt"
)

// Remove deletes objects that the session has made, and takes them off its record
// when they are gone.
func (r *Record) Remove(ctx context.Context, items ...Item) error {
	if err := r.remover(r.owner).remove(ctx, items); err != nil {
		return err
	}
	return r.strike(ctx, items...)
}

// RemoveAll removes all that the session has made on the cluster, and the record. It
// has a limit of its own, so that it works when everything else was cancelled.
func (r *Record) RemoveAll() error {
	items, namespace := r.end()
	if len(items) == 0 && namespace == "" {
		return nil
	}
	r.on.Say("removing what was made in context " + r.on.Context)
	ctx, cancel := context.WithTimeout(context.Background(), 2*r.limits.Delete.Std()+r.limits.Request.Std())
	defer cancel()
	if err := r.remover(r.owner).removeAll(ctx, items, namespace); err != nil {
		return fmt.Errorf("context %s: %w", r.on.Context, err)
	}
	return nil
}

func (r *Record) remover(owner Owner) *remover {
	return &remover{Cluster: r.on, owner: owner, limit: r.limits.Delete.Std()}
}
