package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/experiment/draft"
	"tare/internal/experiment/strictyaml"
)

func newInit(s State) *cobra.Command {
	var layers, workloads []draft.Part
	for _, k := range catalog.Layers {
		layers = append(layers, draft.Part{Name: k.Name, Summary: k.Summary, Example: k.Example, Config: k.New()})
	}
	for _, k := range catalog.Workloads {
		workloads = append(workloads, draft.Part{Name: k.Name, Summary: k.Summary, Example: k.Example, Config: k.New()})
	}
	layer := &choice{flag: "layer", question: "which layer is to be priced", options: layers}
	workload := &choice{flag: "workload", question: "what is measured behind it", options: workloads}
	testbed := &choice{flag: "testbed", question: "where it runs", usual: experiment.TestbedLocal, options: []draft.Part{
		{Name: experiment.TestbedLocal, Summary: "this machine"}, {Name: experiment.TestbedKubernetes, Summary: "a cluster that a kubeconfig reaches"}}}
	questions := []*choice{layer, workload, testbed}
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a first experiment file",
		Long: `Write a first experiment file: one layer, one workload, and every parameter of both
as a comment with its default. Without a flag for a choice, Tare asks for it on a terminal.
Without FILE the file goes to standard output.`,
		Example: `  tare init
  tare init --layer wireguard --workload network my-experiment.yaml
  tare init --layer pod --workload startup --testbed kubernetes > startup.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in := bufio.NewReader(s.Stdin)
			var chosen []draft.Part
			for _, q := range questions {
				one, err := q.settle(s, in)
				if err != nil {
					return err
				}
				chosen = append(chosen, one)
			}
			text := draft.Start(chosen[0], chosen[1], chosen[2].Name)
			if _, err := experiment.Load("the new file", text, catalog.Kinds()); err != nil {
				return usage(err) // the layer and the workload do not fit together
			}
			if len(args) > 0 {
				return writeNew(args[0], text)
			}
			_, err := s.Stdout.Write(text)
			return err
		},
	}
	for _, q := range questions {
		c.Flags().StringVar(&q.answer, q.flag, "", q.question)
		_ = c.RegisterFlagCompletionFunc(q.flag, cobra.FixedCompletions(q.names(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	return c
}

// choice is a question that a flag or the user on a terminal answers.
type choice struct {
	flag, question string
	options        []draft.Part
	usual          string // the default answer; "" if an answer is required
	answer         string
}

func (q *choice) names() (names []string) {
	for _, o := range q.options {
		names = append(names, o.Name)
	}
	return names
}

// settle returns the chosen part. On a terminal, the answer is a name or its number in the list.
func (q *choice) settle(s State, in *bufio.Reader) (draft.Part, error) {
	if !s.StderrTerminal {
		q.answer = cmp.Or(q.answer, q.usual)
	}
	if q.answer == "" && !s.StderrTerminal {
		return draft.Part{}, hintedUsage(fmt.Errorf("--%s is not given: %s", q.flag, q.question), "one of %s", strings.Join(q.names(), ", "))
	}
	if q.answer == "" {
		for i, o := range q.options {
			fmt.Fprintf(s.Stderr, "%3d  %-18s %s\n", i+1, o.Name, o.Summary)
		}
		fmt.Fprintf(s.Stderr, "%s? name or number: \n", q.question)
		line, err := in.ReadString('\n')
		if q.answer = cmp.Or(strings.TrimSpace(line), q.usual); q.answer == "" {
			return draft.Part{}, usage(errors.Join(fmt.Errorf("--%s is not given, and was not answered", q.flag), err))
		}
		if n, err := strconv.Atoi(q.answer); err == nil && n >= 1 && n <= len(q.options) {
			q.answer = q.options[n-1].Name
		}
	}
	i := slices.Index(q.names(), q.answer)
	if i < 0 {
		return draft.Part{}, hintedUsage(fmt.Errorf("unknown %s %q", q.flag, q.answer), "%s", strictyaml.Suggest(q.answer, "one of", q.names()))
	}
	return q.options[i], nil
}

func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return hintedUsage(err, "a file that is there is not written over: give another name")
	}
	if err != nil {
		return usage(err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
