package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment/strictyaml"
)

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
			var table [][]string
			for _, r := range rows {
				table = append(table, []string{r.Name, r.Summary})
			}
			s.lines().rows("", table)
			return nil
		},
	}
	addFormat(c, &out, "table", "json", "yaml")
	return c
}

var lists = []string{"layers", "workloads", "formats", "examples"}

// oneList accepts one of the lists, and after examples the name of one.
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

// list returns the rows of one list. The row of an example has the question that the example answers.
func list(what string) (rows []listRow, err error) {
	switch what {
	case "layers":
		for _, k := range catalog.Layers {
			rows = append(rows, listRow{k.Name, k.Summary})
		}
	case "workloads":
		for _, k := range catalog.Workloads {
			rows = append(rows, listRow{k.Name, k.Summary})
		}
	case "formats":
		for _, f := range catalog.Imports {
			rows = append(rows, listRow{f.Name, f.Doc})
		}
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
