package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/report/columns"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/run/runner"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
	"tare/internal/version"
	"tare/internal/workload"
)

func newRun(s State) *cobra.Command {
	var o overrides
	var line oneLine
	var dir, out, key string
	var quiet bool
	var labels []string
	c := &cobra.Command{
		Use:   "run FILE | run [NAME=]'PROGRAM'... | run --layer LAYER... -- PROGRAM",
		Short: "Carry out an experiment and show its results",
		Long: `Carry out an experiment and show its results.

Without a file, programs are compared with each other, or a program is compared with and
without layers. Each argument after -- is a program; a shell runs it if it contains
characters with a meaning in a shell. NAME=PROGRAM names its arm. With --layer there is
one program, and the arguments after -- are its command line. A layer is a name (tare list
layers), a layer in the form of a file (seccomp: {rules: 8}), or a command that takes
another command as its last arguments. The first program is the baseline. Each program is
tried once; its duration decides how it is measured within a quarter of a minute. The
generated experiment file is printed, and --save keeps it.

The behaviour of programs is compared before their speed. If a program prints other
errors in a layer, ends with another exit status or prints far less, it cannot gain,
unless --allow permits the difference.

Every finished trial is on disk before the next one starts. After any interruption,
tare resume continues where the run stopped. The run directory holds all data, and the
report in report.html.`,
		Example: `  tare run examples/quickstart.yaml
  tare run experiment.yaml --rounds 20 --dir runs/today
  tare run experiment.yaml -o json > result.json
  tare run -- 'gzip -1 -k -f big' 'zstd -1 -k -f big'
  tare run fast='sort --parallel=2 big' slow='sort --parallel=1 big'
  tare run --layer bubblewrap --layer seccomp -- ./bench --fast
  generate-experiment | tare run -`,
		Args:              line.args,
		ValidArgsFunction: completeFiles,
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
			if err := ready(c.Context(), x); err != nil {
				return err
			}
			if expansion, err = checkBusy(c.Context(), s, x, expansion, quiet); err != nil {
				return err
			}
			if expansion.Plan.Labels, err = labelled(labels); err != nil {
				return err
			}
			texts := maps.Clone(x.Files)
			texts[name] = data
			values, err := readValues(x, texts)
			if err != nil {
				return err
			}
			if _, err := sign(c.Context(), key, ""); err != nil {
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
			return signed(c.Context(), s, dir, key, carryOut(c.Context(), s, j, expansion, values, env, out, quiet))
		},
	}
	c.Flags().IntVar(&o.rounds, "rounds", 0, "number of rounds, instead of the file's")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the random order, instead of the file's or a drawn one")
	c.Flags().StringVar(&dir, "dir", "", "run directory to make (default runs/NAME-DATE-TIME)")
	line.flags(c)
	addLabels(c, &labels)
	addSign(c, &key)
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on stderr")
	addFormat(c, &out, formats...)
	return c
}

// endStrays ends the processes that killed runs have left on this machine. They would otherwise disturb the trials.
func endStrays(ctx context.Context, s State, values sessionValues) error {
	strays, err := local.Clean(ctx)
	for _, stray := range strays {
		fmt.Fprintf(s.Stderr, "ended process %d, which a killed run had left: %s\n", stray.PID, safetext.Name(values.mask.Text(stray.Command)))
	}
	if err != nil {
		return err
	}
	removed, err := local.CleanTemporary()
	for _, path := range removed {
		fmt.Fprintf(s.Stderr, "removed %s, which a killed run had left\n", safetext.Name(path))
	}
	if err != nil { // only a warning: what is left belongs to an ended process, and disturbs no trial
		fmt.Fprintln(s.Stderr, "warning:", safetext.Name(err.Error()))
	}
	return nil
}

// freeDir returns the directory's name, with a number added if the directory exists. Two runs may begin within a
// second.
func freeDir(dir string) string {
	for free, n := dir, 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

const (
	pause    = 2 * time.Second // first wait for a busy machine to become quiet
	patience = 5 * time.Minute // longest time, in all, that a run waits for a busy machine to become quiet
)

func carryOut(ctx context.Context, s State, j *journal.Journal, expansion *experiment.Expansion, values sessionValues, env *machine.Environment, out string, quiet bool) (err error) {
	defer func() { err = errors.Join(err, j.Close()) }()
	// The run continues if the reader of its progress or result closes the pipe. A process that does not handle
	// SIGPIPE would end at its next line.
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
	j.Mask(values.mask)
	progress.begin(&expansion.Plan)
	// the report and the signature of an earlier session no longer match the run
	for _, earlier := range []string{reportFile, journal.SignatureFile} {
		_ = os.Remove(filepath.Join(j.Dir(), earlier))
	}
	runErr := runner.Run(reference.With(ctx, values.values), runner.Options{
		Expansion: expansion,
		Testbed:   bed,
		Journal:   j,
		Sampler:   bed.sampler,
		Ready:     func(ctx context.Context) error { return bed.record(ctx, j, env) },
		Inspect:   bed.inspect,
		Rounds:    analysis.NeededRounds,
		Decided:   analysis.Decided,
		Fewest:    analysis.FewestRounds(&expansion.Plan),
		Pause:     pause,
		Patience:  patience,
		Events:    progress.event,
	})
	progress.end()
	err = values.masked(errors.Join(runErr, bed.Close()))
	if err != nil {
		_ = j.End(0, endedBy(ctx, err)) // an error of End, such as a full disk, is ignored: the run's own error is printed
		if len(j.Trials()) == 0 {
			return withNextStep(ctx, j, err)
		}
	}
	// Trials take time, so their results are shown even if the run failed.
	concluded := conclusion(s, j.Dir(), quiet, func(r *analysis.Run, _ string) error { return show(s, r, out, false) })
	if err == nil {
		return concluded
	}
	if concluded != nil && !errors.As(concluded, new(exit)) {
		fmt.Fprintf(s.Stderr, "tare: %v\n", concluded)
	}
	return withNextStep(ctx, j, err)
}

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
	return machine.Describe(ctx, version.String(), tools, func(ctx context.Context, args, env []string, stdout, stderr io.Writer) {
		_, _ = testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{Args: args, Env: env, Stdout: stdout, Stderr: stderr})
	})
}

// checkBusy tests whether this machine is too busy. If so, it lifts Tare's default limits and plans again, unless a
// limit of the file is exceeded.
func checkBusy(ctx context.Context, s State, x *experiment.Experiment, planned *experiment.Expansion, quiet bool) (*experiment.Expansion, error) {
	fewer := x.WithoutDefaultLimits()
	if x.Testbed.LimitsCPU() || reflect.DeepEqual(fewer, x.Limits) { // never for a cluster: the machines of its trials are not known yet
		return planned, nil
	}
	busy, still, err := runner.Look(ctx, runner.ThisMachine{Sampler: machine.NewSampler()}, nil, x.Limits, fewer)
	if err != nil || busy == "" {
		return planned, err
	}
	text := fmt.Sprintf("this machine is busy (%s), and a limit in the file stays in force: trials beyond it are repeated, and the run waits for the machine for up to %s in total. The valid trials until then give the result", still, span(patience))
	if still == "" {
		x.GoOnBusy(busy)
		if planned, err = experiment.Expand(x, version.String()); err != nil {
			return nil, err
		}
		text = fmt.Sprintf("this machine is busy (%s). Tare measures nevertheless: it lifts its default limits on this, alternates the arms by slices if the workload can be cut, and also gives verdicts on CPU time if it is measured. The load makes intervals wider", busy)
	}
	if !quiet {
		fmt.Fprintf(s.Stderr, "%s\n", text)
	}
	return planned, nil
}

// endedBy describes in a few words the reason why a run ended early.
func endedBy(ctx context.Context, err error) string {
	var hopeless *runner.NoDataError
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

// firstLine returns the first line of an error, in at most 200 columns, for the first line of a report.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return columns.Shorten(text, 200, "…")
}

func withNextStep(ctx context.Context, j *journal.Journal, err error) error {
	var hopeless *runner.NoDataError
	var dropped *runner.DroppedError
	hint := ""
	switch {
	case errors.As(err, &dropped):
		hint = "tare resume " + j.Dir() + " tries again; the arms that are left out there get as many rounds as the others have, beside all of them"
	case errors.As(err, &hopeless) && hopeless.Environment():
		hint = whenBusy(hopeless, j.Dir())
	case errors.As(err, &hopeless) && hopeless.CPULimit():
		hint = "a CPU limit held programs up: give the pods more (testbed.kubernetes.resources.cpu), or a container that the cluster puts beside the programs, and begin a new run; the trials and their raw output are in " + j.Dir()
	case errors.As(err, &hopeless) && hopeless.Failed:
		hint = "what the program printed is in " + j.Dir() + "/raw; when it works without the layers, begin a new run, or go on by tare resume " + j.Dir()
	case errors.As(err, &hopeless):
		hint = "tare doctor says what works here; the trials and their raw output are in " + j.Dir()
	case ctx.Err() != nil:
		return &codedError{err: fmt.Errorf("interrupted; recorded and safe: %s", counted(len(j.Trials()), "trial")), code: exitInterrupted, hint: "tare resume " + j.Dir() + " goes on"}
	default:
		return hinted(err, "recorded and safe: %s; tare resume %s goes on", counted(len(j.Trials()), "trial"), j.Dir())
	}
	return &codedError{err: err, code: ExitInvalid, hint: hint}
}

func whenBusy(e *runner.NoDataError, dir string) string {
	hint := "the machine is too busy to measure on: end what is named here or let it end, and tare resume " + dir + " goes on"
	if e.Last.Rule == workload.RuleLate {
		hint += "; limits: {late: none} in a new run lets the load generator be late, and latencies hold what that adds"
	}
	if e.Sliceable {
		hint += "; on a machine that is never quiet, a new run with design: {slices: auto} and limits: {foreignCPU: none} has the arms take turns under the same load, and its control shows how much that disturbs"
	}
	return hint
}
