package kube

import (
	"context"
	"errors"
	"fmt"
)

// removeEarlier removes, once per cluster, what an earlier session of the same
// run has left there when it was killed: a run that goes on takes its things over
// by removing them, and makes its own. That it cannot does not stop the run.
func (on *presence) removeEarlier(ctx context.Context, given string) {
	if !on.bed.options.Resumed {
		return
	}
	on.earlier.Do(func() {
		if err := on.removeSessions(ctx, given); err != nil {
			on.bed.options.Say(fmt.Sprintf("what an earlier session of this run has left could not be removed: %v; tare clean --context %s tries again", err, on.Context))
		}
	})
}

func (on *presence) removeSessions(ctx context.Context, given string) error {
	found, err := on.left(ctx, given)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range found {
		if l.Alive || !l.holder.sameRun(on.record.holder) {
			continue
		}
		on.bed.options.Say("removing what an earlier session of this run has left in context " + on.Context)
		errs = append(errs, on.remover(l.Owner).removeRun(ctx, l.items, l.record))
	}
	return errors.Join(errs...)
}

// sameRun says whether another process carried out the same run: the run's
// directory is of one host.
func (h holder) sameRun(o holder) bool { return h.Run != "" && h.Run == o.Run && h.Host == o.Host }
