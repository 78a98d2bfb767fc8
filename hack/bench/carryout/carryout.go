// Package carryout has a tare binary carry experiments out, for the programs below bench.
package carryout

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"tare/internal/run/journal"
)

// Run carries an experiment out in a new run directory, beside which the experiment is written, and
// reads the run. One whose control failed (exit code 5) is a result.
func Run(ctx context.Context, binary, dir string, experiment []byte) (*journal.Run, error) {
	file := dir + ".yaml"
	if err := os.WriteFile(file, experiment, 0o600); err != nil {
		return nil, err
	}
	return Line(ctx, binary, dir, file)
}

// Line is Run for what stands on a command line behind tare run.
func Line(ctx context.Context, binary, dir string, args ...string) (*journal.Run, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"run", "--quiet", "-o", "json", "--dir", dir}, args...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 5 {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return journal.Open(dir)
}
