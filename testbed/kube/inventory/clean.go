package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/testbed/kube/cluster"
)

// cleanTimeouts are the limits where no experiment names any.
var cleanTimeouts = experiment.Timeouts{
	Ready: quantity.Duration(time.Minute), Delete: quantity.Duration(2 * time.Minute),
	Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
	Silence: quantity.Duration(time.Hour),
}

// cleanLimit is how long one Clean may take in all.
const cleanLimit = 15 * time.Minute

// Left finds what runs have left on the cluster of a context ("" for the current
// one), in a namespace, or in all with "". Those of living runs are among them.
// Records that cannot be used are an error beside what was found.
func Left(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return left(ctx, c, namespace)
}

// Clean removes what Left finds, but for what belongs to living runs, and gives
// what it has removed. It goes on where one thing cannot be removed.
func Clean(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return clean(ctx, c, namespace)
}

func clean(ctx context.Context, c *cluster.Cluster, namespace string) ([]Leftover, error) {
	limited, cancel := context.WithTimeoutCause(ctx, cleanLimit, &cluster.TimeoutError{What: "everything to be removed", Limit: cleanLimit, Now: "call tare clean again for the rest"})
	defer cancel()
	found, err := left(limited, c, namespace)
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
			errs = append(errs, fmt.Errorf("what run %s has left: %w", l.Owner, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}

// RemoveEarlier removes, the first time that it is called, what earlier sessions of
// the same run have left on the cluster when they were killed. given is the namespace
// to look in, "" for all. Where it fails it says so, and the run goes on.
func (r *Record) RemoveEarlier(ctx context.Context, given string) {
	r.earlier.Do(func() {
		if err := r.removeSessions(ctx, given, holderGone+heartbeat); err != nil {
			r.on.Say(fmt.Sprintf("what an earlier session of this run has left could not all be removed: %v; tare clean --context %s tries again", err, r.on.Context))
		}
	})
}

// removeSessions removes what earlier sessions have left. For one that may still be
// alive it waits until its record is stale, but no longer than patience.
func (r *Record) removeSessions(ctx context.Context, given string, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for said := false; ; said = true {
		found, err := left(ctx, r.on, given)
		found = slices.DeleteFunc(found, func(l Leftover) bool {
			return l.Owner == r.owner || !l.holder.sameRun(r.holder)
		})
		if ctx.Err() == nil && limited.Err() == nil && slices.ContainsFunc(found, mayHaveEnded) {
			if !said {
				r.on.Say(fmt.Sprintf("waiting up to %v until the record of an earlier session of this run is stale: %s", quantity.Duration(patience), strings.Join(holders(found), "; ")))
			}
			select {
			case <-limited.Done():
			case <-time.After(min(patience/10, 3*time.Second)):
			}
			continue
		}
		return errors.Join(err, r.removeFound(ctx, found))
	}
}

// mayHaveEnded says that a holder whose record is fresh is not seen to live here.
func mayHaveEnded(l Leftover) bool { return l.Alive && l.holder.state() != living }

func holders(found []Leftover) (names []string) {
	for _, l := range found {
		names = append(names, string(l.Owner)+" of "+l.Holder)
	}
	return names
}

func (r *Record) removeFound(ctx context.Context, found []Leftover) error {
	var errs []error
	for _, l := range found {
		if l.Alive {
			errs = append(errs, fmt.Errorf("what has the label %s=%s stays, because its holder seems to be at work: %s", OwnerLabel, l.Owner, l.Holder))
			continue
		}
		r.on.Say("removing what an earlier session of this run has left in context " + r.on.Context)
		if err := l.remove(ctx, r.remover(l.Owner)); err != nil {
			errs = append(errs, fmt.Errorf("what has the label %s=%s: %w", OwnerLabel, l.Owner, err))
		}
	}
	return errors.Join(errs...)
}
