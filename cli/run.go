package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare/analysis"
	"tare/catalog"
	"tare/experiment"
	"tare/journal"
	"tare/machine"
	"tare/report/columns"
	"tare/runner"
	"tare/safetext"
	"tare/testbed/local"
	"tare/version"
)

func newRun(s State) *cobra.Command {
	var o overrides
	var line oneLine
	var dir, out string
	var quiet bool
	var labels []string
	c := &cobra.Command{
		Use:   "run FILE | run [NAME=]'PROGRAM'... | run --layer LAYER... -- PROGRAM",
		Short: "Carry out an experiment and say what it found",
		Long: `Carry out an experiment and say what it found.

Without a file, programs are compared with each other, or a program with itself behind
layers. Behind -- each argument is a program, and a shell reads it where it holds what
means something to a shell; NAME=PROGRAM names its arm. With --layer there is one program,
and what stands behind -- are its arguments. A layer is the name of one (tare list
layers), one as in a file (seccomp: {rules: 8}), or a command that takes another as its
last arguments. The first program is the baseline. Each is tried once, which also says how
much of it can be measured in a quarter of a minute. The file that is run is printed;
--save keeps it.

What a program does is compared before its speed. Behind a layer in which it prints other
errors, ends with another exit status or prints far less it gains nothing, unless --allow
says that this is meant.

Every finished trial is durable before the next one starts: after an
interruption, of whatever kind, tare resume goes on where it stopped. The run
directory holds everything; report.html in it is the report.`,
		Example: `  tare run examples/quickstart.yaml
  tare run experiment.yaml --rounds 20 --dir runs/today
  tare run experiment.yaml -o json > result.json
  tare run -- 'gzip -1 -k -f big' 'zstd -1 -k -f big'
  tare run fast='sort --parallel=2 big' slow='sort --parallel=1 big'
  tare run --layer bubblewrap --layer seccomp -- ./bench --fast
  generate-experiment | tare run -`,
		Args:              line.args,
		ValidArgsFunction: completeFiles("yaml", "yml"),
		RunE: func(c *cobra.Command, args []string) error {
			o.seeded = c.Flags().Changed("seed")
			if err := enough(toMeasure); err != nil {
				return err
			}
			name, data, err := line.read(c, s, args)
			if err != nil {
				return err
			}
			x, expansion, err := o.expandText(name, data)
			if err != nil {
				return err
			}
			if err := inNamespace(needsNetwork(x)); err != nil {
				return err
			}
			if err := ready(c.Context(), x); err != nil {
				return err
			}
			if expansion, err = lookFirst(c.Context(), s, x, expansion, quiet); err != nil {
				return err
			}
			if expansion.Plan.Labels, err = labelled(labels); err != nil {
				return err
			}
			texts := maps.Clone(x.Files)
			if texts == nil {
				texts = map[string][]byte{}
			}
			texts[name] = data
			values, err := take(x, texts)
			if err != nil {
				return err
			}
			if dir == "" {
				dir = freeDir(journal.DefaultDir(journal.DefaultRoot, x.Name, time.Now()))
			}
			env := environment(c.Context(), expansion)
			j, err := journal.Create(dir, data, x.Files, &expansion.Plan, env)
			if errors.Is(err, fs.ErrPermission) {
				return hinted(err, "--dir names another place for the run directory")
			}
			if err != nil {
				return err
			}
			return carryOut(c.Context(), s, j, expansion, values, env, out, quiet)
		},
	}
	c.Flags().IntVar(&o.rounds, "rounds", 0, "number of rounds, in place of the file's design")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the random order, in place of the file's or a drawn one")
	c.Flags().StringVar(&dir, "dir", "", "run directory to make (default runs/NAME-DATE-TIME)")
	line.flags(c)
	addLabels(c, &labels)
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on stderr")
	addFormat(c, &out, formats...)
	return c
}

func newResume(s State) *cobra.Command {
	var out string
	var quiet bool
	var rounds int
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run that was interrupted, or extend one that is finished",
		Long: `Go on with a run that was interrupted, by the same plan and seed. At most the
trial that was under way is lost. Without RUN, the newest run below runs/.

With --rounds, extend a finished run to so many rounds in all. That is a second
look at the same question, which would make false claims more likely: the extended
run is judged with a quarter of the error of the first look, at 98.75 % in place of
95 %, and its report says so. What the first look said stays on record.`,
		Example: `  tare resume
  tare resume runs/quickstart-20260102-150405
  tare resume --rounds 32 runs/quickstart-20260102-150405`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := runDir(args)
			if err != nil {
				return err
			}
			if err := undoRun(c.Context(), s, dir); err != nil {
				return err
			}
			extend := c.Flags().Changed("rounds")
			run, result, err := openRun([]string{dir})
			if err == nil && !extend && run.Plan.Ended > 0 { // done with fewer rounds: the rest is a second look
				extend, rounds = true, run.Plan.Planned()
			}
			if extend {
				if err := errors.Join(err, extendable(run, rounds)); err != nil {
					return err
				}
			} else if err == nil && run.Finished {
				if reported(dir) {
					fmt.Fprintf(s.Stderr, "%s is complete: nothing to resume\n", dir)
					return show(s, result, out, false)
				}
				fmt.Fprintf(s.Stderr, "%s is complete but for its report\n", dir)
				return conclusion(s, dir, quiet, func(r *analysis.Run, _ string) error { return show(s, r, out, false) })
			}
			if err := enough(toMeasure); err != nil {
				return err
			}
			x, expansion, err := replan(dir)
			if err != nil {
				return err
			}
			if err := inNamespace(needsNetwork(x)); err != nil {
				return err
			}
			if err := ready(c.Context(), x); err != nil {
				return err
			}
			values, err := take(x, nil)
			if err != nil {
				return err
			}
			j, err := journal.Resume(dir)
			if err != nil {
				return err
			}
			if err := endStrays(c.Context(), s, values); err != nil {
				return errors.Join(err, j.Close())
			}
			if extend {
				if err := extendRun(j, &expansion.Plan, rounds); err != nil {
					return errors.Join(err, j.Close())
				}
			}
			return carryOut(c.Context(), s, j, expansion, values, environment(c.Context(), expansion), out, quiet)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 0, "extend a finished run to so many rounds in all")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on stderr")
	addFormat(c, &out, formats...)
	return c
}

// reported says whether a run has its report, and removes what a killed Tare has left of
// one.
func reported(dir string) bool {
	sweep(dir, true)
	_, err := os.Stat(filepath.Join(dir, reportFile))
	return err == nil
}

// endStrays ends what killed runs have left on this machine: it would run beside the
// trials.
func endStrays(ctx context.Context, s State, values taken) error {
	strays, err := local.Clean(ctx)
	for _, stray := range strays {
		fmt.Fprintf(s.Stderr, "ended process %d, which a killed run had left: %s\n", stray.PID, safetext.Name(values.mask.Text(stray.Command)))
	}
	if err != nil {
		return err
	}
	volumes, err := local.CleanVolumes()
	for _, dir := range volumes {
		fmt.Fprintf(s.Stderr, "removed volume %s, which a killed run had left\n", safetext.Name(dir))
	}
	return err
}

// freeDir is the directory, or the first of its name with a number that does not
// exist yet: two runs may begin within a second.
func freeDir(dir string) string {
	for free, n := dir, 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// replan makes the experiment and the expansion of a run that exists: the plan is the recorded one,
// the layers and workloads come from the recorded experiment file. The two must
// still agree, which they don't when another version of Tare expands the file
// differently.
func replan(dir string) (*experiment.Experiment, *experiment.Expansion, error) {
	run, err := journal.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	known := catalog.Kinds()
	known.Read, known.Recorded = journal.ReadNamed(dir), true
	x, err := experiment.Load(filepath.Join(dir, journal.ExperimentFile), run.Experiment, known)
	if err != nil {
		return nil, nil, err
	}
	x.Design.Seed = &run.Plan.Seed
	if run.Plan.Busy != "" {
		x.GoOnBusy(run.Plan.Busy)
	}
	expansion, err := experiment.Expand(x, version.String())
	if err != nil {
		return nil, nil, err
	}
	if parts := otherParts(&expansion.Plan, run.Plan); len(parts) > 0 {
		return nil, nil, &otherPlanError{dir, parts}
	}
	expansion.Plan = *run.Plan
	return x, expansion, nil
}

// otherPlanError is a plan.json that is not what experiment.yaml gives.
type otherPlanError struct {
	dir   string
	parts []string // of the plan
}

func (e *otherPlanError) Error() string {
	return fmt.Sprintf("%s: this version of tare (%s) expands experiment.yaml to other %s than plan.json holds; resume it with the version that made it, and experiment.yaml as it was", e.dir, version.String(), e.what())
}

// what names the parts.
func (e *otherPlanError) what() string { return strings.Join(e.parts, ", ") }

// otherParts names in what two plans do not compare the same by the same rules: arms with
// the same layers, and cells with the same workloads and metrics, all by their parameters
// in force; margins, limits and budgets. Otherwise trials of different things would stand
// under one name. Seed, rounds and precision are not compared: the command line may have
// set them.
func otherParts(a, b *experiment.Plan) (names []string) {
	one, errOne := compared(a)
	other, errOther := compared(b)
	if errOne != nil || errOther != nil {
		return []string{"parameters"}
	}
	for name := range one {
		if !reflect.DeepEqual(one[name], other[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compared is what a plan compares, as JSON values: parameters in a plan that was
// read back are no structs any more.
func compared(p *experiment.Plan) (parts map[string]any, err error) {
	cells := slices.Clone(p.Cells)
	for i := range cells {
		cells[i].Expected = 0 // an estimate
	}
	text, err := json.Marshal(map[string]any{
		"name": p.Name, "description": p.Description, "testbed": p.Testbed,
		"arms": p.Arms, "cells": cells, "confidence": p.Confidence, "equivalence": p.Equivalence, "power": p.Power,
		"attempts": p.Attempts, "limits": p.Limits, "budget": p.Budget,
	})
	if err != nil {
		return nil, err
	}
	return parts, json.Unmarshal(text, &parts)
}

// pause is the first wait for a busy machine to become quiet.
const pause = 2 * time.Second

// patience is how long a run waits for a busy machine in all.
const patience = 5 * time.Minute

// carryOut runs the plan, then shows and reports what the run says.
func carryOut(ctx context.Context, s State, j *journal.Journal, expansion *experiment.Expansion, values taken, env *machine.Environment, out string, quiet bool) (err error) {
	defer func() { err = errors.Join(err, j.Close()) }()
	// Who reads the progress, or the result, may go away; the run goes on. Without this, the
	// first line that nobody reads would end this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	progress := newProgress(s, j.Dir(), quiet)
	progress.mask = values.mask
	if !quiet {
		progress.interim.analyze = func() *analysis.Run { return analysis.Analyze(&expansion.Plan, j.Trials(), env) }
	}
	bed, err := openBed(expansion, j, progress.wait)
	if err != nil {
		return err
	}
	progress.begin(&expansion.Plan)
	_ = os.Remove(filepath.Join(j.Dir(), reportFile)) // an earlier session's, which is not to outlive this one
	runErr := runner.Run(values.with(ctx, j), runner.Options{
		Expansion: expansion,
		Testbed:   bed,
		Journal:   j,
		Sampler:   bed.sampler,
		Ready:     func(ctx context.Context) error { return bed.record(ctx, j, env) },
		Rounds:    analysis.NeededRounds,
		Fewest:    analysis.FewestRounds(&expansion.Plan),
		Pause:     pause,
		Patience:  patience,
		Events:    progress.event,
	})
	progress.end()
	err = values.without(errors.Join(runErr, bed.Close()))
	if err != nil {
		_ = j.End(0, endedBy(ctx, err)) // what cannot be noted, on a full disk for instance, is printed below
		if len(j.Trials()) == 0 {
			return whatNext(ctx, j, err)
		}
	}
	// However the run ended, what its trials say was paid for.
	concluded := conclusion(s, j.Dir(), quiet, func(r *analysis.Run, _ string) error { return show(s, r, out, false) })
	if err == nil {
		return concluded
	}
	var code exit
	if concluded != nil && !errors.As(concluded, &code) {
		fmt.Fprintf(s.Stderr, "tare: %v\n", concluded)
	}
	return whatNext(ctx, j, err)
}

// endedBy says in a few words why a run ended before its plan was carried out.
func endedBy(ctx context.Context, err error) string {
	var hopeless *runner.HopelessError
	var dropped *runner.DroppedError
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case errors.As(err, &dropped):
		return "it could not be measured on: " + firstLine(dropped.Err)
	case errors.As(err, &hopeless) && hopeless.Environment():
		return "the machine was too busy for the rest (" + hopeless.Last.Detail + ")"
	}
	return "ended by an error: " + firstLine(err)
}

// longestReason is how many bytes of an error the first line of a report holds.
const longestReason = 200

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return columns.Shorten(text, longestReason, "…")
}

// whatNext adds to the error that ended a run how to go on.
func whatNext(ctx context.Context, j *journal.Journal, err error) error {
	done := len(j.Trials())
	var hopeless *runner.HopelessError
	var dropped *runner.DroppedError
	switch {
	case errors.As(err, &dropped):
		return &codedError{err: err, code: ExitInvalid, hint: "tare resume " + j.Dir() + " tries again; the arms that are left out there get as many rounds as the others have, beside all of them"}
	case errors.As(err, &hopeless) && hopeless.Environment():
		return &codedError{err: err, code: ExitInvalid, hint: whenBusy(hopeless, j.Dir())}
	case errors.As(err, &hopeless) && hopeless.Failed && !hopeless.CPULimit():
		return &codedError{err: err, code: ExitInvalid, hint: "what the program printed is in " + j.Dir() + "/raw; when it works without the layers, begin a new run, or go on by tare resume " + j.Dir()}
	case errors.As(err, &hopeless) && hopeless.CPULimit():
		return &codedError{err: err, code: ExitInvalid, hint: "a CPU limit held programs up: give the pods more (testbed.kubernetes.resources.cpu), or a container that the cluster puts beside the programs, and begin a new run; the trials and their raw output are in " + j.Dir()}
	case errors.As(err, &hopeless):
		return &codedError{err: err, code: ExitInvalid, hint: "tare doctor says what works here; the trials and their raw output are in " + j.Dir()}
	case ctx.Err() != nil:
		return &codedError{err: fmt.Errorf("interrupted; recorded and safe: %s", counted(done, "trial")), code: ExitInterrupted, hint: "tare resume " + j.Dir() + " goes on"}
	}
	return hinted(err, "recorded and safe: %s; tare resume %s goes on", counted(done, "trial"), j.Dir())
}

// whenBusy says what to do where the machine was too busy to measure on.
func whenBusy(e *runner.HopelessError, dir string) string {
	hint := "the machine is too busy to measure on: end what is named here or let it end, and tare resume " + dir + " goes on"
	if e.Sliceable {
		hint += "; on a machine that is never quiet, a new run with design: {slices: auto} and limits: {foreignCPU: none} has the arms take turns under the same load, and its control shows how much that disturbs"
	}
	return hint
}

// environment describes the machine and the programs that the experiment runs.
func environment(ctx context.Context, x *experiment.Expansion) *machine.Environment {
	var tools []machine.ToolQuery
	add := func(d experiment.Declaration) {
		for _, tool := range d.Tools {
			if !slices.ContainsFunc(tools, func(t machine.ToolQuery) bool { return t.Name == tool.Name }) {
				tools = append(tools, machine.ToolQuery{Name: tool.Name, Path: tool.Path, Args: tool.Version})
			}
		}
	}
	for _, items := range x.Layers {
		for _, item := range items {
			add(item.Config.Declare())
		}
	}
	for _, cell := range x.Cells {
		add(cell.Workload.Declare())
	}
	return machine.Describe(ctx, version.String(), tools)
}
