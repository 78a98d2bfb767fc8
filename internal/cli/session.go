package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/experiment/secret"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/run/runner"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/placement"
	"tare/internal/testbed/local"
	"tare/internal/text/mask"
	"tare/internal/version"
)

// bed is the testbed of a run, with the functions that depend on the kind of testbed.
type bed struct {
	testbed.Testbed
	sampler runner.Sampler
	// clusters describes the clusters on which the sites are. It is nil if the testbed is local.
	clusters func(context.Context) ([]machine.Cluster, error)
	inspect  func(context.Context) error // inspects the sites that are up, for clusters; nil if the testbed is local
}

// openBed makes the testbed of an experiment. The function say gets messages about waiting. The journal is nil
// outside of a run.
func openBed(x *experiment.Expansion, j *journal.Journal, say func(string)) (*bed, error) {
	if x.Plan.Testbed == experiment.TestbedKubernetes {
		o := kube.Options{Version: version.String(), Say: say}
		o.Host = func() (testbed.Testbed, error) { return local.New() } // some layers also need the machine that Tare runs on
		if j != nil {
			dir, err := filepath.Abs(j.Dir())
			if err != nil {
				return nil, err
			}
			o.Run, o.Resumed = dir, j.Session() > 1
		}
		k, err := kube.New(o)
		if err != nil {
			return nil, err
		}
		return &bed{Testbed: k, sampler: k.Sampler(), clusters: k.Describe, inspect: k.Inspect}, nil
	}
	if err := local.Trials(); err != nil {
		return nil, err
	}
	l, err := local.New()
	if err != nil {
		return nil, err
	}
	return &bed{Testbed: l, sampler: runner.ThisMachine{Sampler: machine.NewSampler()}}, nil
}

// guard starts a guard, which runs tare clean if this process is killed. Without tare clean, background processes of
// its children would go on.
func guard() {
	if self, err := os.Executable(); err == nil {
		local.Guard(self, "clean", "--"+guardFlag)
	}
}

// record records the environment after the sites are set up. On clusters, it adds the clusters' description.
func (b *bed) record(ctx context.Context, j *journal.Journal, env *machine.Environment) error {
	if b.clusters == nil {
		if j.Session() == 1 {
			return nil // journal.Create has written the environment
		}
		return j.AddEnvironment(env)
	}
	clusters, err := b.clusters(ctx)
	if err != nil {
		return err
	}
	env.Clusters = clusters
	if first := j.Environment(); j.Session() > 1 && first != nil {
		for _, note := range placement.Moved(first.Clusters, clusters) {
			if err := j.Note("the machine changed: " + note); err != nil {
				return err
			}
		}
	}
	return j.AddEnvironment(env)
}

// inNamespace runs this command again in a user namespace, if networks need one, and returns its exit code as an error.
// Otherwise it returns nil.
func inNamespace(needed bool) error {
	if !needed || !local.NeedsUserNamespace() || os.Getenv(local.UserNamespaceVariable) != "" {
		return nil
	}
	code, err := local.EnterUserNamespace(os.Args[1:]...)
	if err != nil {
		return hinted(err, "tare doctor says what this system allows")
	}
	return exit(code)
}

// tryNamespace runs this command again in a user namespace, if networks need one. If the system allows none, it returns
// nil: a later test reports the lack.
func tryNamespace() error {
	if code, ok := errors.AsType[exit](inNamespace(true)); ok {
		return code
	}
	return nil
}

// sessionValues holds the values that an experiment takes from variables and files, and the mask that hides these
// values.
type sessionValues struct {
	values *reference.Values
	mask   *mask.Mask
}

// readValues reads the referenced values, once for all trials of a session. A secret value that is found in one of the
// experiment's files is an error.
func readValues(x *experiment.Experiment, files map[string][]byte) (sessionValues, error) {
	values, err := reference.Take(reference.Of(x))
	if err != nil {
		return sessionValues{}, err
	}
	t := sessionValues{values, new(mask.Mask)}
	values.Each(func(r reference.Reference, value string) {
		t.mask.Add(cmp.Or(r.File, r.Variable), value)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			at := bytes.Index(files[name], []byte(value))
			if err == nil && len(value) >= mask.Least && at >= 0 && (r.File != "" || secret.Named(r.Variable)) {
				line := 1 + bytes.Count(files[name][:at], []byte("\n"))
				err = hinted(fmt.Errorf("%s:%d: the value of %s stands here, and would be kept in the run", name, line, r), "write %s in its place", r)
			}
		}
	})
	return t, err
}

type maskedError struct {
	error
	text string
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.error }

func (t sessionValues) masked(err error) error {
	if err == nil {
		return nil
	}
	return &maskedError{err, t.mask.Text(err.Error())}
}

func references(x *experiment.Experiment) []part {
	var parts []part
	for _, r := range reference.Of(x) {
		p := part{"variable", r.Variable, nil}
		f := testbed.Finding{Name: "environment", Status: testbed.Missing, Detail: "not set", Hint: "export " + r.Variable}
		if r.File != "" {
			p, f.Name, f.Hint = part{"file", r.File, nil}, "disk", "write the value into the file"
		}
		value, err := r.Read()
		switch {
		case err == nil && new(mask.Mask).Add("", value):
			f.Status, f.Detail, f.Hint = testbed.Works, "its value is masked in what programs print", ""
		case err == nil:
			f.Status, f.Hint = testbed.Works, ""
			f.Detail = fmt.Sprintf("its value is shorter than %d bytes, and not masked in what programs print", mask.Least)
		case r.File != "":
			f.Detail = err.Error()
		}
		p.Findings = []testbed.Finding{f}
		parts = append(parts, p)
	}
	return parts
}
