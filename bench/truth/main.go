// Command truth checks the verdicts of bin/tare against effects that are known,
// on the real network path, and says what the harness itself cost.
//
//	make truth
//
// It runs two experiments. In slower-link.yaml the arm's link is 4.95 % slower:
// that must be found, within ±1 %, in 12 rounds. In no-effect.yaml, repeated
// with other seeds, arm and baseline are the same: claims may not be more than
// the method's 5 % explain. Its equivalence margin is next to nothing, so that
// no verdict of equivalence hides a false claim. It exits with 1 when a check
// fails.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/analysis"
	"tare/wording"
)

func main() {
	binary := flag.String("tare", "bin/tare", "the tare binary to check")
	files := flag.String("files", "bench/truth", "directory of the experiment files")
	repetitions := flag.Int("repetitions", 20, "runs of the experiment without effect")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := check(ctx, *binary, *files, *repetitions)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// check runs both experiments and prints what they found.
func check(ctx context.Context, binary, files string, repetitions int) (bool, error) {
	dir, err := os.MkdirTemp("", "tare-truth-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	known, err := run(ctx, binary, filepath.Join(files, "slower-link.yaml"), filepath.Join(dir, "known"), 1)
	if err != nil {
		return false, err
	}
	ok := judgeKnown(known)
	claims, failed := 0, 0
	for i := range repetitions {
		r, err := run(ctx, binary, filepath.Join(files, "no-effect.yaml"), filepath.Join(dir, strconv.Itoa(i)), uint64(i+1))
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
	return judgeNone(claims, repetitions, failed) && ok, nil
}

// judgeKnown checks the interval against the effect that is there.
func judgeKnown(r *wording.Analysis) bool {
	const truth = 1 - 999.0/1051
	for _, c := range r.Comparisons {
		if c.Metric.Name != "tcp-bandwidth" {
			continue
		}
		half := (c.Overhead.Hi - c.Overhead.Lo) / 2
		ok := r.Valid && c.Verdict == analysis.Costs && c.Overhead.Lo-0.01 < truth && truth < c.Overhead.Hi+0.01 && half < 0.01
		fmt.Printf("known effect of %.2f %%: %s after %d rounds, half-width %.3f %%: %s\n", truth*100, c.Text, c.Rounds, half*100, passed(ok))
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
func run(ctx context.Context, binary, file, dir string, seed uint64) (*wording.Analysis, error) {
	cmd := exec.CommandContext(ctx, binary, "run", file, "--quiet", "-o", "json", "--dir", dir, "--seed", strconv.FormatUint(seed, 10))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 5 {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	r := new(wording.Analysis)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return r, nil
}
