package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/experiment/strictyaml"
	"tare/internal/version"
)

// Root returns the tree of commands, to run or to describe them.
func Root(s State) *cobra.Command {
	root := &cobra.Command{
		Use:   "tare",
		Short: "Measure what a security layer costs the workload inside it",
		Long: `Tare measures what a security layer costs the workload inside it, as an honest
A/B experiment: random order in rounds, an A/A control, proof that the layer was
on, paired intervals, and a verdict for every metric.

  tare run examples/quickstart.yaml     carry out an experiment
  tare show                             what the last run says
  tare doctor                           what works on this machine`,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	root.SetIn(s.Stdin)
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(
		newRun(s), newResume(s), newPlan(s), newValidate(s), newShow(s), newReport(s), newGate(s),
		newImport(s), newInit(s), newHistory(s), newCompare(s), newCombine(s), newCost(s), newExport(s), newServe(s), newSite(s), newVerify(s), newDoctor(s), newList(s), newClean(s),
	)
	for _, c := range root.Commands() {
		markUsage(c)
	}
	if s.Plugin {
		asPlugin(root)
	} else {
		refuseOtherShells(root)
	}
	return root
}

// noSuchCommand returns the error for an unknown command.
func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see tare --help"
	root.SuggestionsMinimumDistance = 2
	if like := root.SuggestionsFor(args[0]); len(like) > 0 {
		hint = "did you mean tare " + strings.Join(like, " or tare ") + "?"
	}
	return hintedUsage(fmt.Errorf("unknown command %q", args[0]), "%s", hint)
}

// markUsage makes a wrong number of arguments a usage error.
func markUsage(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		var coded *codedError
		if errors.As(err, &coded) { // the error has its own hint
			return err
		}
		if err != nil {
			return hintedUsage(err, "see %s --help", c.CommandPath())
		}
		return nil
	}
}

// wrongFlag makes an error about flags a usage error, and suggests the flag that an unknown one most likely
// means.
func wrongFlag(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("see %s --help", c.CommandPath())
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return hintedUsage(err, "%s", hint)
	}
	word := unknown.GetSpecifiedShortnames() // if the user wrote -arm instead of --arm, the word is "arm"
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

// refuseOtherShells makes cobra's completion command fail for a shell without a script, instead of showing its
// help and succeeding.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, _ := root.Find([]string{"completion"}) // the command was added before
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
