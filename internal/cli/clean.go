package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/catalog"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
	"tare/internal/version"
)

// guardFlag marks a tare clean that a guard started. Such a tare clean skips system-wide settings, since looking at
// them locks the run against tare resume.
const guardFlag = "guard"

func newClean(s State) *cobra.Command {
	var dry, switches, guarding bool
	var on leftOnCluster
	c := &cobra.Command{
		Use:   "clean [DIR]...",
		Short: "Remove the leftovers of killed runs",
		Long: `Remove the leftovers of killed runs on this machine:

Processes that Tare started and whose Tare process has ended are killed. Network
namespaces vanish with their processes.

Temporary directories and files of a Tare process that has ended (tare-WHAT-PID-…: volumes,
files for programs under test, keys of proxies, browser profiles, half a report) are
removed from the directory of temporary files (TMPDIR), from this directory, and from up to
four levels below the named directories, or below runs/. Mounts in them are unmounted, and
nothing mounted is removed.

Unfinished run directories (of an import: .NAME.unfinished-NUMBER) are removed from the
same places. Only Tare's own files in them are removed; other files stay, with the
directory, and are named. Files of a live Tare process stay, and so does every run.
Nothing else is touched. If an object cannot be removed, it is named, and the rest is
removed.

Switches that a killed run below the same directories has left on or off for the whole
system (layer switch) are named, with the commands that turn them back. --switches runs
these commands.

With --context, a cluster is cleaned instead of this machine, of objects of runs whose
Tare was a process of this machine that has ended, or has given no sign for a minute.`,
		Example: "  tare clean --dry-run\n  tare clean\n  tare clean runs history\n  tare clean --switches\n  tare clean --context staging --dry-run",
		RunE: func(c *cobra.Command, args []string) error {
			if on.selected(c) && switches {
				return usage(errors.New("--switches is about this machine, whose programs turned them, and a cluster is to be cleaned: call tare clean once for each"))
			}
			if on.selected(c) {
				return on.clean(c.Context(), s, args, dry)
			}
			roots, err := importRoots(args)
			if err != nil {
				return err
			}
			find := func() ([]local.Stray, error) { return local.Clean(c.Context()) }
			verb := "ended"
			if dry {
				find, verb = local.Strays, "would end"
			}
			strays, bad := find()
			for _, stray := range strays {
				fmt.Fprintf(s.Stdout, "%s process %d: %s\n", verb, stray.PID, safetext.Name(stray.Command))
			}
			temporary, err := cleanTemporary(s, roots, dry)
			bad = errors.Join(bad, err)
			left, err := cleanImports(s, roots, dry)
			if bad = errors.Join(bad, err); guarding {
				return bad
			}
			switched, err := cleanSwitches(c.Context(), s, roots, switches, dry)
			if bad = errors.Join(bad, err); bad == nil && len(strays)+temporary+left+switched == 0 {
				fmt.Fprintln(s.Stderr, "nothing left behind")
			}
			return bad
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only print what would be done")
	c.Flags().BoolVar(&switches, "switches", false, "also turn back the system-wide switches that killed runs have left")
	c.Flags().BoolVar(&guarding, guardFlag, false, "called after a run was killed: ignore its switches")
	_ = c.Flags().MarkHidden(guardFlag)
	on.flags(c)
	return c
}

// cleanTemporary removes temporary files and directories of killed Tare processes, and returns their number. With dry =
// true, cleanTemporary only prints their names.
func cleanTemporary(s State, roots []string, dry bool) (int, error) {
	clean, verb := local.CleanTemporary, "removed"
	if dry {
		clean, verb = owned.Leftovers, "would remove"
	}
	dirs, bad := []string{"."}, error(nil)
	for _, root := range roots {
		bad = errors.Join(bad, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || !d.IsDir():
				return err
			// directories of raw files, and levels deeper than four, are not searched
			case d.Name() == journal.RawDir, strings.Count(strings.TrimPrefix(path, root), string(filepath.Separator)) > 4:
				return fs.SkipDir
			}
			dirs = append(dirs, path)
			return nil
		}))
	}
	paths, err := clean(dirs...)
	for _, path := range paths {
		fmt.Fprintf(s.Stdout, "%s %s\n", verb, safetext.Name(path))
	}
	return len(paths), errors.Join(bad, err)
}

// importRoots returns the directories to search for unfinished runs: the named directories, or runs/, which may be
// missing.
func importRoots(args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{journal.DefaultRoot}, nil
	}
	var roots []string
	for _, dir := range args {
		root, err := filepath.EvalSymlinks(dir) // a link to the directory of runs is followed
		if err != nil {
			return nil, usage(fmt.Errorf("cannot look for unfinished runs: %w", err))
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, hintedUsage(fmt.Errorf("cannot look for unfinished runs: %s is not a directory", dir), "name the directory that the run was to be made in")
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// cleanImports removes the leftovers of killed imports below the roots, and returns their number. With dry = true, it
// only prints them.
func cleanImports(s State, roots []string, dry bool) (int, error) {
	left, bad := below(roots, journal.Unfinished)
	for _, dir := range left {
		if dry {
			fmt.Fprintf(s.Stdout, "would remove unfinished run %s\n", safetext.Name(dir))
			continue
		}
		kept, err := journal.RemoveUnfinished(dir)
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		what := "unfinished run " + safetext.Name(dir)
		if len(kept) > 0 {
			what = "the files of " + what + "; left, because Tare did not make it: " + safetext.Name(strings.Join(kept, ", "))
		}
		fmt.Fprintln(s.Stdout, "removed", what)
	}
	return len(left), bad
}

// below calls the function find for every root, and returns all paths found. A path below two of the roots is returned
// once.
func below(roots []string, find func(root string) ([]string, error)) (paths []string, bad error) {
	for _, root := range roots {
		found, err := find(root)
		bad = errors.Join(bad, err)
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), bad
}

// leftOnCluster holds the flags that select a cluster to clean.
type leftOnCluster struct{ context, kubeconfig, namespace string }

func (l *leftOnCluster) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.context, "context", "", "clean a cluster instead of this machine: context of the kubeconfig")
	c.Flags().StringVar(&l.kubeconfig, "kubeconfig", "", "clean a cluster: kubeconfig instead of the default ones")
	c.Flags().StringVarP(&l.namespace, "namespace", "n", "", "on a cluster, search one namespace only, for users without rights in the others")
}

func (l *leftOnCluster) selected(c *cobra.Command) bool {
	return c.Flags().Changed("context") || c.Flags().Changed("kubeconfig") || c.Flags().Changed("namespace")
}

// clean removes the leftovers of killed runs on the cluster. With dry = true, it only prints them. It prints the
// objects of live runs on stderr.
func (l *leftOnCluster) clean(ctx context.Context, s State, dirs []string, dry bool) error {
	if len(dirs) > 0 {
		return hintedUsage(fmt.Errorf("%s is a directory of this machine, and a cluster is to be cleaned", dirs[0]), "clean one after the other: tare clean %s", dirs[0])
	}
	o := cluster.Options{Kubeconfig: l.kubeconfig, Version: version.String(), Say: func(line string) { fmt.Fprintln(s.Stderr, safetext.Name(line)) }}
	left, bad := inventory.Leftovers(ctx, o, l.context, l.namespace) // after an error, left holds the leftovers found before the error
	found := 0
	for _, one := range left {
		if one.Alive {
			fmt.Fprintf(s.Stderr, "run %s is at work: %s\n", one.Owner, safetext.Name(one.Holder))
			continue
		}
		found++
		if dry {
			printLeft(s, "would remove", one)
			for _, object := range one.Foreign {
				fmt.Fprintf(s.Stdout, "would leave %s of run %s, because the record that lists it is in a namespace that is not Tare's\n", safetext.Name(object), one.Owner)
			}
		}
	}
	if found == 0 && bad == nil {
		fmt.Fprintln(s.Stderr, "nothing left behind")
	}
	if found == 0 || dry {
		return bad
	}
	removed, err := inventory.Clean(ctx, o, l.context, l.namespace)
	for _, one := range removed {
		printLeft(s, "removed", one)
	}
	if errors.Is(err, context.Canceled) {
		return exit(exitInterrupted)
	}
	return err
}

func printLeft(s State, verb string, l inventory.Leftover) {
	for _, object := range l.Objects {
		fmt.Fprintf(s.Stdout, "%s %s of run %s (%s)\n", verb, safetext.Name(object), l.Owner, safetext.Name(l.Holder))
	}
}

// cleanSwitches turns back system-wide switches that killed runs left, and returns their number. With dry = true or
// turn = false, it only prints them.
func cleanSwitches(ctx context.Context, s State, roots []string, turn, dry bool) (left int, err error) {
	dirs, err := below(roots, journal.WithUndos)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, dir := range dirs {
		u, err := journal.OpenUndos(dir)
		if errors.As(err, new(*journal.LockedError)) || err == nil && u == nil {
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

func described(dir string, u layer.Undo) string {
	commands := strings.Join(each(u.Commands, testbed.Quote), "; ")
	return fmt.Sprintf("%s of run %s, to be turned %s: %s", safetext.Name(u.Layer), safetext.Name(dir), safetext.Name(u.To), safetext.Name(commands))
}

// undoRun turns back the switches that earlier sessions of a run have turned and not turned back. Such a switch would
// affect all arms.
func undoRun(ctx context.Context, s State, dir string) error {
	u, err := journal.OpenUndos(dir)
	if err != nil || u == nil {
		return err
	}
	return hinted(errors.Join(turnBack(ctx, s.Stderr, dir, u), u.Close()), "turn it back by hand, then delete %s in %s", journal.UndoFile, dir)
}

// turnBack turns back a run's switches, the latest first, and prints each. After an error, it continues with the
// next switch.
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

func undo(ctx context.Context, site testbed.Site, u layer.Undo) error {
	for _, k := range catalog.Layers {
		if k.Name == u.Layer && k.Undo != nil {
			return k.Undo(ctx, site, u)
		}
	}
	return errors.New("this tare does not know how to turn it back")
}
