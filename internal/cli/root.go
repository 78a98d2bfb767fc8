package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
	"tare/internal/run/journal"
	"tare/internal/text/input"
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
		if errors.As(err, new(*codedError)) { // a codedError already has its own hint, if it needs one
			return err
		}
		if err != nil {
			return hintedUsage(err, "see %s --help", c.CommandPath())
		}
		return nil
	}
}

// wrongFlag makes an error about flags a usage error, and suggests the flag nearest to an unknown one.
func wrongFlag(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("see %s --help", c.CommandPath())
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return hintedUsage(err, "%s", hint)
	}
	word := unknown.GetSpecifiedShortnames() // "arm", if the user wrote -arm instead of --arm; "": the flag was written with --
	word = cmp.Or(word, unknown.GetSpecifiedName())
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

// refuseOtherShells makes cobra's completion command fail for a shell without a script.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, _ := root.Find([]string{"completion"}) // no error: InitDefaultCompletionCmd has added this command
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

// PluginName is the name of tare's binary as a plug-in of kubectl. `kubectl tare` runs this binary.
const PluginName = "kubectl-tare"

// asPlugin replaces the command `tare` by `kubectl tare` in all texts. For completion, kubectl calls the program
// kubectl_complete-tare.
func asPlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl tare"}
	root.CompletionOptions.DisableDefaultCmd = true
	speak := pluginWords(root)
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		c.Long, c.Example = speak(c.Long), speak(c.Example)
	}
}

// pluginWords returns a function that replaces commands such as `tare run` in a text by `kubectl tare run`. The word
// tare alone stays: the program's name.
func pluginWords(root *cobra.Command) func(string) string {
	names := []string{`--\w`}
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name())+`\b`)
	}
	command := regexp.MustCompile(`(kubectl )?\btare (` + strings.Join(names, "|") + `)`)
	return func(text string) string { return command.ReplaceAllString(text, "kubectl tare $2") }
}

func pluginHint(root *cobra.Command, err error) error {
	if coded, ok := errors.AsType[*codedError](err); ok {
		changed := *coded
		changed.hint = pluginWords(root)(changed.hint)
		return &changed
	}
	return err
}

var completeFiles = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)

// completeRuns completes a name by the run directories below runs/. Without runs, it offers any directory.
func completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return runsBelow(journal.DefaultRoot)
}

// runsBelow completes a name by the run directories below a root. Without runs, it offers any directory.
func runsBelow(root string) ([]string, cobra.ShellCompDirective) {
	dirs, err := journal.Find(root)
	if err != nil || len(dirs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return dirs, cobra.ShellCompDirectiveDefault
}

func completeArms(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return arms(args), cobra.ShellCompDirectiveNoFileComp
}

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

// planNamed returns the plan of the named run, or of the newest run. If the run cannot be read, the plan is empty, and
// the command reports the error.
func planNamed(args []string) experiment.Plan {
	dir, err := runDir(args)
	if err != nil {
		return experiment.Plan{}
	}
	return planOf(dir)
}

func planOf(dir string) (plan experiment.Plan) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return plan
	}
	defer root.Close()
	data, err := input.ReadIn(root, journal.PlanFile)
	if err != nil || json.Unmarshal(data, &plan) != nil {
		return experiment.Plan{}
	}
	return plan
}

// arms returns the names of a run's arms that have one of the roles. Without roles, all arms are returned.
func arms(run []string, roles ...experiment.Role) (names []string) {
	for _, a := range planNamed(run).Arms {
		if roles == nil || slices.Contains(roles, a.Role) {
			names = append(names, a.Name)
		}
	}
	return names
}
