package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tare/journal"
	"tare/testbed/local"
)

func newClean(s State) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove what a killed run left behind",
		Long: `Find and end what a killed run left behind on this machine: processes that Tare
started and whose Tare is gone. Network namespaces vanish with their processes.
Below runs/, also directories that a killed import did not finish. Run directories
are never touched. Nothing that Tare did not start is touched.`,
		Example: "  tare clean --dry-run\n  tare clean",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			find := func() ([]local.Stray, error) { return local.Clean(c.Context()) }
			verb := "ended"
			if dry {
				find, verb = local.Strays, "would end"
			}
			strays, err := find()
			for _, stray := range strays {
				fmt.Fprintf(s.Stdout, "%s process %d: %s\n", verb, stray.PID, plainText(stray.Command))
			}
			if err != nil {
				return err
			}
			left, err := cleanImports(s, dry)
			if err == nil && len(strays)+left == 0 {
				fmt.Fprintln(s.Stderr, "nothing left behind")
			}
			return err
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	return c
}

// cleanImports removes what killed imports left below runs/, or says that it
// would, and gives how many they are.
func cleanImports(s State, dry bool) (int, error) {
	left, err := journal.Unfinished(journal.DefaultRoot)
	if err != nil {
		return 0, err
	}
	for _, dir := range left {
		verb := "would remove"
		if !dry {
			verb = "removed"
			if err := os.RemoveAll(dir); err != nil {
				return len(left), err
			}
		}
		fmt.Fprintf(s.Stdout, "%s unfinished import %s\n", verb, plainText(dir))
	}
	return len(left), nil
}
