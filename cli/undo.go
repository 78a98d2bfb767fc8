package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/catalog"
	"tare/journal"
	"tare/layer"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/local"
)

// cleanSwitches names what killed runs below some directories have left turned on or off
// for everyone, or turns it back, and gives how much it is.
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

// described says what is to be undone of a run, and by which commands.
func described(dir string, u layer.Undo) string {
	var commands []string
	for _, args := range u.Commands {
		commands = append(commands, testbed.Quote(args))
	}
	return fmt.Sprintf("%s of run %s, to be turned %s: %s", safetext.Name(u.Layer), safetext.Name(dir), safetext.Name(u.To), safetext.Name(strings.Join(commands, "; ")))
}

// undoRun turns back what earlier sessions of a run have left: it would count as
// somebody else's, and concern all arms.
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

// turnBack undoes what a run has left, the latest first, and says so. It goes on where
// one thing fails.
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
		errs = append(errs, u.Paid(one.Key))
	}
	return errors.Join(errs...)
}

// undo has the layer do it that noted it.
func undo(ctx context.Context, site testbed.Site, u layer.Undo) error {
	for _, k := range catalog.Layers {
		if k.Name == u.Layer && k.Undo != nil {
			return k.Undo(ctx, site, u)
		}
	}
	return errors.New("this tare does not know how to turn it back")
}
