package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/testbed/local"
)

func newClean(s State) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove what a killed run left behind",
		Long: `Find and end what a killed run left behind on this machine: processes that Tare
started and whose Tare is gone. Network namespaces vanish with their processes.
Run directories are never touched. Nothing that Tare did not start is touched.`,
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
			if err == nil && len(strays) == 0 {
				fmt.Fprintln(s.Stderr, "nothing left behind")
			}
			return err
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	return c
}
