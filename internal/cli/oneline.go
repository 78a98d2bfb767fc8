package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/experiment/draft"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

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

// hasPrograms reports whether the arguments are programs.
func (l *oneLine) hasPrograms(c *cobra.Command, args []string) bool {
	return len(l.layers) > 0 || c.ArgsLenAtDash() >= 0 || len(args) > 0 && draft.Named(args[0])
}

// args accepts one file, or programs.
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

// onCommandLine replaces the name of the file in errors.
const onCommandLine = "command line"

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
			return "", nil, err // no standard input was read so far
		}
		text, err = readExperiment(c.Context(), s, args[0])
		return args[0], text, err
	}
	asked, err := draft.Parse("tare run "+l.typed(args), args, l.layers)
	if err != nil {
		return "", nil, hintedUsage(err, "tare run -- 'A' 'B', or tare run --layer LAYER -- PROGRAM")
	}
	asked.Allow = l.allow
	var kinds []string
	for _, k := range catalog.Layers {
		kinds = append(kinds, k.Name)
	}
	// The file is checked before programs are started or the file is shown or stored, since it may contain a
	// secret.
	if text, err = asked.File(time.Second, kinds); err == nil {
		_, err = experiment.Load(onCommandLine, text, catalog.Kinds())
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
	return onCommandLine, text, err
}

// typed returns the command line, for the file's first line.
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

// longestTry is the longest time that one try of a program may take.
const longestTry = time.Hour

// tryOnce runs each program once and returns the duration of the slowest.
func tryOnce(ctx context.Context, programs []draft.Program) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestTry, fmt.Errorf("it did not end within %v", quantity.Duration(longestTry)))
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
			if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) {
				exit.Stderr = "" // the hint contains stderr
			}
			return 0, hinted(fmt.Errorf("%w; it was tried once, and there is nothing to measure", err), "it said: %s", safetext.Line(lines[len(lines)-1]))
		}
		took = max(took, used.Wall)
	}
	return took, nil
}
