package cli

import (
	"os"

	"github.com/spf13/cobra"

	"tare/internal/experiment"
)

// addLabels adds the flag for labels of a run.
func addLabels(c *cobra.Command, labels *[]string) {
	c.Flags().StringArrayVar(labels, "label", nil, "NAME=VALUE, a label of the run, shown in comparisons; may be repeated. Unless given, the label commit comes from the CI system (GITHUB_SHA, CI_COMMIT_SHA and the like)")
}

// labelled returns the labels from the command line and from the CI system that runs this command.
func labelled(given []string) (experiment.Labels, error) {
	labels, err := experiment.LabelsOf(given, os.Getenv)
	if err != nil {
		return nil, hintedUsage(err, "as in --label commit=1a2b3c4d")
	}
	return labels, nil
}
