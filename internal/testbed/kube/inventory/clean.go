package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
)

// cleanTimeouts are the time limits of Clean, which has no experiment with limits.
var cleanTimeouts = experiment.Timeouts{
	Ready: quantity.Duration(time.Minute), Delete: quantity.Duration(2 * time.Minute),
	Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
	Silence: quantity.Duration(time.Hour),
}

const cleanLimit = 15 * time.Minute

// Leftovers finds the leftovers of runs on the cluster of a context, and the objects of living runs. An empty
// contextName means the current context. An empty namespace means all namespaces. If some records cannot be used,
// Leftovers returns the other leftovers together with an error.
func Leftovers(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return findLeftovers(ctx, c, namespace)
}

// Clean removes and returns the leftovers that Leftovers finds. It does not touch the objects of living runs.
func Clean(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return clean(ctx, c, namespace)
}

func clean(ctx context.Context, c *cluster.Cluster, namespace string) ([]Leftover, error) {
	limited, cancel := context.WithTimeoutCause(ctx, cleanLimit, &cluster.TimeoutError{
		What: "everything to be removed", Limit: cleanLimit, Now: "call tare clean again for the rest"})
	defer cancel()
	found, err := findLeftovers(limited, c, namespace)
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
		if err := l.remove(limited, &remover{Cluster: c, owner: l.Owner, limit: cleanTimeouts.Delete.Std()}); err != nil {
			errs = append(errs, fmt.Errorf("leftovers of run %s: %w", l.Owner, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}

// RemoveEarlier removes the leftovers of earlier, killed sessions of this run. It looks in a namespace, or in all
// namespaces if namespace is "". Later calls do nothing. Errors are reported only as progress, since the run can
// continue.
func (r *Record) RemoveEarlier(ctx context.Context, namespace string) {
	r.earlier.Do(func() {
		if err := r.removeSessions(ctx, namespace, holderGone+heartbeat); err != nil {
			r.on.Say(fmt.Sprintf("leftovers of an earlier session of this run could not all be removed: %v; "+
				"tare clean --context %s tries again", err, r.on.Context))
		}
	})
}

// removeSessions removes the leftovers of earlier sessions. It waits until the records of sessions that may be alive
// are stale, but at most for patience.
func (r *Record) removeSessions(ctx context.Context, namespace string, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for said := false; ; said = true {
		found, err := findLeftovers(ctx, r.on, namespace)
		found = slices.DeleteFunc(found, func(l Leftover) bool {
			return l.Owner == r.owner || l.holder.ID == "" || l.holder.ID != r.holder.ID
		})
		// A session with a fresh record may have ended, unless its process is seen to live on this machine.
		mayHaveEnded := func(l Leftover) bool { return l.Alive && l.holder.state() != living }
		if ctx.Err() == nil && limited.Err() == nil && slices.ContainsFunc(found, mayHaveEnded) {
			if !said {
				holders := testbed.Each(found, func(l Leftover) string { return string(l.Owner) + " of " + l.Holder })
				r.on.Say(fmt.Sprintf("waiting up to %v until the record of an earlier session of this run is stale: %s",
					quantity.Duration(patience), strings.Join(holders, "; ")))
			}
			_ = testbed.Pause(limited, min(patience/10, 3*time.Second))
			continue
		}
		return errors.Join(err, r.removeFound(ctx, found))
	}
}

// removeFound removes the leftovers of dead sessions. If there are objects of a living session, it returns an error.
func (r *Record) removeFound(ctx context.Context, found []Leftover) error {
	var errs []error
	for _, l := range found {
		if l.Alive {
			errs = append(errs, fmt.Errorf("objects with the label %s=%s stay, because their holder seems to be at work: %s",
				OwnerLabel, l.Owner, l.Holder))
			continue
		}
		r.on.Say("removing leftovers of an earlier session of this run in context " + r.on.Context)
		if err := l.remove(ctx, r.remover(l.Owner)); err != nil {
			errs = append(errs, fmt.Errorf("objects with the label %s=%s: %w", OwnerLabel, l.Owner, err))
		}
	}
	return errors.Join(errs...)
}
