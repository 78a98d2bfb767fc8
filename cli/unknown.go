package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/experiment/strictyaml"
)

// wrongFlag makes an error about flags a usage error, and names the flag of the
// command that an unknown one most likely means.
func wrongFlag(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("see %s --help", c.CommandPath())
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return hintedUsage(err, "%s", hint)
	}
	word := unknown.GetSpecifiedShortnames() // all of "arm" where -arm was given for --arm
	if word == "" {
		word = unknown.GetSpecifiedName()
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := strictyaml.Nearest(word, names); near != "" {
		hint = fmt.Sprintf("did you mean --%s? %s", near, hint)
	}
	return hintedUsage(err, "%s", hint)
}

// refuseOtherShells makes cobra's completion command refuse a shell that it has no
// script for, in place of showing its help and succeeding.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, _ := root.Find([]string{"completion"}) // it was made just now
	var shells []string
	for _, shell := range c.Commands() {
		shells = append(shells, shell.Name())
		markUsage(shell)
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return hintedUsage(fmt.Errorf("no completion for the shell %q", args[0]), "%s", strictyaml.Suggest(args[0], "one of", shells))
	}
}
