// Command front asks hyperfine and Tare the same: which of two programs is faster? It runs both on pairs
// of which the answer is known, and says how long each took and how often it was right.
//
//	go -C hack/bench run ./front
//	go -C hack/bench run ./front -load 'stress-ng --cpu 1 --quiet'
//	go -C hack/bench run ./front -launcher
//
// With -launcher it weighs Tare's launcher, and prices layers that do as good as nothing.
//
// hyperfine prints a mean and a standard deviation of each program, and their ratio ± what these give. It
// counts here as claiming a difference where the ratio is further from one than that ±. Tare counts by its
// verdict on the wall clock.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/hack/bench/beside"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
)

func main() {
	binary := flag.String("tare", "../../bin/tare", "the tare binary")
	runs := flag.Int("runs", 10, "times that each pair is asked for")
	load := flag.String("load", "", "a program that runs beside the trials, with its arguments; none if empty")
	weighs := flag.Bool("launcher", false, "weigh Tare's launcher instead")
	starts := flag.Int("starts", 2000, "starts of each kind, with -launcher")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *weighs {
		err = front(ctx, *binary, *load, *starts, 12)
	} else {
		err = measure(ctx, *binary, *load, *runs)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "front:", err)
		os.Exit(1)
	}
}

// pair is two programs, of which the second takes longer by a share that is known; NaN: by some
// amount.
type pair struct {
	name   string
	a, b   string
	longer float64
}

// counts is a program that takes CPU time in proportion to a number.
func counts(n int) string {
	return fmt.Sprintf("awk 'BEGIN { for (i = 0; i < %d; i++) x += i }'", n)
}

// tenth is the number with which counts takes about 0.1 s here.
func tenth(ctx context.Context) (int, error) {
	const n = 5_000_000
	best := time.Hour
	for range 5 {
		start := time.Now()
		if err := exec.CommandContext(ctx, "/bin/sh", "-c", counts(n)).Run(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return int(float64(n) * 0.1 / best.Seconds()), nil
}

func measure(ctx context.Context, binary, load string, runs int) error {
	dir, err := os.MkdirTemp("", "tare-front-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	n, err := tenth(ctx)
	if err != nil {
		return err
	}
	stop, err := beside.Start(ctx, load)
	if err != nil {
		return err
	}
	defer stop()
	pairs := []pair{
		{"the same program", counts(n), counts(n), 0},
		{"5 % more work", counts(n), counts(n * 105 / 100), 0.05},
		{"gzip -1, gzip -6", "seq 400000 | gzip -1", "seq 400000 | gzip -6", math.NaN()},
	}
	tools := []struct {
		name string
		line func(dir string, p pair) []string
		read func(dir string) (ratio, half float64, claims bool, err error)
	}{
		{"hyperfine", func(dir string, p pair) []string {
			return []string{"hyperfine", "--style", "none", "--export-json", filepath.Join(dir, "out.json"), p.a, p.b}
		}, hyperfine},
		{"tare", func(dir string, p pair) []string {
			return []string{binary, "run", "-q", "--dir", filepath.Join(dir, "run"), "--", p.a, p.b}
		}, tare},
	}
	t := &table.Table{Title: "Which is faster?", Head: []string{"pair", "tool", "median ratio", "median ±", "says a difference", "right", "longest answer, s", "keystrokes"}}
	for _, p := range pairs {
		for _, tool := range tools {
			var ratios, halves []float64
			said, right, longest := 0, 0, time.Duration(0)
			for i := range runs {
				at := filepath.Join(dir, fmt.Sprintf("%s-%d-%d", tool.name, len(t.Rows), i))
				if err := os.Mkdir(at, 0o700); err != nil {
					return err
				}
				line := tool.line(at, p)
				cmd := exec.CommandContext(ctx, line[0], line[1:]...)
				start := time.Now()
				text, err := cmd.CombinedOutput()
				longest = max(longest, time.Since(start))
				var exit *exec.ExitError
				if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 5) { // no verdicts, which is an answer
					return fmt.Errorf("%v: %w: %s", line, err, text)
				}
				ratio, half, claims, err := tool.read(at)
				if err != nil {
					return err
				}
				ratios, halves = append(ratios, ratio), append(halves, half)
				if claims {
					said++
				}
				if claims == (p.longer != 0) && (!claims || ratio > 1) {
					right++
				}
			}
			typed := map[string]string{"hyperfine": "hyperfine", "tare": "tare run --"}[tool.name]
			keys := len(fmt.Sprintf("%s '%s' '%s'", typed, p.a, p.b)) - len(p.a) - len(p.b)
			t.Add(p.name, tool.name, fmt.Sprintf("%.3f", median(ratios)), fmt.Sprintf("%.3f", median(halves)), fmt.Sprintf("%d of %d", said, runs),
				fmt.Sprintf("%d of %d", right, runs), fmt.Sprintf("%.1f", longest.Seconds()), fmt.Sprint(keys))
			fmt.Fprintln(os.Stderr, strings.Join(t.Rows[len(t.Rows)-1], "  "))
		}
	}
	version, err := exec.CommandContext(ctx, "hyperfine", "--version").Output()
	if err != nil {
		return err
	}
	fmt.Printf("<!-- made by: go -C hack/bench run ./front -runs %d -load %q -->\n\n# Two programs beside each other\n\n%s and Tare, beside %s.\n", runs, load, strings.TrimSpace(string(version)), beside.Named(load))
	t.Note("Ratio: the time of the second program over that of the first. ± is what hyperfine prints, and half of Tare's 95 %% interval.\n" +
		"Programs of about 0.1 s. Keystrokes are those beside the two programs.")
	t.Write(os.Stdout, true)
	return nil
}

// hyperfine reads what it has found, as its summary has it.
func hyperfine(dir string) (ratio, half float64, claims bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err != nil {
		return 0, 0, false, err
	}
	var out struct {
		Results []struct{ Mean, Stddev float64 }
	}
	if err := json.Unmarshal(text, &out); err != nil || len(out.Results) != 2 {
		return 0, 0, false, errors.Join(err, fmt.Errorf("hyperfine told of %d programs", len(out.Results)))
	}
	a, b := out.Results[0], out.Results[1]
	ratio = b.Mean / a.Mean
	half = ratio * math.Hypot(a.Stddev/a.Mean, b.Stddev/b.Mean)
	return ratio, half, math.Abs(ratio-1) > half, nil
}

// tare reads the run.
func tare(dir string) (ratio, half float64, claims bool, err error) {
	run, err := journal.Open(filepath.Join(dir, "run"))
	if err != nil {
		return 0, 0, false, err
	}
	r := analysis.Analyze(run.Plan, run.Trials, run.Environment)
	for _, c := range r.Comparisons {
		if c.Metric.Name == "wall-clock" {
			return 1 + c.Overhead.Point, (c.Overhead.Hi - c.Overhead.Lo) / 2, c.Verdict == analysis.Costs || c.Verdict == analysis.Gains, nil
		}
	}
	return 0, 0, false, errors.New("the run has no wall clock")
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
