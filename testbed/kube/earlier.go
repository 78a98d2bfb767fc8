package kube

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/experiment/quantity"
)

// idFile holds, in the run directory, the random name by which the sessions of a
// run know each other's records: paths and hosts change, as in containers, and the
// same ones come again.
const idFile = "cluster-id"

// runID gives the id of the run in a directory, and draws it at first.
func runID(dir string) (string, error) {
	name := filepath.Join(dir, idFile)
	data, err := os.ReadFile(name)
	if id := strings.TrimSpace(string(data)); err == nil && len(id) == 32 && label(id, nameLimit) == id {
		return id, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	var b [16]byte
	rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	return id, os.WriteFile(name, []byte(id+"\n"), 0o644)
}

// removeEarlier removes, once per cluster, what an earlier session of the same
// run has left there when it was killed: a run that goes on takes its things over
// by removing them, and makes its own. That it cannot does not stop the run.
func (on *presence) removeEarlier(ctx context.Context, given string) {
	if !on.bed.options.Resumed {
		return
	}
	on.earlier.Do(func() {
		if err := on.removeSessions(ctx, given, holderGone+heartbeat); err != nil {
			on.bed.options.Say(fmt.Sprintf("what an earlier session of this run has left could not all be removed: %v; tare clean --context %s tries again", err, on.Context))
		}
	})
}

// removeSessions removes what earlier sessions have left. A session that cannot be
// seen to have ended is waited for: its record is stale soon.
func (on *presence) removeSessions(ctx context.Context, given string, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for told := false; ; told = true {
		found, err := on.left(ctx, given)
		found = slices.DeleteFunc(found, func(l Leftover) bool {
			return l.Owner == on.bed.owner || !l.holder.sameRun(on.record.holder)
		})
		if ctx.Err() == nil && limited.Err() == nil && slices.ContainsFunc(found, mayHaveEnded) {
			if !told {
				on.bed.options.Say(fmt.Sprintf("waiting up to %v until the record of an earlier session of this run is stale: %s", quantity.Duration(patience), strings.Join(holders(found), "; ")))
			}
			select {
			case <-limited.Done():
			case <-time.After(min(patience/10, 3*time.Second)):
			}
			continue
		}
		return errors.Join(err, on.removeFound(ctx, found))
	}
}

// mayHaveEnded says whether it is not known that the holder lives.
func mayHaveEnded(l Leftover) bool { return l.Alive && l.holder.state() != living }

func holders(found []Leftover) (names []string) {
	for _, l := range found {
		names = append(names, l.Owner+" of "+l.Holder)
	}
	return names
}

func (on *presence) removeFound(ctx context.Context, found []Leftover) error {
	var errs []error
	for _, l := range found {
		if l.Alive {
			errs = append(errs, fmt.Errorf("what has the label %s=%s stays, because its holder seems to be at work: %s", OwnerLabel, l.Owner, l.Holder))
			continue
		}
		on.bed.options.Say("removing what an earlier session of this run has left in context " + on.Context)
		if err := l.remove(ctx, on.remover(l.Owner)); err != nil {
			errs = append(errs, fmt.Errorf("what has the label %s=%s: %w", OwnerLabel, l.Owner, err))
		}
	}
	return errors.Join(errs...)
}

// sameRun says whether another process carried out the same run.
func (h holder) sameRun(o holder) bool { return h.ID != "" && h.ID == o.ID }
