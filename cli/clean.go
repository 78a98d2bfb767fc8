package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tare/journal"
	"tare/safetext"
	"tare/testbed/local"
)

func newClean(s State) *cobra.Command {
	var dry bool
	var on leftOnCluster
	c := &cobra.Command{
		Use:   "clean [DIR]...",
		Short: "Remove what a killed run left behind",
		Long: `Find and end what a killed run left behind on this machine: processes that Tare
started and whose Tare is gone. Network namespaces vanish with their processes.
Remove also what a killed import did not finish: directories .NAME.unfinished-NUMBER
beside where the run was to be, up to four levels below the directories named, or
below runs/. What a living import still works on stays, and so does every run.
Nothing that Tare did not start or make is touched.

With --context it looks at a cluster in place of this machine: for what runs have
made there, whose Tare is a process of this machine that has ended, or has not been
heard of for a minute.`,
		Example: "  tare clean --dry-run\n  tare clean\n  tare clean runs history\n  tare clean --context staging --dry-run",
		RunE: func(c *cobra.Command, args []string) error {
			if on.asked(c) {
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
			strays, err := find()
			for _, stray := range strays {
				fmt.Fprintf(s.Stdout, "%s process %d: %s\n", verb, stray.PID, safetext.Name(stray.Command))
			}
			if err != nil {
				return err
			}
			left, err := cleanImports(s, roots, dry)
			if err == nil && len(strays)+left == 0 {
				fmt.Fprintln(s.Stderr, "nothing left behind")
			}
			return err
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	on.flags(c)
	return c
}

// importRoots gives the directories to be searched for unfinished imports: those
// named, which have to be there, or runs/, which need not.
func importRoots(args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{journal.DefaultRoot}, nil
	}
	var roots []string
	for _, dir := range args {
		root, err := filepath.EvalSymlinks(dir) // a link to the runs stands for them
		if err != nil {
			return nil, usage(fmt.Errorf("cannot look for unfinished imports: %w", err))
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, hintedUsage(fmt.Errorf("cannot look for unfinished imports: %s is not a directory", dir), "name the directory that the run was to be made in")
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// cleanImports removes what killed imports left below some directories, or says
// that it would, and gives how many they are.
func cleanImports(s State, roots []string, dry bool) (int, error) {
	var left []string
	for _, root := range roots {
		found, err := journal.Unfinished(root)
		if err != nil {
			return len(left), err
		}
		left = append(left, found...)
	}
	slices.Sort(left)
	left = slices.Compact(left) // of directories named twice, or within one another
	for _, dir := range left {
		verb := "would remove"
		if !dry {
			verb = "removed"
			if err := os.RemoveAll(dir); err != nil {
				return len(left), err
			}
		}
		fmt.Fprintf(s.Stdout, "%s unfinished import %s\n", verb, safetext.Name(dir))
	}
	return len(left), nil
}
