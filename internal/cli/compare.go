package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/experiment/quantity"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
	"tare/internal/runs/cost"
)

func newCompare(s State) *cobra.Command {
	p := paged{page: "comparison.html"}
	var reference string
	var matches, occasions []string
	var all bool
	c := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Compare runs made at different times, on different machines, or of different versions",
		Long: `Compare runs. The differences between their machines, layers, workloads, testbeds and
versions come first. Then follows how much more or less each layer costs than before,
each overhead against the baseline of its own run. Then follow the levels of all arms
against one of them.

Runs are named by their directories. --reference takes a directory, its last element or
its number in the given order, and after a colon an arm. --match declares two arms of
different names, in one or two runs, as versions of one layer.

Two runs do not show how much an overhead differs between occasions, so a change has no
verdict. --occasions names runs in which nothing changed since the first one: their
differences become part of the interval.`,
		Example: `  tare compare runs/wireguard-20260102-150405 runs/wireguard-20260203-150405
  tare compare runs/monday runs/today --occasions runs/tuesday --occasions runs/thursday
  tare compare runs/azure runs/gcp --reference gcp:plain
  tare compare runs/istio-1.1 runs/istio-1.2 --match release-1.1=release-1.2
  tare compare runs/both-releases --match release-1.1=release-1.2 -o markdown`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := compareRuns(args, reference, matches, occasions)
			if err != nil {
				return err
			}
			return view(s, r, p, report.CompareCSV, func(document.Forms) *document.Document {
				return report.Compare(r, report.CompareOptions{All: all, Generated: time.Now()})
			})
		},
	}
	c.Flags().StringVar(&reference, "reference", "", "RUN or RUN:ARM that levels are compared with (default: the baseline of the first run)")
	c.Flags().StringArrayVar(&matches, "match", nil, "OLD=NEW: two arms that are versions of one layer; may be repeated")
	c.Flags().StringArrayVar(&occasions, "occasions", nil, "RUN in which nothing changed since the first: the spread of these runs is part of the interval of a change; may be repeated")
	_ = c.RegisterFlagCompletionFunc("occasions", completeRuns)
	_ = c.RegisterFlagCompletionFunc("reference", completeReference)
	_ = c.RegisterFlagCompletionFunc("match", completeMatch)
	c.Flags().BoolVar(&all, "all", false, "show exploratory metrics, too")
	p.add(c)
	return c
}

func compareRuns(dirs []string, reference string, matches, occasions []string) (*compare.Result, error) {
	in, err := openInputs(dirs)
	if err != nil {
		return nil, err
	}
	var o compare.Options
	if reference != "" {
		ref, err := compare.ParseReference(reference, in)
		if err != nil {
			return nil, usage(err)
		}
		o.Reference = ref
	}
	if occasions != nil {
		if err := distinct(slices.Concat(dirs, occasions)); err != nil {
			return nil, err
		}
		unchanged, err := combineRuns(append(dirs[:1:1], occasions...))
		if err != nil {
			return nil, err
		}
		o.Occasions = unchanged.Deviation
	}
	for _, text := range matches {
		m, err := compare.ParseMatch(text, in)
		if err != nil {
			return nil, usage(err)
		}
		o.Matches = append(o.Matches, m)
	}
	r, err := compare.Runs(in, o)
	switch {
	case errors.Is(err, compare.ErrNothingInCommon):
		return nil, hintedUsage(err, "cells are the same when their workload's name and the levels of its factors are; name the workloads alike in both experiments")
	case errors.Is(err, compare.ErrNothingToCompare):
		return nil, hintedUsage(err, "tare compare RUN RUN, or tare compare RUN --match OLD=NEW")
	case err != nil:
		return nil, usage(err)
	}
	return r, nil
}

// openInputs opens run directories. The same directory twice is an error.
func openInputs(dirs []string) ([]compare.Input, error) {
	if err := distinct(dirs); err != nil {
		return nil, err
	}
	var in []compare.Input
	for _, dir := range dirs {
		run, result, err := openRun([]string{dir})
		if err != nil {
			return nil, err
		}
		in = append(in, compare.Input{Name: dir, Run: result, Trials: run.Trials})
	}
	return in, nil
}

func distinct(dirs []string) error {
	infos := make([]os.FileInfo, len(dirs))
	for i, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			continue // the error is reported when the directory is opened
		}
		infos[i] = info
		for k, earlier := range infos[:i] {
			if earlier != nil && os.SameFile(earlier, info) {
				return hintedUsage(fmt.Errorf("%w: %s and %s are the same directory", compare.ErrSameRun, dirs[k], dir), "two arms of one run: tare compare RUN --match OLD=NEW")
			}
		}
	}
	return nil
}

func newCombine(s State) *cobra.Command {
	p := paged{page: "combination.html"}
	var all bool
	c := &cobra.Command{
		Use:   "combine RUN RUN...",
		Short: "Join runs of one experiment to an answer beyond a single occasion",
		Long: `Join runs of one experiment into one answer. A single run describes its occasion: all
its rounds share the load, the neighbours and the placement of that hour. tare combine
treats each run as one occasion. It shows the mean overhead of a layer over occasions,
how much the overhead differs between them, and the range in which another run would
find it.

The runs must ask the same question: layers, workloads, testbed, confidence and
margin. Seed, time, number of rounds, machine and versions may differ, and are
listed. Runs that are unfinished or give no verdicts are left out, and named. Two
runs are the minimum; five or more give useful answers.`,
		Example: `  tare combine runs/gvisor-20260102-150405 runs/gvisor-20260103-150405 runs/gvisor-20260104-150405
  tare combine nightly/* -o markdown
  tare combine nightly/* -o html --to gvisor.html
  tare combine nightly/* -o json | jq -r '.comparisons[] | [.arm, .cell, .text, .spread.point, .prediction.lo, .prediction.hi] | @tsv'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("%d given, at least two runs of one experiment are needed", len(args))
			}
			return nil
		},
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := combineRuns(args)
			if err != nil {
				return err
			}
			return view(s, r, p, report.CombineCSV, func(form document.Forms) *document.Document {
				shown := form == document.Page || all && form == document.Terminal
				return report.Combine(r, report.CompareOptions{All: shown, Generated: time.Now()})
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show exploratory metrics, too")
	p.add(c)
	return c
}

func combineRuns(dirs []string) (*combine.Result, error) {
	in, err := openInputs(dirs)
	if err != nil {
		return nil, err
	}
	r, err := combine.Runs(in)
	switch {
	case errors.Is(err, combine.ErrOtherQuestion), errors.Is(err, compare.ErrNothingInCommon):
		return nil, hintedUsage(err, "tare compare says what differs between them, and by how much")
	case errors.Is(err, compare.ErrSameRun):
		return nil, hintedUsage(err, "a run counts once")
	case err != nil:
		return nil, usage(err)
	}
	return r, nil
}

func newCost(s State) *cobra.Command {
	var o cost.Options
	p := paged{page: "cost.html"}
	var price, utilisation string
	c := &cobra.Command{
		Use:   "cost [RUN]",
		Short: "Compute what the arms of a run need in cores, nodes and money",
		Long: `Compute what each arm of a run needs for a given rate of work, and what it needs more
than the baseline, with intervals: cores, nodes (exact and rounded up), and their price.
Without RUN, the newest run below runs/.

The source is a metric of CPU time per unit of work, such as tcp-cpu in s/Gbit, and the
metric capacity if the same cell has it. --rate is in this unit of work per second; for
work measured in data, it may be an amount such as 40Gbit/s. If a run has several such
metrics, choose with --metric and --cell.

The output states the assumptions: CPU time grows in proportion to the rate, nodes are
needed for CPU alone, and only the share --utilisation of them is used.`,
		Example: `  tare cost --node-cpus 8 --node-price 0.40/h --rate 12000/s
  tare cost runs/wireguard-20260102-150405 --node-cpus 16 --node-price 290/month --currency EUR --rate 40Gbit/s
  tare cost --node-cpus 8 --rate 12000/s --utilisation 50% --metric tcp-cpu --cell network.tcp.pod-to-pod
  tare cost --node-cpus 8 --node-price 0.40/h --rate 12000/s -o json | jq '.bills[].arms[] | {arm, nodes, more}'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := costOf(args, o, price, utilisation)
			if err != nil {
				return err
			}
			return view(s, r, p, report.CostCSV, func(document.Forms) *document.Document {
				return report.Cost(r, report.CompareOptions{Generated: time.Now()})
			})
		},
	}
	c.Flags().StringVar(&o.Rate, "rate", "", "rate of work: 12000/s, 40Gbit/s")
	c.Flags().Float64Var(&o.NodeCPUs, "node-cpus", 0, "CPUs of a node")
	c.Flags().StringVar(&price, "node-price", "", "price of a node: 0.40/h, 290/month (default: no prices)")
	c.Flags().StringVar(&o.Currency, "currency", "", "currency of the price, for the output")
	c.Flags().StringVar(&utilisation, "utilisation", "70%", "share of a node that may be used")
	c.Flags().StringVar(&o.Metric, "metric", "", "metric that the answer is computed from")
	c.Flags().StringVar(&o.Cell, "cell", "", "cell that the answer is computed from")
	_ = c.RegisterFlagCompletionFunc("metric", completeCost(func(cell, metric string) string { return metric }))
	_ = c.RegisterFlagCompletionFunc("cell", completeCost(func(cell, metric string) string { return cell }))
	p.add(c)
	return c
}

func costOf(args []string, o cost.Options, price, utilisation string) (*cost.Result, error) {
	var share quantity.Percent
	if err := share.UnmarshalText([]byte(utilisation)); err != nil {
		return nil, usage(fmt.Errorf("--utilisation: %w", err))
	}
	o.Utilisation = float64(share)
	if price != "" {
		perHour, err := cost.ParsePrice(price)
		if err != nil {
			return nil, unanswered("--node-price: ", err)
		}
		o.NodePrice = perHour
	} else if o.Currency != "" {
		return nil, hintedUsage(errors.New("--currency is that of a price"), "add --node-price 0.40/h")
	}
	run, result, err := openRun(args)
	if err != nil {
		return nil, err
	}
	r, err := cost.Of(result, run.Trials, o)
	if errors.Is(err, cost.ErrNoVerdicts) {
		return nil, &codedError{err: err, code: ExitInvalid, hint: "tare show " + run.Dir + " says why"}
	}
	return r, unanswered("", err)
}

// unanswered turns a cost.Error into a usage error with a prefix, and a hint on options that work. Any further error is
// returned unchanged.
func unanswered(before string, err error) error {
	if wrong, ok := errors.AsType[*cost.Error](err); ok {
		return hintedUsage(fmt.Errorf("%s%w", before, err), "%s", wrong.Hint)
	}
	return err
}

// completeCost completes the name of a metric or cell for which the cost of a run can be computed. Without arguments,
// the run is the newest one.
func completeCost(part func(cell, metric string) string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		plan := planNamed(args)
		var list []string
		for _, s := range cost.Sources(&plan) {
			if name := part(s.Cell, s.Metric.Name); !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}
