// Command truth checks the verdicts of bin/tare against effects that are known,
// on the real network path, and says what the harness itself cost.
//
//	make truth
//	go -C hack/bench run ./truth -load 'stress-ng --cpu 2 --quiet' >docs/figures/truth-loaded.md
//
// It runs two experiments. In slower-link.yaml the arm's link is 4.95 % slower:
// that must be found, within ±1 %, in 12 rounds. In no-effect.yaml, repeated
// with other seeds, arm and baseline are the same: claims may not be more than
// the method's 5 % explain. Its equivalence margin is next to nothing, so that
// no verdict of equivalence hides a false claim. It exits with 1 when a check
// fails.
//
// Beside a load it runs programs (ping must be installed) in slices, set up anew every round: those
// of the files whose names begin with loaded. The known effect is measured once more in trials
// that are whole and do the same work, to see how many trials slices save.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/hack/bench/beside"
	"tare/internal/analysis"
	"tare/internal/run/machine/owned"
)

func main() {
	binary := flag.String("tare", "../../bin/tare", "the tare binary to check")
	files := flag.String("files", "hack/bench/truth", "directory of the experiment files")
	repetitions := flag.Int("repetitions", 20, "runs of the experiment without effect")
	load := flag.String("load", "", "a program that runs beside the trials, with its arguments; none if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := check(ctx, *binary, *files, *load, *repetitions)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// check runs the experiments and prints what they found.
func check(ctx context.Context, binary, files, load string, repetitions int) (bool, error) {
	dir, err := os.MkdirTemp("", "tare-truth-")
	if err != nil {
		return false, err
	}
	defer owned.Remove(dir)
	stop, err := beside.Start(ctx, load)
	if err != nil {
		return false, err
	}
	defer stop()
	prefix := ""
	if load != "" {
		prefix = "loaded-"
	}
	known := filepath.Join(files, prefix+"slower-link.yaml")
	r, err := run(ctx, binary, known, filepath.Join(dir, "known"), 1)
	if err != nil {
		return false, err
	}
	ok := judgeKnown(r)
	if load != "" {
		if err := whole(known, filepath.Join(dir, "whole.yaml")); err != nil {
			return false, err
		}
		r, err := run(ctx, binary, filepath.Join(dir, "whole.yaml"), filepath.Join(dir, "whole"), 1)
		if err != nil {
			return false, err
		}
		fmt.Print("the same work in one piece: ")
		judgeKnown(r)
	}
	none, err := withoutEffect(ctx, binary, filepath.Join(files, prefix+"no-effect.yaml"), dir, repetitions)
	return none && ok, err
}

// withoutEffect repeats the experiment in which arm and baseline are the same.
func withoutEffect(ctx context.Context, binary, file, dir string, repetitions int) (bool, error) {
	claims, failed := 0, 0
	for i := range repetitions {
		r, err := run(ctx, binary, file, filepath.Join(dir, strconv.Itoa(i)), uint64(i+1))
		if err != nil {
			return false, err
		}
		if !r.Valid {
			failed++
		}
		claimed := false
		for _, c := range r.Comparisons {
			if c.Metric.Headline {
				claimed = claimed || c.Verdict == analysis.Costs || c.Verdict == analysis.Gains
				fmt.Printf("no effect, seed %d: %s %s\n", i+1, c.Metric.Name, c.Text)
			}
		}
		if claimed {
			claims++
		}
	}
	return judgeNone(claims, repetitions, failed), nil
}

// whole writes the experiment with the work of its slices in one piece.
func whole(file, to string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, r := range [][2]string{{"slices: 8", "slices: none"}, {"-c 100 ", "-c 800 "}, {"expect: 120ms", "expect: 960ms"}} {
		if !bytes.Contains(text, []byte(r[0])) {
			return fmt.Errorf("%s holds no %q", file, r[0])
		}
		text = bytes.Replace(text, []byte(r[0]), []byte(r[1]), 1)
	}
	return os.WriteFile(to, text, 0o600)
}

// analysed has the members of a result's JSON that the checks read.
type analysed struct {
	analysis.Run
	Comparisons []struct {
		analysis.Comparison
		Text string `json:"text"`
	} `json:"comparisons"`
}

// judgeKnown checks the interval against the effect that is there.
func judgeKnown(r *analysed) bool {
	const fast, slow = 1051.0, 999.0
	for _, c := range r.Comparisons {
		truth := 1 - slow/fast // of a rate
		if c.Metric.Name == "round-trip" {
			truth = fast/slow - 1
		} else if c.Metric.Name != "tcp-bandwidth" {
			continue
		}
		half := (c.Overhead.Hi - c.Overhead.Lo) / 2
		ok := r.Valid && c.Verdict == analysis.Costs && c.Overhead.Lo-0.01 < truth && truth < c.Overhead.Hi+0.01 && half < 0.01
		trials := float64(c.Rounds) * math.Pow(half/0.01, 2)
		fmt.Printf("known effect of %.2f %%: %s after %d rounds, half-width %.3f %% (about %.1f trials of each arm for 1 %%): %s\n", truth*100, c.Text, c.Rounds, half*100, trials, passed(ok))
		fmt.Printf("harness: %.2f %% of the wall clock, %.3f %% of one core during trials\n", r.Harness.WallShare*100, r.Harness.CPUShare*100)
		return ok
	}
	fmt.Println("known effect: not measured: FAILED")
	return false
}

// judgeNone checks the number of runs with any claim where there is no effect.
// Holm's correction holds that to 5 % of the runs; more than happens with
// probability 1 % then is a failure.
func judgeNone(claims, runs, failed int) bool {
	limit := 0
	for b := (distuv.Binomial{N: float64(runs), P: 0.05}); 1-b.CDF(float64(limit)) > 0.01; {
		limit++
	}
	ok := claims <= limit && runs > failed
	fmt.Printf("no effect: %d of %d runs claim a difference (expected %.1f, at most %d), control failed in %d: %s\n", claims, runs, 0.05*float64(runs), limit, failed, passed(ok))
	return ok
}

func passed(ok bool) string {
	if ok {
		return "ok"
	}
	return "FAILED"
}

// run carries an experiment out and reads its analysis. A run without verdicts
// (exit code 5) is a result.
func run(ctx context.Context, binary, file, dir string, seed uint64) (*analysed, error) {
	cmd := exec.CommandContext(ctx, binary, "run", file, "--quiet", "-o", "json", "--dir", dir, "--seed", strconv.FormatUint(seed, 10))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 5 {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	r := new(analysed)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return r, nil
}
