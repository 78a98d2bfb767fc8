package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/catalog"
	"tare/internal/importer"
	"tare/internal/run/journal"
	"tare/internal/text/safetext"
)

// importFlags holds the flags of tare import. Some flags set importer.Options directly, and the others are kept as
// text.
type importFlags struct {
	importer.Options
	arms, factors, labels   []string
	pairBy, layout, mapping string
	study                   importer.Layout
	quiet, each             bool
	dir, out                string
	errors, invalid         string
	confidence, equivalence string
}

func newImport(s State) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import TOOL [--arm NAME=DIR|PATTERN|FILE]... [--path TEMPLATE] [FILE]...",
		Short: "Make a run of the result files of other tools",
		Long: `Make a run of the result files of other tools. One file is one trial. --arm assigns
files to an arm; the first arm is the baseline. --path instead describes where the paths of
all files contain arms, blocks, repeats, cells and factors. The run can then be shown,
reported, compared and gated like any other. -o json and yaml print a summary of the
import; the other formats print the results of the run.

Files that cannot be read are reported and count as invalid trials; the import of the
others continues. tare list formats names the tools. The format auto recognises which one
wrote a file, and table reads files that a mapping file describes.`,
		Example: `  tare import vault-benchmark --arm aks=results/aks --arm gke=results/gke
  tare import fio --arm plain='out/plain-*.json' --arm luks='out/luks-*.json' --pair-by 'round-([0-9]+)'
  tare import csv results.csv --pair-by round
  tare import knb --arm calico='calico/*' --arm cilium='cilium/*' --factor 'mtu=mtu-([0-9]+)'
  tare import iperf3 --path 'results/{cni}{layer:(-wg|-ipsec)?}/{rep}/{cell}-client.stdout' --arm-by layer --block-by cni
  generate-results | tare import csv -
  tare import fio --each --dir history nightly/*.json
  tare import auto --arm plain=results/plain --arm luks=results/luks
  tare import table --map map.yaml results.csv`,
		ValidArgsFunction: completeImport,
		RunE: func(c *cobra.Command, args []string) error {
			if err := enough(toImport); err != nil {
				return err
			}
			o, err := f.options(c.Context(), args, s)
			if err != nil {
				return err
			}
			if f.each {
				return importEach(c, s, &f, o)
			}
			return runImport(c, s, &f, o)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.arms, "arm", nil, "an arm and its files, NAME=DIR|PATTERN|FILE; may be repeated, also for one arm. Without =, the arm of the FILEs")
	flags.StringVar(&f.Baseline, "baseline", "", "arm to compare with (default the first)")
	flags.StringVar(&f.pairBy, "pair-by", "", "the property that trials of a round share: name, index, round, or a regular expression with one group for the path (default: independent samples)")
	flags.StringArrayVar(&f.factors, "factor", nil, "a factor whose levels stand in the paths of the files, NAME=EXPRESSION with one group for the level, as in 'mtu=mtu-([0-9]+)'; may be repeated")
	flags.StringSliceVar(&f.Headline, "headline", nil, "headlines, as METRIC or CELL:METRIC, instead of those of the format")
	flags.StringVar(&f.study.Path, "path", "", "template of the paths of all files, instead of --arm: {NAME} is a part of a name, {NAME:EXPRESSION} a part that matches an expression, {_} an ignored part. Fields called arm, block, cell and rep have these roles; others are factors")
	flags.StringSliceVar(&f.study.Arm, "arm-by", nil, "fields of --path that name the arm; files with empty fields are the baseline")
	flags.StringSliceVar(&f.study.Block, "block-by", nil, "fields of --path that name the block; each block has its own baseline, and one deployment for its repeats")
	flags.StringSliceVar(&f.study.Cell, "cell-by", nil, "fields of --path that name the cell")
	flags.StringSliceVar(&f.study.Repeat, "rep-by", nil, "fields of --path that number the repeats")
	flags.StringVar(&f.layout, "layout", "", "YAML file with path, arm, block, cell and rep, instead of these flags")
	flags.StringSliceVar(&f.Allow, "allow", nil, "settings of the workload that may differ between arms, named as in the note of an import")
	flags.StringVar(&f.mapping, "map", "", "mapping file that describes the fields of tables, KEY=VALUE lines and JSON documents (for table)")
	flags.BoolVar(&f.each, "each", false, "make a run of each file, named after it, below --dir; existing runs are not changed")
	flags.BoolVar(&f.Strict, "strict", false, "end at the first file or trial that cannot be read, and make no run")
	flags.BoolVar(&f.NoRaw, "no-raw", false, "keep no copies of the files in the run, only their names, sizes and checksums")
	flags.StringVar(&f.dir, "dir", "", "run directory to make (default runs/NAME-DATE-TIME)")
	flags.StringVar(&f.Name, "name", "", "name of the run (default the tool's)")
	addLabels(c, &f.labels)
	flags.StringVar(&f.errors, "errors", "0%", "share of failed operations above which a trial is invalid, or none")
	flags.StringVar(&f.invalid, "invalid-trials", "20%", "share of invalid trials above which the run is invalid, or none")
	flags.StringVar(&f.confidence, "confidence", "95%", "confidence of the intervals")
	flags.StringVar(&f.equivalence, "equivalence", "2%", "margin within which two arms count as equal")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	addFormat(c, &f.out, formats...)
	_ = c.RegisterFlagCompletionFunc("pair-by", cobra.FixedCompletions(importer.Pairings, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func completeImport(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return each(catalog.Imports, func(f importer.Format) string { return f.Name + "\t" + f.Doc }), cobra.ShellCompDirectiveNoFileComp
}

func importEach(c *cobra.Command, s State, f *importFlags, o importer.Options) error {
	dir := cmp.Or(f.dir, journal.DefaultRoot)
	o.Stdin, o.Command = s.Stdin, importCommand(c)
	list := []oneImported{}
	err := importer.Each(c.Context(), dir, o, func(one importer.FileImport) {
		line := oneImported{File: one.File, Directory: one.Directory, Result: one.Result}
		says := "is there already"
		switch {
		case one.Err != nil:
			line.Directory, line.Error = "", one.Err.Error()
			says = one.Err.Error()
		case one.Result != nil:
			says = trialCounts(one.Result)
		}
		list = append(list, line)
		if !f.quiet {
			fmt.Fprintf(s.Stderr, "%s: %s\n", safetext.Name(cmp.Or(line.Directory, line.File)), safetext.Name(says))
		}
	})
	if err != nil {
		return importError(err)
	}
	if f.out == "json" || f.out == "yaml" {
		return encode(s.Stdout, importedEach{Schema: "tare.import-each/v1", Files: list}, f.out)
	}
	fmt.Fprintf(s.Stdout, "tare history %s\n", shellWord(dir))
	return nil
}

type importedEach struct {
	Schema string        `json:"schema"`
	Files  []oneImported `json:"files"`
}

type oneImported struct {
	File      string           `json:"file"`
	Directory string           `json:"directory,omitempty"` // directory of the run; absent if there is no run
	Error     string           `json:"error,omitempty"`     // reason why there is no run
	Result    *importer.Result `json:"result,omitempty"`    // summary of the import; absent if the run existed before
}

func runImport(c *cobra.Command, s State, f *importFlags, o importer.Options) error {
	dir := f.dir
	if dir == "" {
		dir = freeDir(journal.DefaultDir(journal.DefaultRoot, unsafe.ReplaceAllString(o.Name, "_"), time.Now()))
	}
	o.Stdin, o.Command = s.Stdin, importCommand(c)
	p, done := newProgress(s, "", f.quiet), 0
	every := 10 * time.Second // time between lines on a pipe
	if p.live {
		every = 200 * time.Millisecond
	}
	next := time.Now().Add(every)
	o.Progress = func(n, files int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(every)
			p.wait(fmt.Sprintf("%d/%d files", n, files))
		}
		done = n
	}
	result, err := importer.Run(c.Context(), dir, o)
	p.end()
	if err != nil {
		if result != nil {
			printUnimported(s, result, done, errors.As(err, new(*importer.UsageError)))
		}
		return importError(err)
	}
	if !f.quiet {
		read := counted(result.Files, "file")
		if result.Broken > 0 {
			read = fmt.Sprintf("%d of %s", result.Files-result.Broken, read)
		}
		fmt.Fprintf(s.Stderr, "imported %s: %s\n", read, trialCounts(result))
		printProblems(s, result, "; trials.jsonl has them all")
		fmt.Fprintf(s.Stderr, "run directory: %s\n", safetext.Name(dir))
	}
	return conclusion(s, dir, f.quiet, func(r *analysis.Run, page string) error {
		if f.out == "json" || f.out == "yaml" {
			return encode(s.Stdout, importedRun{Schema: "tare.import/v1", Directory: dir, Report: page, Result: result}, f.out)
		}
		return show(s, r, f.out, false)
	})
}

// importedRun is the output of tare import -o json: a summary of the import. tare show prints the run's results.
type importedRun struct {
	Schema    string `json:"schema"`
	Directory string `json:"directory"`
	Report    string `json:"report"`
	*importer.Result
}

func importError(err error) error {
	var wrong *importer.UsageError
	var data *importer.DataError
	switch {
	case errors.As(err, &data):
		return hinted(err, "%s", data.Hint)
	case errors.As(err, &wrong):
		return hintedUsage(err, "%s", wrong.Hint)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist): // ErrExist: during the import another process made the directory
		return hinted(err, "--dir names another place for the run directory")
	}
	return err
}

// unsafe matches characters that the name of a directory should not have.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// printUnimported prints on stderr how many files and trials an import without a run has read. After a usage error, it
// prints only if there are problems.
func printUnimported(s State, r *importer.Result, done int, misused bool) {
	if misused && len(r.Problems) == 0 {
		return
	}
	whole := done
	if done == r.Files { // only if the import read all files does done include the broken ones
		whole -= r.Broken
	}
	fmt.Fprintf(s.Stderr, "read %d of %s: %s\n", whole, counted(r.Files, "file"), trialCounts(r))
	printProblems(s, r, "")
}

func trialCounts(r *importer.Result) string {
	text := counted(r.Valid, "trial") + " valid"
	between := ", invalid by rule: "
	for _, rule := range slices.Sorted(maps.Keys(r.ByRule)) {
		text += fmt.Sprintf("%s%s %d", between, rule, r.ByRule[rule])
		between = ", "
	}
	return text
}

// printProblems prints the broken files and trials, and the remarks. others is printed after the number of problems
// that are not listed.
func printProblems(s State, r *importer.Result, others string) {
	for _, text := range problems(r.Problems) {
		fmt.Fprintf(s.Stderr, "  %s\n", safetext.Name(text))
	}
	if r.More > 0 {
		fmt.Fprintf(s.Stderr, "  and %d more%s\n", r.More, others)
	}
	for _, text := range r.Remarks {
		fmt.Fprintf(s.Stderr, "note: %s\n", safetext.Name(text))
	}
}

// problems returns lines that describe broken files and trials. Three or more problems with equal cell and reason share
// one line.
func problems(list []importer.Problem) []string {
	type kind struct{ cell, reason string }
	var order []kind
	of := map[kind][]importer.Problem{}
	for _, p := range list {
		k := kind{p.Cell, p.Reason}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], p)
	}
	var lines []string
	for _, k := range order {
		first, n := of[k][0], len(of[k])
		switch {
		case n < 3:
			for _, p := range of[k] {
				lines = append(lines, p.String())
			}
		case k.cell == "":
			lines = append(lines, fmt.Sprintf("%s: %s; the first is %s", counted(n, "file"), k.reason, first.File))
		default:
			lines = append(lines, fmt.Sprintf("%s of %s: %s; the first is in %s", counted(n, "trial"), k.cell, k.reason, first.File))
		}
	}
	return lines
}
