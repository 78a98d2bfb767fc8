package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/catalog"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

// cleanSwitches finds the system-wide switches that killed runs below some directories have left, and returns their
// number. With turn and not dry, it turns them back; otherwise it prints them.
func cleanSwitches(ctx context.Context, s State, roots []string, turn, dry bool) (left int, err error) {
	var dirs []string
	for _, root := range roots {
		found, err := journal.WithUndos(root)
		if err != nil {
			return 0, err
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	var errs []error
	for _, dir := range slices.Compact(dirs) {
		u, err := journal.OpenUndos(dir)
		var living *journal.LockedError
		if errors.As(err, &living) || err == nil && u == nil {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		left += len(u.List())
		if turn && !dry {
			errs = append(errs, turnBack(ctx, s.Stdout, dir, u))
		} else {
			for _, one := range u.List() {
				verb := "left"
				if turn {
					verb = "would turn back"
				}
				fmt.Fprintf(s.Stdout, "%s %s\n", verb, described(dir, one))
			}
		}
		errs = append(errs, u.Close())
	}
	if left > 0 && !turn {
		fmt.Fprintln(s.Stderr, "tare clean --switches runs these commands, from the latest to the first; so does tare resume of such a run")
	}
	return left, errors.Join(errs...)
}

// described describes the switches of a run that must be turned back, and the commands that do it.
func described(dir string, u layer.Undo) string {
	var commands []string
	for _, args := range u.Commands {
		commands = append(commands, testbed.Quote(args))
	}
	return fmt.Sprintf("%s of run %s, to be turned %s: %s", safetext.Name(u.Layer), safetext.Name(dir), safetext.Name(u.To), safetext.Name(strings.Join(commands, "; ")))
}

// undoRun turns back the switches that earlier sessions of a run have left. Otherwise they would seem to be set
// by another program, and affect all arms.
func undoRun(ctx context.Context, s State, dir string) error {
	u, err := journal.OpenUndos(dir)
	if err != nil || u == nil {
		return err
	}
	err = errors.Join(turnBack(ctx, s.Stderr, dir, u), u.Close())
	if err != nil {
		return hinted(err, "turn it back by hand, then delete %s in %s", journal.UndoFile, dir)
	}
	return nil
}

// turnBack turns back a run's switches, the latest first, and prints each. It continues after an error.
func turnBack(ctx context.Context, say io.Writer, dir string, u *journal.Undos) (err error) {
	bed, err := local.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	site, err := bed.Open(ctx, testbed.Request{Name: "host"})
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range slices.Backward(u.List()) {
		if err := undo(ctx, site, one); err != nil {
			errs = append(errs, fmt.Errorf("%s of run %s: %w", safetext.Name(one.Layer), dir, err))
			continue
		}
		fmt.Fprintf(say, "turned back %s\n", described(dir, one))
		errs = append(errs, u.Undone(one.Key))
	}
	return errors.Join(errs...)
}

// undo calls the layer that recorded a switch to turn it back.
func undo(ctx context.Context, site testbed.Site, u layer.Undo) error {
	for _, k := range catalog.Layers {
		if k.Name == u.Layer && k.Undo != nil {
			return k.Undo(ctx, site, u)
		}
	}
	return errors.New("this tare does not know how to turn it back")
}
