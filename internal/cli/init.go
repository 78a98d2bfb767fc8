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

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/experiment/draft"
	"tare/internal/experiment/strictyaml"
	"tare/internal/importer"
	"tare/internal/layer"
	"tare/internal/workload"
)

func newInit(s State) *cobra.Command {
	inside := &choice{flag: "layer", question: "which layer is to be priced", options: each(catalog.Layers, func(k layer.Kind) draft.Part {
		return draft.Part{Name: k.Name, Summary: k.Summary, Example: k.Example, Config: k.New()}
	})}
	behind := &choice{flag: "workload", question: "what is measured behind it", options: each(catalog.Workloads, func(k workload.Kind) draft.Part {
		return draft.Part{Name: k.Name, Summary: k.Summary, Example: k.Example, Config: k.New()}
	})}
	testbed := &choice{flag: "testbed", question: "where it runs", usual: experiment.TestbedLocal, options: []draft.Part{
		{Name: experiment.TestbedLocal, Summary: "this machine"}, {Name: experiment.TestbedKubernetes, Summary: "a cluster that a kubeconfig reaches"}}}
	questions := []*choice{inside, behind, testbed}
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
				return usage(err) // the load fails if the layer and the workload cannot be in one experiment
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
		_ = c.RegisterFlagCompletionFunc(q.flag, cobra.FixedCompletions(q.names(), cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

// choice is a question of tare init, which a flag or, on a terminal, the user answers.
type choice struct {
	flag, question string
	options        []draft.Part
	usual          string // default answer; "" if an answer is required
	answer         string
}

func (q *choice) names() []string {
	return each(q.options, func(p draft.Part) string { return p.Name })
}

// settle returns the chosen layer or workload. Without the flag, the user answers a question on the terminal, by a name
// or its number in a list.
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

type listRow struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func newList(s State) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:       "list layers|workloads|formats|examples [NAME]",
		Short:     "List the layers, workloads, import formats and examples that are built in",
		Long:      "List the layers, workloads, import formats and examples that are built in. With the name of an example, print its file.",
		Example:   "  tare list layers\n  tare list examples quickstart.yaml > my-experiment.yaml",
		Args:      oneList,
		ValidArgs: lists,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return printExample(s, args)
			}
			rows, err := list(args[0])
			if err != nil {
				return err
			}
			if out != "table" {
				return encode(s.Stdout, rows, out)
			}
			s.lines().rows("", each(rows, func(r listRow) []string { return []string{r.Name, r.Summary} }))
			return nil
		},
	}
	addFormat(c, &out, "table", "json", "yaml")
	return c
}

var lists = []string{"layers", "workloads", "formats", "examples"}

// oneList checks that the first argument names a list. A second argument may name an example.
func oneList(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return hintedUsage(errors.New("tare list: of what?"), "one of %s, as in: tare list layers", strings.Join(lists, ", "))
	case !slices.Contains(lists, args[0]):
		return hintedUsage(fmt.Errorf("no list of %q", args[0]), "%s", strictyaml.Suggest(args[0], "one of", lists))
	case len(args) > 2:
		return hintedUsage(fmt.Errorf("%d names where one example can be printed", len(args)-1), "tare list examples NAME")
	}
	return nil
}

// list returns the rows of one list. An example's row has the question that the example answers.
func list(what string) (rows []listRow, err error) {
	switch what {
	case "layers":
		rows = each(catalog.Layers, func(k layer.Kind) listRow { return listRow{k.Name, k.Summary} })
	case "workloads":
		rows = each(catalog.Workloads, func(k workload.Kind) listRow { return listRow{k.Name, k.Summary} })
	case "formats":
		rows = each(catalog.Imports, func(f importer.Format) listRow { return listRow{f.Name, f.Doc} })
		slices.SortFunc(rows, func(a, b listRow) int { return strings.Compare(a.Name, b.Name) })
	case "examples":
		names, err := examples.Names()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := examples.Files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			var x struct{ Description string }
			if err := yaml.Unmarshal(data, &x); err != nil {
				return nil, err
			}
			rows = append(rows, listRow{name, x.Description})
		}
	}
	return rows, nil
}

func printExample(s State, args []string) error {
	if args[0] != "examples" {
		return usage(fmt.Errorf("only an example has a file to print, not %s", args[0]))
	}
	data, err := examples.Files.ReadFile(strings.TrimSuffix(args[1], ".yaml") + ".yaml")
	if err != nil {
		return hintedUsage(fmt.Errorf("no example %q", args[1]), "tare list examples names them")
	}
	_, err = s.Stdout.Write(data)
	return err
}
