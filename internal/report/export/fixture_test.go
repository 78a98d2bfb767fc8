package export

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// fixture is a run with what can be awkward: names that are hostile to one format
// or the other, repeated attempts, missing values, a metric that may be zero, two
// cells.
func fixture() Run {
	bandwidth := experiment.Metric{Name: "tcp-bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}
	rtt := experiment.Metric{Name: "rtt", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true}
	drops := experiment.Metric{Name: "drops", Better: experiment.Lower, Scale: experiment.Difference}
	plan := &experiment.Plan{
		Schema: experiment.PlanSchema, Version: "v1.2.3", Name: "=1+1", Testbed: "local", Seed: 1, Rounds: 8,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 2,
		Arms: []experiment.PlannedArm{
			{Name: "plain", Role: experiment.Baseline},
			{Name: experiment.ControlName, Role: experiment.Control},
			{Name: `rules "8"/x-2`, Role: experiment.Treatment, Levels: []factor.Level{{Factor: "rules", Value: "8"}}},
		},
		Cells: []experiment.Cell{
			{ID: "network.tcp", Workload: "network", Kind: "network", Metrics: []experiment.Metric{bandwidth, rtt}, Levels: []factor.Level{{Factor: "mtu", Value: "1500"}}},
			{ID: "-drops", Workload: "drops", Kind: "command", Metrics: []experiment.Metric{drops}},
		},
	}
	run := &journal.Run{
		Dir: "runs/=cmd|' /C calc'!A0", Plan: plan, Finished: true,
		Environment: &machine.Environment{Schema: machine.EnvironmentSchema, Kernel: "6.1.0", CPU: machine.CPU{Model: "Model\x1b[31m  9"}},
	}
	begin := time.Date(2026, 1, 2, 15, 4, 5, 123456789, time.UTC)
	for round := 1; round <= plan.Rounds; round++ {
		for position, arm := range plan.Arms {
			noise := 1 + 0.001*math.Sin(float64(7*round+3*position))
			cost := []float64{1, 1, 1.07}[position]
			network := map[string]float64{"tcp-bandwidth": 1e9 * noise / cost, "rtt": 50e-6 * noise * cost}
			if round == 3 {
				delete(network, "rtt")
			}
			if round == 5 && position == 2 {
				add(run, begin, round, 1, position, "network.tcp", arm.Name, map[string]float64{"rtt": 1},
					journal.Violation{Rule: "foreign-cpu", Detail: "30 %"}, journal.Violation{Rule: "errors"}, journal.Violation{Rule: "errors"})
				add(run, begin, round, 2, position, "network.tcp", arm.Name, network)
			} else {
				add(run, begin, round, 1, position, "network.tcp", arm.Name, network)
			}
			add(run, begin, round, 1, position, "-drops", arm.Name, map[string]float64{"drops": float64(round % 3 * position)})
		}
	}
	run.Trials[1].Start, run.Trials[1].Wall, run.Trials[1].Position = time.Time{}, 0, 0
	result := analysis.Analyze(plan, run.Trials, run.Environment)
	result.Directory, result.Finished = run.Dir, true
	return Run{Record: run, Analysis: result}
}

// samples is the fixture as another tool's independent samples.
func samples() Run {
	r := fixture()
	plan := r.Record.Plan
	plan.Testbed, plan.Import = experiment.TestbedImport, &experiment.Import{Tool: "fio"}
	for _, a := range plan.Arms {
		plan.Import.Arms = append(plan.Import.Arms, experiment.ImportedArm{Name: a.Name, Files: 8, Facts: map[string][]string{"kernel": {"6.1 on " + a.Name}}})
	}
	r.Analysis = analysis.Analyze(plan, r.Record.Trials, r.Record.Environment)
	r.Analysis.Directory, r.Analysis.Finished = r.Record.Dir, true
	return r
}

func add(r *journal.Run, begin time.Time, round, attempt, position int, cell, arm string, values map[string]float64, invalid ...journal.Violation) {
	r.Trials = append(r.Trials, journal.Trial{
		Seq: len(r.Trials) + 1, Session: 1, Round: round, Attempt: attempt, Position: position + 1, Cell: cell, Arm: arm,
		Start: begin.Add(time.Duration(len(r.Trials)) * time.Second), Wall: 250 * time.Millisecond, Values: values, Invalid: invalid,
	})
}

// written is what a format writes.
func written(t *testing.T, format string, r Run) string {
	t.Helper()
	for _, f := range Formats {
		if f.Name == format {
			var out strings.Builder
			if err := f.Write(&out, r); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
	}
	t.Fatalf("no format %q", format)
	return ""
}

// python runs a script in the environment that .ci/consumers installs, with text
// on its standard input, and gives what it prints.
func python(t *testing.T, script, stdin string, args ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(cache, "tare/consumers/bin/python"), append([]string{"-c", script}, args...)...)
	if _, err := os.Stat(cmd.Path); err != nil {
		missing(t, "%v (make consumers installs it)", err)
	}
	return output(t, cmd, stdin)
}

// missing skips a test for want of a program; in CI, where all are installed, it
// fails.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func output(t *testing.T, cmd *exec.Cmd, stdin string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
