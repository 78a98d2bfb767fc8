package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"tare/testbed/kube/agent"
)

// newAgent is what Tare's pods run. It is not for people: no help shows it.
func newAgent(s State) *cobra.Command {
	c := &cobra.Command{
		Use:    "agent",
		Short:  "Run programs of trials in a pod",
		Hidden: true,
		Args:   noSuchCommand,
		RunE:   func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var dir string
	serve := &cobra.Command{
		Use:   "serve",
		Short: "Be the first process of a pod, and start programs when asked",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			server := agent.Server{Dir: dir, Version: Version(), Self: []string{"/proc/self/exe", "agent", "facts"}}
			return server.Serve(c.Context())
		},
	}
	connect := &cobra.Command{
		Use:   "connect",
		Short: "Join stdin and stdout to the agent in this pod",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return agent.Connect(c.Context(), dir, s.Stdin, s.binary)
		},
	}
	for _, sub := range []*cobra.Command{serve, connect} {
		sub.Flags().StringVar(&dir, "dir", agent.Dir, "directory of the agent's socket")
	}
	install := &cobra.Command{
		Use:   "install PATH",
		Short: "Copy this program to PATH",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return agent.Install(args[0]) },
	}
	facts := &cobra.Command{
		Use:   "facts",
		Short: "Say what a program in this pod may do",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return json.NewEncoder(s.Stdout).Encode(agent.ReadFacts())
		},
	}
	c.AddCommand(serve, connect, install, facts)
	return c
}
