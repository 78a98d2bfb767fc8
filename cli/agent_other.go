//go:build !linux

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// newAgent is what Tare's pods run, which are of Linux.
func newAgent(State) *cobra.Command {
	return &cobra.Command{
		Use:    "agent",
		Short:  "Run programs of trials in a pod",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("the agent needs Linux, and this is %s", runtime.GOOS)
		},
	}
}
