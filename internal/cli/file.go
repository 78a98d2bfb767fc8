package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/text/input"
	"tare/internal/version"
)

// maxFile is the largest size of an experiment file, in bytes.
const maxFile = 4 << 20

// readExperiment reads an experiment file: from stdin for "-", from disk, or for a name below examples/ that is
// not on disk, from the built-in ones.
func readExperiment(ctx context.Context, s State, name string) ([]byte, error) {
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

// readFile reads a file that is named on the command line.
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
		var known *fs.PathError // this error names the file already
		if errors.As(err, &known) {
			err = known.Err
		}
		return nil, usage(fmt.Errorf("read %s: %w", name, err))
	}
	if len(data) > maxFile {
		return nil, usage(fmt.Errorf("%s is larger than %d MiB: not an experiment file", name, maxFile>>20))
	}
	return data, nil
}

// load reads and checks an experiment file.
func load(ctx context.Context, s State, name string) (*experiment.Experiment, error) {
	data, err := readExperiment(ctx, s, name)
	if err != nil {
		return nil, err
	}
	x, err := experiment.Load(name, data, catalog.Kinds())
	return x, usage(err)
}

// expand loads an experiment file, applies the flags and expands it.
func (o overrides) expand(ctx context.Context, s State, name string) (*experiment.Experiment, *experiment.Expansion, error) {
	data, err := readExperiment(ctx, s, name)
	if err != nil {
		return nil, nil, err
	}
	return o.expandText(name, data)
}

// expandText loads an experiment from a text, applies the flags and expands it. The name is for messages.
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

// overrides are the parts of a design that flags can set.
type overrides struct {
	rounds int
	seed   uint64
	seeded bool
}

// apply sets the flags' values in the experiment, so that the plan records them.
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
