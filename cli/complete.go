package cli

import (
	"github.com/spf13/cobra"

	"tare/journal"
)

// completeFiles completes file names with these extensions.
func completeFiles(extensions ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completeRuns completes run directories: those below runs/, and any other
// directory.
func completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	dirs, err := journal.Find("runs")
	if err != nil || len(dirs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return dirs, cobra.ShellCompDirectiveDefault
}
