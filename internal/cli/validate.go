package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newValidate(s State) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check experiment files and report every problem",
		Long: `Check experiment files and report every problem, each with its line and column.
Nothing is run, and the machine is not examined.`,
		Example: `  tare validate experiment.yaml
  tare validate examples/*.yaml`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFiles("yaml", "yml"),
		RunE: func(c *cobra.Command, args []string) error {
			code := ExitDone
			for _, name := range args {
				_, expansion, err := overrides{}.expand(c.Context(), s, name)
				if err != nil {
					code = max(code, conclude(s, err))
					continue
				}
				fmt.Fprintf(s.Stdout, "%s: ok\n", name)
				if text := gateWarning(&expansion.Plan); text != "" {
					fmt.Fprintln(s.Stderr, name+": warning: "+text)
				}
			}
			if code != ExitDone {
				return exit(code)
			}
			return nil
		},
	}
}
