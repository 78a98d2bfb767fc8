// Command setups measures how much set-ups of the same arm differ, beyond what its rounds
// do: twelve set-ups of six rounds each, of a baseline and its control, for every workload.
//
//	go -C hack/bench run ./setups >docs/figures/setups.md
//	go -C hack/bench run ./setups -kubeconfig FILE >docs/figures/setups-cluster.md
//
// If set-ups draw nothing, the F of a metric is about 1, and one F in twenty has a p under 5 %.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"tare/hack/bench/carryout"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/machine/owned"
)

//go:embed local cluster
var files embed.FS

func main() {
	binary := flag.String("tare", "../../bin/tare", "the tare binary")
	kubeconfig := flag.String("kubeconfig", "", "of the cluster; empty: this machine")
	only := flag.String("only", "", "experiments whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, *binary, *kubeconfig, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "setups:", err)
		os.Exit(1)
	}
}

// measure runs the experiments of a testbed and prints a page.
func measure(ctx context.Context, binary, kubeconfig, only string) error {
	folder, flags, where := "local", "", "this machine"
	if kubeconfig != "" {
		folder, flags, where = "cluster", " -kubeconfig FILE", "a cluster"
		if err := os.Setenv("KUBECONFIG", kubeconfig); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "tare-setups-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	t := &table.Table{
		Title: "Set-ups on " + where,
		Notes: []string{
			"Each experiment has twelve set-ups of a baseline and its control, with six rounds each.\nThe values are the logarithms of control ÷ baseline: what a set-up draws is in them twice, once for each arm.",
			"Between set-ups is the standard deviation of that draw for both arms together, and at most its upper\nbound at 95 %. F compares it with the rounds within set-ups.",
		},
		Head: []string{"experiment", "metric", "rounds", "set-ups", "within a set-up %", "between set-ups %", "at most %", "F", "p"},
	}
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return err
	}
	var machine string
	for _, name := range names {
		if !strings.Contains(name, only) {
			continue
		}
		run, err := carryOut(ctx, binary, dir, name)
		if err != nil {
			return err
		}
		for _, c := range run.Controls {
			if c.SetUps != nil && c.Metric.Scale == experiment.Ratio && !c.Metric.Discrete {
				add(t, run.Plan.Name, &c)
			}
		}
		if e := run.Environment; e != nil && machine == "" {
			machine = fmt.Sprintf("%s of %s, Linux %s, load %.1f at the start.", wording.Count(e.CPU.Online, "processor", "processors"), e.CPU.Model, e.Kernel, e.Load[0])
		}
	}
	fmt.Printf("<!-- made by: go -C hack/bench run ./setups%s -->\n\n# How much set-ups differ\n\n%s\n\n", flags, machine)
	t.Write(os.Stdout, true)
	return nil
}

// carryOut runs one of the experiments.
func carryOut(ctx context.Context, binary, dir, name string) (*analysis.Run, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r, err := carryout.Run(ctx, binary, filepath.Join(dir, strings.TrimSuffix(filepath.Base(name), ".yaml")), text)
	if err != nil {
		return nil, err
	}
	return analysis.Analyze(r.Plan, r.Trials, r.Environment), nil
}

// add writes what the control says of one metric.
func add(t *table.Table, name string, c *analysis.Comparison) {
	values, setUps := c.Overheads, c.SetUps
	logs := make([]float64, 0, len(values))
	for _, v := range values {
		logs = append(logs, math.Log1p(v))
	}
	percent := func(x float64) string { return fmt.Sprintf("%.2f", 100*x) }
	most := "-"
	if setUps.Most >= 0 {
		most = percent(setUps.Most)
	}
	within := math.Sqrt(max(0, stat.Variance(logs, nil)-setUps.SD*setUps.SD))
	where := c.Cell
	if i := slices.Index([]byte(where), '.'); i > 0 {
		where = where[i+1:]
	}
	t.Add(name, c.Metric.Name+" "+where, fmt.Sprint(setUps.Rounds), fmt.Sprint(setUps.SetUps), percent(within), percent(setUps.SD), most,
		fmt.Sprintf("%.2f", setUps.F), fmt.Sprintf("%.3f", setUps.P))
}
