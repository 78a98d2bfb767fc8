package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/text/input"
)

// completeFiles completes file names with these extensions.
func completeFiles(extensions ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completeRuns completes run directories: those below runs/, and any other directory.
func completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return runsBelow(journal.DefaultRoot)
}

// runsBelow completes the run directories below a root, and any other directory.
func runsBelow(root string) ([]string, cobra.ShellCompDirective) {
	dirs, err := journal.Find(root)
	if err != nil || len(dirs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return dirs, cobra.ShellCompDirectiveDefault
}

// completeArms completes the arms of the named run, or of the newest.
func completeArms(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return arms(args), cobra.ShellCompDirectiveNoFileComp
}

// completeReference completes RUN and RUN:ARM of the named runs.
func completeReference(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, dir := range args {
		list = append(list, dir)
		for _, arm := range arms([]string{dir}) {
			list = append(list, dir+":"+arm)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeMatch completes OLD=NEW with the treatments of the named runs.
func completeMatch(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	old, _, chosen := strings.Cut(typed, "=")
	var list []string
	for _, dir := range args {
		for _, arm := range arms([]string{dir}, experiment.Treatment) {
			switch {
			case !chosen:
				list = append(list, arm+"=")
			case arm != old:
				list = append(list, old+"="+arm)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// planNamed returns the plan of the named run, or of the newest. If the run cannot be found, it returns an
// empty plan, and the command itself reports the error.
func planNamed(args []string) experiment.Plan {
	dir, err := runDir(args)
	if err != nil {
		return experiment.Plan{}
	}
	return planOf(dir)
}

// planOf returns the plan of a run, or an empty one if it cannot be read.
func planOf(dir string) (plan experiment.Plan) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return experiment.Plan{}
	}
	defer root.Close()
	data, err := input.ReadIn(root, journal.PlanFile)
	if err != nil || json.Unmarshal(data, &plan) != nil {
		return experiment.Plan{}
	}
	return plan
}

// arms returns the names of a run's arms with one of the roles, or of all arms.
func arms(run []string, roles ...experiment.Role) (names []string) {
	for _, a := range planNamed(run).Arms {
		if roles == nil || slices.Contains(roles, a.Role) {
			names = append(names, a.Name)
		}
	}
	return names
}
