// Command execl shows whether vArmor's design, with Tare's enforcers, finds the effect that vArmor's authors
// published: 2.5 % of execl. A program executes itself in a loop, and in one arm it spins for a calibrated time before
// each execution. All arms have the same rules of seccomp, Landlock and a BPF program, so that the difference between
// them is the spinning alone. Then the same runs with nothing injected, which must not be claimed.
//
//	sudo go -C hack/bench run ./execl
//	go -C hack/bench run ./execl -rules 0 -null 0    (without root and enforcers, one run)
//
// It needs a C compiler (cc), and a quiet machine for figures.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"

	"tare/hack/bench/carryout"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/report/wording"
	"tare/internal/run/machine/owned"
)

//go:embed testdata/loop.c
var source []byte

type design struct {
	binary, loop          string
	rules                 int
	rounds, slices, execs int
	injected, null        int // numbers of runs
	share                 float64
}

func main() {
	d := design{}
	flag.StringVar(&d.binary, "tare", "../../bin/tare", "the tare binary")
	flag.Float64Var(&d.share, "share", 0.025, "share of an execution's CPU time that is injected")
	flag.IntVar(&d.rules, "rules", 8, "rules of each enforcer in all arms; 0: no enforcers")
	flag.IntVar(&d.injected, "injected", 1, "runs with the injected cost")
	flag.IntVar(&d.null, "null", 20, "runs with nothing injected")
	flag.IntVar(&d.rounds, "rounds", 20, "rounds of each run")
	flag.IntVar(&d.slices, "slices", 10, "slices of a trial")
	flag.IntVar(&d.execs, "execs", 1000, "executions in a slice")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, d)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "execl:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, d design) error {
	dir, err := os.MkdirTemp("", "tare-execl-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the arms' programs may run as another user
		return err
	}
	d.loop = filepath.Join(dir, "loop")
	if err := os.WriteFile(d.loop+".c", source, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-static", "-o", d.loop, d.loop+".c").CombinedOutput(); err != nil {
		return fmt.Errorf("cc: %w\n%s", err, out)
	}
	spin, alone, err := calibrate(ctx, d)
	if err != nil {
		return err
	}
	t := &table.Table{Title: "Results", Head: []string{"injected", "runs", "claimed as a cost", "claimed as a gain", "equivalent within 1 %", "controls that failed", "estimates, %", "smallest effect that is found, %"}}
	for _, kind := range []struct{ spin, runs int }{{spin, d.injected}, {0, d.null}} {
		if err := d.several(ctx, dir, kind.spin, kind.runs, t); err != nil {
			return err
		}
	}
	fmt.Printf("<!-- made by: go -C hack/bench run ./execl -share %v -rules %d -injected %d -null %d -rounds %d -slices %d -execs %d -->\n\n# An injected cost of execl\n\nAn execution takes %s of CPU time without enforcers.\n",
		d.share, d.rules, d.injected, d.null, d.rounds, d.slices, d.execs, wording.Value(alone, "s"))
	t.Note("Runs of %d rounds of a baseline, its control and an arm that spins before each execution; %d slices of %d executions in a trial.\n"+
		"All arms have %d rules of each of three enforcers. The share is of an execution without enforcers, with which it costs more:\n"+
		"the estimates may be a little lower. A run whose control fails gives no verdicts.", d.rounds, d.slices, d.execs, d.rules)
	t.Write(os.Stdout, true)
	return nil
}

// calibrate returns the number of spins that take the share of an execution's CPU time, and this CPU time in seconds.
// It compares runs without spins with runs whose spins take longer than the executions.
func calibrate(ctx context.Context, d design) (spin int, alone float64, err error) {
	const many = 200_000
	times := map[int][]float64{}
	for range 15 {
		for _, n := range []int{0, many} {
			cmd := exec.CommandContext(ctx, d.loop, fmt.Sprint(d.execs))
			cmd.Env = []string{spins(n)}
			if out, err := cmd.CombinedOutput(); err != nil {
				return 0, 0, fmt.Errorf("%s: %w\n%s", d.loop, err, out)
			}
			times[n] = append(times[n], (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()/float64(d.execs+1))
		}
	}
	for _, list := range times {
		slices.Sort(list)
	}
	alone = times[0][len(times[0])/2]
	each := (times[many][len(times[many])/2] - alone) / many
	if each <= 0 {
		return 0, 0, fmt.Errorf("%d spins take no time: the machine is too busy to calibrate", many)
	}
	return int(d.share * alone / each), alone, nil
}

func spins(n int) string { return fmt.Sprintf("SPIN=%08d", n) }

// several carries out runs that inject the same, and adds their row.
func (d design) several(ctx context.Context, dir string, spin, runs int, t *table.Table) error {
	if runs == 0 {
		return nil
	}
	var costs, gains, equal, failed int
	var estimates string
	var found []float64
	for i := range runs {
		r, err := carryout.Run(ctx, d.binary, filepath.Join(dir, fmt.Sprintf("run-%d-%d", spin, i)), d.experiment(spin, i+1))
		if err != nil {
			return err
		}
		run := analysis.Analyze(r.Plan, r.Trials, r.Environment)
		if !run.Valid {
			failed++
		}
		for _, c := range run.Comparisons {
			switch c.Verdict {
			case analysis.Costs:
				costs++
			case analysis.Gains:
				gains++
			case analysis.Equivalent:
				equal++
			}
			found = append(found, 100*c.MDE)
			one := fmt.Sprintf("%.2f [%.2f, %.2f]", 100*c.Overhead.Point, 100*c.Overhead.Lo, 100*c.Overhead.Hi)
			fmt.Fprintf(os.Stderr, "%d spins, run %d: %s %s\n", spin, i+1, one, c.Verdict)
			if runs <= 3 {
				estimates += " " + one
			}
		}
	}
	slices.Sort(found)
	what, smallest := "nothing", ""
	if spin > 0 {
		what = fmt.Sprintf("%.1f %%", 100*d.share)
	}
	if len(found) > 0 {
		smallest = fmt.Sprintf("%.2f", found[len(found)/2])
	}
	t.Add(what, fmt.Sprint(runs), fmt.Sprint(costs), fmt.Sprint(gains), fmt.Sprint(equal), fmt.Sprint(failed), estimates, smallest)
	return nil
}

func (d design) experiment(spin, seed int) []byte {
	enforcers := ""
	if d.rules > 0 {
		enforcers = fmt.Sprintf(", seccomp: {rules: %d}, landlock: {rules: %d}, cgroup-bpf: {rules: %d}", d.rules, d.rules, d.rules)
	}
	arm := func(name string, spin, same int) string {
		return fmt.Sprintf("  - name: %s\n    layers: [env: {set: {SPIN: \"%08d\", SAME: \"%d\"}}%s]\n", name, spin, same, enforcers)
	}
	return fmt.Appendf(nil, `apiVersion: tare/v1alpha1
kind: Experiment
name: execl
arms:
%s%sworkloads:
  - command: {run: [%q, "%d"], expect: 100ms, metrics: [{name: cpu, unit: s, from: cpu}]}
design: {rounds: %d, slices: %d, seed: %d, equivalence: 1%%}
limits: {foreignCPU: none, steal: none, throttling: none}
`, arm("plain", 0, 0), arm("spins", spin, 1), d.loop, d.execs, d.rounds, d.slices, seed)
}
