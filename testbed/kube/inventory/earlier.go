package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/experiment/quantity"
)

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
