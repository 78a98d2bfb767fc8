// Command answers compares a program with itself by tare run --, again and again beside a load, and says how
// often there was an answer and how often it was false.
//
//	go -C hack/bench run ./answers -runs 20
//	go -C hack/bench run ./answers -runs 20 -cpu 4
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"tare/hack/bench/beside"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/run/machine/owned"
)

func main() {
	binary := flag.String("tare", "../../bin/tare", "the tare binary")
	runs := flag.Int("runs", 20, "runs")
	cpu := flag.Int("cpu", 2, "processes that spin beside them")
	program := flag.String("program", "i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done", "the program, for a shell")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, *binary, *program, *cpu, *runs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		os.Exit(1)
	}
}

// measure prints a row for each run, and what they make together.
func measure(ctx context.Context, binary, program string, cpu, runs int) error {
	dir, err := os.MkdirTemp("", "tare-answers-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	spin := filepath.Join(dir, "spin")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", spin, "./spin").CombinedOutput(); err != nil {
		return fmt.Errorf("build the load: %w: %s", err, text)
	}
	stop, err := beside.Start(ctx, spin+" -cpu "+strconv.Itoa(cpu))
	if err != nil {
		return err
	}
	defer stop()
	t := &table.Table{Title: "A program and itself", Head: []string{"run", "took, s", "exit", "wall-clock"}}
	answers, claims, failed := 0, 0, 0
	for i := range runs {
		cmd := exec.CommandContext(ctx, binary, "run", "-q", "-o", "json", "--dir", filepath.Join(dir, strconv.Itoa(i)), "--", "a="+program, "b="+program)
		start := time.Now()
		out, err := cmd.Output()
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			return err
		}
		said, code := "no answer", cmd.ProcessState.ExitCode()
		var r struct {
			Comparisons []struct {
				analysis.Comparison
				Text string
			}
		}
		if json.Unmarshal(out, &r) == nil {
			for _, c := range r.Comparisons {
				if c.Metric.Name != "wall-clock" {
					continue
				}
				said = c.Text
				switch {
				case code == 0:
					answers++
				case c.Verdict == analysis.Invalid:
					failed++
				}
				if c.Verdict == analysis.Costs || c.Verdict == analysis.Gains {
					claims++
				}
			}
		}
		t.Add(strconv.Itoa(i+1), fmt.Sprintf("%.0f", time.Since(start).Seconds()), strconv.Itoa(code), said)
		fmt.Fprintln(os.Stderr, i+1, code, said)
	}
	fmt.Printf("<!-- made by: go -C hack/bench run ./answers -runs %d -cpu %d -->\n\n# `tare run --` beside a load\n\nBeside %d processes that spin: an answer and exit 0 in %d of %d runs; in %d the control failed, so that there is no verdict; %d false claims.\n", runs, cpu, cpu, answers, runs, failed, claims)
	t.Write(os.Stdout, true)
	return nil
}
