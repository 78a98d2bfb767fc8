package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/experiment/draft"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/input"
	"tare/internal/text/safetext"
	"tare/internal/version"
)

const maxFile = 4 << 20 // largest size of an experiment file, in bytes

// readExperiment reads an experiment file; "-" means standard input. The environment may replace the file's parameters.
func readExperiment(ctx context.Context, s State, name string) ([]byte, error) {
	data, err := readText(ctx, s, name)
	if err != nil {
		return nil, err
	}
	data, replaced, err := experiment.WithEnvironment(name, data, os.LookupEnv)
	for _, p := range replaced {
		fmt.Fprintf(s.Stderr, "%s: %s is %s, from the environment\n", name, p.Name, safetext.Line(p.Value))
	}
	return data, usage(err)
}

// readText reads a file, or standard input. A file below examples/ that is not on disk is read from the examples built
// into Tare.
func readText(ctx context.Context, s State, name string) ([]byte, error) {
	if name == "-" {
		return limited(ctx, io.NopCloser(s.Stdin), "standard input")
	}
	data, err := readFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		if base, ok := strings.CutPrefix(filepath.ToSlash(name), "examples/"); ok {
			if data, builtin := examples.Files.ReadFile(base); builtin == nil {
				return data, nil
			}
		}
		return nil, hintedUsage(err, "tare list examples names the experiments that are built in")
	}
	return data, usage(err)
}

func readFile(ctx context.Context, name string) ([]byte, error) {
	f, err := input.Open(name)
	if err != nil {
		return nil, usage(err)
	}
	return limited(ctx, f, name)
}

func limited(ctx context.Context, r io.ReadCloser, name string) ([]byte, error) {
	waits := input.UntilDone(ctx, r)
	defer waits.Close()
	data, err := io.ReadAll(io.LimitReader(waits, maxFile+1))
	if err != nil {
		if known, ok := errors.AsType[*fs.PathError](err); ok { // the message names the file, so the PathError need not
			err = known.Err
		}
		return nil, usage(fmt.Errorf("read %s: %w", name, err))
	}
	if len(data) > maxFile {
		return nil, usage(fmt.Errorf("%s is larger than %d MiB: not an experiment file", name, maxFile>>20))
	}
	return data, nil
}

func load(ctx context.Context, s State, name string) (*experiment.Experiment, error) {
	data, err := readExperiment(ctx, s, name)
	if err != nil {
		return nil, err
	}
	x, err := experiment.Load(name, data, catalog.Kinds())
	return x, usage(err)
}

func (o overrides) expand(ctx context.Context, s State, name string) (*experiment.Experiment, *experiment.Expansion, error) {
	data, err := readExperiment(ctx, s, name)
	if err != nil {
		return nil, nil, err
	}
	return o.expandText(name, data)
}

// expandText loads an experiment from a text, applies the flags and expands it. Messages show the name.
func (o overrides) expandText(name string, data []byte) (*experiment.Experiment, *experiment.Expansion, error) {
	x, err := experiment.Load(name, data, catalog.Kinds())
	if err != nil {
		return nil, nil, usage(err)
	}
	if err := o.apply(x); err != nil {
		return nil, nil, err
	}
	expansion, err := experiment.Expand(x, version.String())
	return x, expansion, usage(err)
}

// overrides holds the flags that replace settings of the design.
type overrides struct {
	rounds int
	seed   uint64
	seeded bool
}

func (o overrides) apply(x *experiment.Experiment) error {
	if o.rounds < 0 || o.rounds == 1 {
		return hintedUsage(fmt.Errorf("--rounds %d: at least 2 rounds are needed", o.rounds), "6 rounds are the fewest that give an exact 95 %% interval")
	}
	if o.rounds > 0 {
		x.Design.Rounds, x.Design.Precision, x.Design.Stop, x.Design.Looks = experiment.Rounds{Fixed: o.rounds}, 0, experiment.StopPlanned, nil
	}
	if o.seeded {
		x.Design.Seed = &o.seed
	}
	return nil
}

// oneLine is an experiment that is described on the command line instead of in a file.
type oneLine struct {
	layers, allow []string
	save          string
}

func (l *oneLine) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&l.layers, "layer", nil, "a layer around the program after --: its name, the layer in the form of a file, or a command that wraps the program; may be repeated")
	c.Flags().StringSliceVar(&l.allow, "allow", nil, "aspects in which programs may differ from the first: stderr, exit, output")
	c.Flags().StringVar(&l.save, "save", "", "file to save the experiment of the command line in")
}

func (l *oneLine) hasPrograms(c *cobra.Command, args []string) bool {
	return len(l.layers) > 0 || c.ArgsLenAtDash() >= 0 || len(args) > 0 && draft.Named(args[0])
}

func (l *oneLine) args(c *cobra.Command, args []string) error {
	if l.hasPrograms(c, args) {
		if c.ArgsLenAtDash() > 0 {
			return hintedUsage(fmt.Errorf("%q stands before --, and programs must stand after it", args[0]), "tare run -- 'A' 'B'")
		}
		return nil
	}
	if len(args) > 1 {
		return hintedUsage(fmt.Errorf("%d files, but only one can run", len(args)), "programs to compare stand after --: tare run -- 'A' 'B'")
	}
	return cobra.ExactArgs(1)(c, args)
}

// read returns the text of the experiment and its name for messages.
func (l *oneLine) read(c *cobra.Command, s State, args []string) (name string, text []byte, err error) {
	if !l.hasPrograms(c, args) {
		if l.save != "" {
			return "", nil, usage(errors.New("--save is for programs on the command line; this experiment is a file already"))
		}
		if l.allow != nil {
			return "", nil, usage(errors.New("--allow is for programs on the command line; a file has the field allow in its arms"))
		}
		if err := inNamespace(args[0] == "-"); err != nil {
			return "", nil, err // the command may start again, and must then find standard input still unread
		}
		text, err = readExperiment(c.Context(), s, args[0])
		return args[0], text, err
	}
	asked, err := draft.Parse("tare run "+l.typed(args), args, l.layers)
	if err != nil {
		return "", nil, hintedUsage(err, "tare run -- 'A' 'B', or tare run --layer LAYER -- PROGRAM")
	}
	asked.Allow = l.allow
	name = "command line"
	kinds := each(catalog.Layers, func(k layer.Kind) string { return k.Name })
	// A secret in the file must be found here, before programs start and before the file is shown or stored.
	if text, err = asked.File(time.Second, kinds); err == nil {
		_, err = experiment.Load(name, text, catalog.Kinds())
	}
	if err != nil {
		return "", nil, usage(err)
	}
	took, err := tryOnce(c.Context(), asked.Programs)
	if err != nil {
		return "", nil, err
	}
	if text, err = asked.File(took, kinds); err != nil {
		return "", nil, usage(err)
	}
	if quiet, _ := c.Flags().GetBool("quiet"); !quiet {
		fmt.Fprintf(s.Stderr, "%s\n", text)
	}
	if l.save != "" {
		err = writeNew(l.save, text)
	}
	return name, text, err
}

// typed returns the command line after "tare run". The file's first line shows it.
func (l *oneLine) typed(args []string) string {
	var all []string
	for _, layer := range l.layers {
		all = append(all, "--layer", layer)
	}
	for _, a := range l.allow {
		all = append(all, "--allow", a)
	}
	if len(l.layers) > 0 || len(args) == 0 || !draft.Named(args[0]) {
		all = append(all, "--")
	}
	return testbed.Quote(append(all, args...))
}

func tryOnce(ctx context.Context, programs []draft.Program) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Hour, errors.New("it did not end within 1h"))
	defer cancel()
	for _, p := range programs {
		var stderr bytes.Buffer
		process, err := local.Here.Start(ctx, testbed.Host, testbed.Command{Args: p.Start(), Stderr: &stderr})
		if err != nil {
			return 0, usage(err)
		}
		used, err := process.Wait()
		switch {
		case ctx.Err() != nil:
			return 0, fmt.Errorf("%s was tried once: %w", safetext.Name(p.String()), context.Cause(ctx))
		case err != nil:
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			if exit, ok := errors.AsType[*testbed.ExitError](err); ok {
				exit.Stderr = "" // removed, since the hint shows the program's stderr
			}
			return 0, hinted(fmt.Errorf("%w; it was tried once, and there is nothing to measure", err), "it said: %s", safetext.Line(lines[len(lines)-1]))
		}
		took = max(took, used.Wall)
	}
	return took, nil
}

func addLabels(c *cobra.Command, labels *[]string) {
	c.Flags().StringArrayVar(labels, "label", nil, "NAME=VALUE, a label of the run, shown in comparisons; may be repeated. Unless given, the label commit comes from the CI system (GITHUB_SHA, CI_COMMIT_SHA and the like)")
}

func labelled(given []string) (experiment.Labels, error) {
	labels, err := experiment.LabelsOf(given, os.Getenv)
	if err != nil {
		return nil, hintedUsage(err, "as in --label commit=1a2b3c4d")
	}
	return labels, nil
}
