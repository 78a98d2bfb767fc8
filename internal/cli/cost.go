package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/experiment/quantity"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/runs/cost"
)

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

// unanswered adds the hint of a cost.Error about options that work.
func unanswered(before string, err error) error {
	if wrong, ok := errors.AsType[*cost.Error](err); ok {
		return hintedUsage(fmt.Errorf("%s%w", before, err), "%s", wrong.Hint)
	}
	return err
}

// completeCost completes the metrics or cells from which the cost of a run can be computed. Without arguments, it
// takes the newest run.
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
