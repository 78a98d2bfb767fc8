package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/hack/bench/beside"
	"tare/hack/bench/carryout"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/report/wording"
	"tare/internal/run/machine/owned"
	"tare/internal/stats"
	"tare/internal/testbed/launcher"
)

// settings are what launchers are given, by layer.
func settings() []struct {
	name string
	launcher.Settings
} {
	first := uint64(0x7a7e_7a7e_7a7e_7a7e)
	return []struct {
		name string
		launcher.Settings
	}{
		{"nothing", launcher.Settings{}},
		{"no-new-privs", launcher.Settings{NoNewPrivs: true}},
		{"capabilities", launcher.Settings{Drop: 1<<41 - 1}},
		{"userns", launcher.Settings{UserNamespace: true}},
		{"landlock, 1 rule", launcher.Settings{Landlock: &launcher.Landlock{Rules: 1}}},
		{"landlock, 64 rules", launcher.Settings{Landlock: &launcher.Landlock{Rules: 64}}},
		{"seccomp, 1 rule", launcher.Settings{Seccomp: &launcher.Seccomp{Calls: []string{"acct"}}}},
		{"seccomp, 1 rule on an argument", launcher.Settings{Seccomp: &launcher.Seccomp{Calls: []string{"getppid"}, First: &first}}},
	}
}

// weigh times true behind a launcher with each of the settings, and without a launcher, in turn. Each time is of
// one start; the differences are paired.
func weigh(ctx context.Context, starts int) (*table.Table, error) {
	list := settings()
	took := make([][]float64, len(list)+1) // µs; the last without a launcher
	order := make([]int, len(took))
	for i := range order {
		order[i] = i
	}
	for n := range starts {
		for _, i := range append(order[n%len(order):], order[:n%len(order)]...) {
			args := []string{"/bin/true"}
			if i < len(list) {
				args = append([]string{list[i].Argument()}, args...)
			}
			t, err := once(ctx, args)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", args, err)
			}
			took[i] = append(took[i], t)
		}
	}
	t := &table.Table{Title: "What the launcher adds to one start of true", Head: []string{"it sets", "without, µs", "added, µs", "95 % interval, µs", "of a program of 20 ms"}}
	for i, s := range list {
		added := make([]float64, starts)
		for n := range added {
			added[n] = took[i][n] - took[len(list)][n]
		}
		at, _, err := stats.MedianInterval(added, 0.95)
		if err != nil {
			return nil, err
		}
		t.Add(s.name, fmt.Sprintf("%.0f", stats.Median(took[len(list)])), fmt.Sprintf("%.0f", stats.Median(added)),
			fmt.Sprintf("%.0f to %.0f", at.Lo, at.Hi), fmt.Sprintf("%.2f %%", 100*stats.Median(added)/20_000))
	}
	return t, nil
}

// once is how long a command takes, in microseconds.
func once(ctx context.Context, args []string) (float64, error) {
	p, err := launcher.Prepare(args, os.Environ(), "", nil)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.ExtraFiles = p.Files
	start := time.Now()
	err = cmd.Run()
	return float64(time.Since(start).Nanoseconds()) / 1e3, err
}

// verdicts prices layers that do as good as nothing around programs of several lengths, by tare itself.
func verdicts(ctx context.Context, binary, dir string, rounds int) (*table.Table, error) {
	words := filepath.Join(dir, "words")
	if err := os.WriteFile(words, []byte(strings.Repeat("all the words that there are\n", 4000)), 0o600); err != nil {
		return nil, err
	}
	programs := [][]string{{"true"}, {"md5sum", words}, {"sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"}}
	t := &table.Table{Title: "Layers that do as good as nothing", Head: []string{"layer", "program", "metric", "verdict"}}
	for _, l := range []string{"no-new-privs", "seccomp: {rules: 0}"} {
		for p, program := range programs {
			at := filepath.Join(dir, fmt.Sprintf("run-%d-%d", len(t.Rows), p))
			run, err := carryout.Line(ctx, binary, at, append([]string{"--rounds", fmt.Sprint(rounds), "--layer", l, "--"}, program...)...)
			if err != nil {
				return nil, err
			}
			for _, c := range analysis.Analyze(run.Plan, run.Trials, run.Environment).Comparisons {
				t.Add(l, []string{"true", "md5sum", "0.4 s of sh"}[p], c.Metric.Name, wording.Verdict(&c))
			}
			fmt.Fprintln(os.Stderr, strings.Join(t.Rows[len(t.Rows)-1], "  "))
		}
	}
	return t, nil
}

// front prints both tables.
func front(ctx context.Context, binary, load string, starts, rounds int) error {
	dir, err := os.MkdirTemp("", "tare-front-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	stop, err := beside.Start(ctx, load)
	if err != nil {
		return err
	}
	defer stop()
	weights, err := weigh(ctx, starts)
	if err != nil {
		return err
	}
	weights.Note("Starts of /bin/true, one of each kind in turn, %d of each; medians of paired differences. Filters and rulesets are made before the program's time begins.", starts)
	weights.Write(os.Stdout, true)
	found, err := verdicts(ctx, binary, dir, rounds)
	if err != nil {
		return err
	}
	found.Note("tare run --layer LAYER --rounds %d -- PROGRAM, beside %s.", rounds, beside.Named(load))
	slices.SortStableFunc(found.Rows, func(a, b []string) int { return strings.Compare(a[2], b[2]) })
	found.Write(os.Stdout, true)
	return nil
}
